"""G06, G08: elections before, during and after a move."""

from ..session import Session
from .registry import scenario


@scenario
async def g06_a_preferred_election_in_flight(s: Session) -> None:
    await s.create("t", {0: [1, 2], 1: [1, 2], 2: [1, 2]}, held=True)
    await s.alter("start", {("t", 0): [2, 3], ("t", 1): [3, 4]})
    await s.elect("preferred", ("t", 0), ("t", 1), ("t", 2))
    await s.state("the one whose preferred replica is in sync has changed")
    await s.release("t")
    await s.settled()
    await s.state("moved")


@scenario
async def g08_elections_that_are_not_needed_or_not_possible(s: Session) -> None:
    await s.create("t", {0: [1, 2]})
    await s.elect("preferred already leads", ("t", 0))
    await s.elect("unclean, with a leader", ("t", 0), unclean=True)
    await s.elect("unknown", ("t", 9), ("nope", 0))
    await s.elect("unknown, unclean", ("t", 9), ("nope", 0), unclean=True)
    await s.elect("nothing asked")


@scenario
async def g09_an_election_after_a_reorder(s: Session) -> None:
    await s.create("t", {0: [1, 2, 3]})
    await s.alter("reorder", {("t", 0): [3, 1, 2]})
    await s.elect("preferred", ("t", 0))
    await s.state("the new preferred replica leads")
    await s.elect("again", ("t", 0))


@scenario
async def g11_the_same_partition_twice(s: Session) -> None:
    await s.create("t", {0: [1, 2]})
    await s.alter("reorder", {("t", 0): [2, 1]})
    await s.elect("twice in one request", ("t", 0), ("t", 0))
    await s.state("elected")


@scenario
async def g12_an_unclean_election_in_flight(s: Session) -> None:
    await s.create("t", {0: [1, 2]}, held=True)
    await s.alter("start", {("t", 0): [3, 4]})
    await s.elect("unclean", ("t", 0), unclean=True)
    await s.state("nothing has changed")
