"""The list of scenarios. Each is an async function of a `Session`, named for the case it shows."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from ..session import Session

Play = Callable[[Session], Awaitable[None]]


class Scenario(NamedTuple):
    """`alone`: it takes brokers down, or changes what others see, so nothing else may run beside it."""

    name: str
    play: Play
    alone: bool


SCENARIOS: dict[str, Scenario] = {}


def scenario(play: Play) -> Play:
    SCENARIOS[play.__name__] = Scenario(play.__name__, play, alone=False)
    return play


def alone(play: Play) -> Play:
    SCENARIOS[play.__name__] = Scenario(play.__name__, play, alone=True)
    return play
