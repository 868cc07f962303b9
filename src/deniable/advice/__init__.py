"""Advice before collecting: which protocol, how many people, what error, and what epsilon means."""

from deniable.advice.odds import meaning, reveals
from deniable.advice.planning import Plan, plan
from deniable.advice.ranking import Advice, Option, guideline, recommend

__all__ = ["Advice", "Option", "Plan", "guideline", "meaning", "plan", "recommend", "reveals"]
