"""Advice before collecting: which protocol, how many people, what error, what can be learned."""

from deniable.advice.disclosure import Linkability, linkability, meaning, reveals
from deniable.advice.planning import Plan, plan
from deniable.advice.ranking import Advice, Option, guideline, recommend

__all__ = [
    "Advice", "Linkability", "Option", "Plan", "guideline", "linkability", "meaning", "plan",
    "recommend", "reveals",
]  # fmt: skip
