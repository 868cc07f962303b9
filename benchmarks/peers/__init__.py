"""What runs in the peers' own environment, and imports nothing of ours."""
