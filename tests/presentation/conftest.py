"""A question whose answers are long addresses, and what was estimated of it."""

import numpy as np
import pytest

from deniable import OUE, Estimates, Question

URLS = tuple(f"https://example.com/shop/articles/{i:04d}/reviews.html?sort=new" for i in range(30))


@pytest.fixture(scope="session")
def question() -> Question:
    """Return a closed question with thirty addresses."""
    return Question("pages", URLS, OUE(2.0, len(URLS)))


@pytest.fixture(scope="session")
def estimates(question: Question) -> Estimates:
    """Return what 20,000 people answered, the first addresses most often."""
    rng = np.random.default_rng(11)
    weights = 1 / np.arange(1, len(URLS) + 1)
    values = rng.choice(len(URLS), 20_000, p=weights / weights.sum())
    return question.estimate(question.tally(question.protocol.privatize(values, rng)))
