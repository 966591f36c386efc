"""C: starting a move, and its end."""

from ..session import Session
from .registry import scenario


@scenario
async def c01_a_move_to_another_broker(s: Session) -> None:
    await s.create("t", {0: [1]})
    await s.alter("start", {("t", 0): [2]})
    await s.settled()
    await s.state("moved")
    await s.listing("nothing listed", {"t": [0]})


@scenario
async def c02_the_assignment_that_stands(s: Session) -> None:
    await s.create("t", {0: [1, 2, 3]})
    await s.alter("as it is", {("t", 0): [1, 2, 3]})
    await s.listing("at once", {"t": [0]})
    await s.state("unchanged")


@scenario
async def c03_another_order_only(s: Session) -> None:
    await s.create("t", {0: [1, 2, 3]})
    await s.alter("reordered", {("t", 0): [3, 1, 2]})
    await s.listing("at once", {"t": [0]})
    await s.state("the leader stays")


@scenario
async def c04_fewer_replicas(s: Session) -> None:
    await s.create("t", {0: [1, 2, 3], 1: [1, 2, 3], 2: [1, 2, 3]})
    targets = {("t", 0): [1, 2], ("t", 1): [3], ("t", 2): [2, 1]}
    await s.alter("shrink", targets)
    await s.settled()
    await s.state("shrunk")


@scenario
async def c05_in_flight(s: Session) -> None:
    await s.create("t", {0: [1, 2, 3]}, held=True)
    await s.alter("start", {("t", 0): [1, 2, 4]})
    await s.state("in flight")
    await s.release("t")
    await s.settled()
    await s.state("moved")


@scenario
async def c06_disjoint_sets(s: Session) -> None:
    await s.create("t", {0: [3, 1], 1: [2, 1]}, held=True)
    await s.alter("start", {("t", 0): [5, 2], ("t", 1): [4, 3, 5]})
    await s.state("in flight")
    await s.release("t")
    await s.settled()
    await s.state("moved")


@scenario
async def c07_overlapping_sets(s: Session) -> None:
    await s.create("t", {0: [1, 2, 3, 4]}, held=True)
    await s.alter("start", {("t", 0): [4, 2, 5, 3]})
    await s.state("in flight")
    await s.release("t")
    await s.settled()
    await s.state("moved")


@scenario
async def c08_growth_of_the_set(s: Session) -> None:
    await s.create("t", {0: [1, 2], 1: [2, 3]}, held=True)
    await s.alter("add at the end, add at the front", {("t", 0): [1, 2, 4, 5], ("t", 1): [5, 2, 3]})
    await s.state("in flight")
    await s.release("t")
    await s.settled()
    await s.state("grown")


@scenario
async def c12_alters_add_up(s: Session) -> None:
    await s.create("t", {0: [1], 1: [1], 2: [1]}, held=True)
    for index in range(3):
        await s.alter(f"move {index}", {("t", index): [2 + index]})
        await s.listing(f"{index + 1} listed")
    await s.state("three in flight")
    await s.release("t")
    await s.settled()
    await s.state("moved")


@scenario
async def c17_many_partitions_at_once(s: Session) -> None:
    brokers = (1, 2, 3, 4, 5)
    await s.create("t", {i: [brokers[i % 5], brokers[(i + 1) % 5]] for i in range(20)})
    await s.alter("all of them", {("t", i): [brokers[(i + 2) % 5], brokers[(i + 3) % 5]] for i in range(20)})
    await s.settled()
    await s.state("all moved")


@scenario
async def c18_a_partition_moves_while_its_sibling_finishes(s: Session) -> None:
    await s.create("t", {0: [1, 2], 1: [1, 2]}, held=True)
    await s.alter("one that is held", {("t", 0): [1, 3]})
    await s.alter("one that needs no copy", {("t", 1): [2]})
    await s.listing("only the held one", {"t": [0, 1]})
    await s.state("one moved")


@scenario
async def c19_round_and_round(s: Session) -> None:
    await s.create("t", {0: [1, 2]})
    for label, target in (("away", [3, 4]), ("further", [5, 1]), ("home", [1, 2])):
        await s.alter(label, {("t", 0): target})
        await s.settled()
        await s.state(f"{label}: done")
