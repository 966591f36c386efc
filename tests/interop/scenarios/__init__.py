"""Scenarios by chapter. The ids at the head of their names are those of the table of behaviours they show."""

from . import (
    broker_failures,
    cancels,
    configs,
    creation,
    deletions,
    elections,
    growth,
    guard,
    leaders,
    lists,
    moves,
    requests,
    retargets,
    targets,
)
from .registry import SCENARIOS, Scenario

__all__ = [
    "SCENARIOS",
    "Scenario",
    "broker_failures",
    "cancels",
    "configs",
    "creation",
    "deletions",
    "elections",
    "growth",
    "guard",
    "leaders",
    "lists",
    "moves",
    "requests",
    "retargets",
    "targets",
]
