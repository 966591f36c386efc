"""Scenarios by chapter. docs/behaviour.md defines the ids at the head of their names."""

from . import (
    broker_failures,
    cancels,
    configs,
    creation,
    deletions,
    elections,
    features,
    growth,
    guard,
    leaders,
    lists,
    moves,
    requests,
    retargets,
    targets,
    users,
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
    "features",
    "growth",
    "guard",
    "leaders",
    "lists",
    "moves",
    "requests",
    "retargets",
    "targets",
    "users",
]
