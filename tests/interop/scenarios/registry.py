"""The list of scenarios. A scenario is an async function of a `Session`; its name says which case it shows."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from ..session import Session

Steps = Callable[[Session], Awaitable[None]]


class Scenario(NamedTuple):
    """`alone`: the scenario stops brokers or changes what other scenarios see, so none may run beside it."""

    name: str
    steps: Steps
    alone: bool


SCENARIOS: dict[str, Scenario] = {}


def scenario(steps: Steps) -> Steps:
    SCENARIOS[steps.__name__] = Scenario(steps.__name__, steps, alone=False)
    return steps


def alone(steps: Steps) -> Steps:
    SCENARIOS[steps.__name__] = Scenario(steps.__name__, steps, alone=True)
    return steps
