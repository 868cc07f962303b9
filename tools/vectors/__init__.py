"""The test vectors for other implementations: reports, questions, policy and delivery."""
