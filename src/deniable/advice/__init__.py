"""Advice before collecting: which protocol, how many people, what error, what can be learned."""

from deniable.advice.linkage import Linkability, linkability
from deniable.advice.odds import meaning, reveals
from deniable.advice.planning import Plan, plan
from deniable.advice.ranking import Advice, Option, guideline, recommend

__all__ = [
    "Advice",
    "Linkability",
    "Option",
    "Plan",
    "guideline",
    "linkability",
    "meaning",
    "plan",
    "recommend",
    "reveals",
]
