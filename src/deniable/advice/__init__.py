"""Advice before collecting: which protocol, how many people, what error, what can be learned."""

from deniable.advice.disclosure import Linkability, linkability, meaning, reveals, surest
from deniable.advice.discovery import DiscoveryPlan, plan_discovery
from deniable.advice.groups import ArmsPlan, RoundsPlan, cell_minimum, plan_arms, plan_rounds, tells
from deniable.advice.planning import Plan, plan
from deniable.advice.ranking import Advice, Option, guideline, recommend

__all__ = [
    "Advice", "ArmsPlan", "DiscoveryPlan", "Linkability", "Option", "Plan", "RoundsPlan",
    "cell_minimum", "guideline", "linkability", "meaning", "plan", "plan_arms", "plan_discovery",
    "plan_rounds", "recommend", "reveals", "surest", "tells",
]  # fmt: skip
