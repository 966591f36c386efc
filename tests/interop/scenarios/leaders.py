"""G: who leads at the end of a move."""

from ..session import Session
from .registry import scenario


@scenario
async def g01_the_leader_is_in_the_target(s: Session) -> None:
    await s.create("t", {0: [1, 2, 3], 1: [2, 3, 1]})
    await s.alter("keep the leader, not first", {("t", 0): [4, 3, 1], ("t", 1): [4, 5, 2]})
    await s.settled()
    await s.state("it leads on")


@scenario
async def g02_the_leader_leaves(s: Session) -> None:
    await s.create("t", {0: [1, 2], 1: [1, 2], 2: [2, 3]})
    await s.alter("the first of the target leads", {("t", 0): [3, 4, 2], ("t", 1): [5, 2], ("t", 2): [3, 1]})
    await s.settled()
    await s.state("moved")


@scenario
async def g03_shrink_away_from_the_leader(s: Session) -> None:
    await s.create("t", {0: [1, 2, 3], 1: [1, 2, 3]})
    await s.alter("shrink", {("t", 0): [3, 2], ("t", 1): [2]})
    await s.settled()
    await s.state("shrunk")
