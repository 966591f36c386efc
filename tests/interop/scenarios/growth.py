"""I05: more partitions for a topic in flight."""

from ..session import Session
from .registry import scenario


@scenario
async def i05_partitions_are_refused_while_in_flight(s: Session) -> None:
    await s.create("t", {0: [1]}, held=True)
    await s.create("u", {0: [1]})
    await s.alter("start", {("t", 0): [2]})
    await s.grow("refused", "t", 2, [[3]])
    await s.grow("another topic", "u", 2, [[3]])
    await s.cancel("cancel", ("t", 0))
    await s.grow("fine again", "t", 2, [[3]])
    await s.state("both have two partitions")


@scenario
async def i11_a_new_partition_can_move(s: Session) -> None:
    await s.create("t", {0: [1, 2]})
    await s.grow("a set of another size is refused", "t", 2, [[2]])
    await s.grow("one more", "t", 2, [[2, 3]])
    await s.alter("move both", {("t", 0): [4], ("t", 1): [3, 5]})
    await s.settled()
    await s.state("moved")


@scenario
async def i12_growth_that_is_refused(s: Session) -> None:
    await s.create("t", {0: [1, 2], 1: [2, 3]})
    await s.grow("fewer", "t", 1, [])
    await s.grow("as many", "t", 2, [])
    await s.grow("unknown topic", "nope", 2, [[1]])
    await s.grow("too few assignments", "t", 4, [[1, 2]])
    await s.grow("unknown broker", "t", 3, [[1, 99]])
    await s.grow("a broker twice", "t", 3, [[1, 1]])
    await s.grow("no replicas", "t", 3, [[]])
    await s.state("unchanged")
