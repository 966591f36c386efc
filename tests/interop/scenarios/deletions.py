"""I01, I04, F08: topics that are deleted before, during and after a move."""

from ..session import Session
from .registry import scenario


@scenario
async def i04_a_topic_is_deleted_in_flight(s: Session) -> None:
    await s.create("t", {0: [1, 2]}, held=True)
    await s.alter("start", {("t", 0): [3, 4]})
    await s.delete("delete", "t")
    await s.until_gone("t")
    await s.listing("nothing is listed", {"t": [0]})
    await s.alter("a target for what is gone", {("t", 0): [3, 4]})
    await s.cancel("a cancel of what is gone", ("t", 0))


@scenario
async def i13_a_topic_that_comes_back(s: Session) -> None:
    await s.create("t", {0: [1, 2]}, held=True)
    await s.alter("start", {("t", 0): [3, 4]})
    await s.delete("delete", "t")
    await s.until_gone("t")
    await s.create("t", {0: [2, 1]})
    await s.release("t")
    await s.listing("the new one does not move", {"t": [0]})
    await s.cancel("nothing to cancel", ("t", 0))
    await s.alter("it can move", {("t", 0): [3]})
    await s.settled()
    await s.state("moved")


@scenario
async def i14_the_other_topic_goes_on(s: Session) -> None:
    await s.create("t", {0: [1, 2]}, held=True)
    await s.create("u", {0: [1, 2]}, held=True)
    await s.alter("start both", {("t", 0): [3, 4], ("u", 0): [3, 4]})
    await s.delete("delete one", "t")
    await s.until_gone("t")
    await s.listing("the other one")
    await s.release("u")
    await s.settled("u")
    await s.state("moved")


@scenario
async def i15_deletions_that_are_refused(s: Session) -> None:
    await s.create("t", {0: [1]})
    await s.delete("unknown", "nope")
    await s.delete("an empty name", "")
    await s.delete("once", "t")
    await s.delete("twice", "t")
