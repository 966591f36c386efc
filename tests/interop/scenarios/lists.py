"""F: what List shows."""

from ..session import Session
from .registry import scenario


@scenario
async def f01_nothing_in_flight(s: Session) -> None:
    await s.create("t", {0: [1], 1: [2]})
    await s.listing("all")
    await s.listing("asked for", {"t": [0, 1]})
    await s.listing("asked for no topic", {})


@scenario
async def f04_some_of_what_is_asked_for_moves(s: Session) -> None:
    await s.create("t", {0: [1], 1: [1], 2: [1]}, held=True)
    await s.create("u", {0: [1]})
    await s.alter("start", {("t", 1): [2]})
    await s.listing("all partitions of both", {"t": [0, 1, 2], "u": [0]})
    await s.listing("without it", {"t": [0, 2], "u": [0]})
    await s.listing("with what does not exist", {"t": [1, 77, -1], "nope": [0]})
    await s.listing("a topic without partitions", {"t": []})
    await s.listing("twice", {"t": [1, 1]})
    await s.listing("all")


@scenario
async def f05_the_order_of_replicas(s: Session) -> None:
    await s.create("t", {0: [4, 2], 1: [5, 1], 2: [3, 1]}, held=True)
    await s.alter("start", {("t", 0): [1, 5, 4], ("t", 1): [3, 2, 4], ("t", 2): [5, 4, 3, 2, 1]})
    await s.listing("in flight", {"t": [2, 1, 0]})
