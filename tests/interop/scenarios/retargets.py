"""D: another target for a partition that moves."""

from ..session import Session
from .registry import scenario


@scenario
async def d01_the_same_target_again(s: Session) -> None:
    await s.create("t", {0: [1, 2]}, held=True)
    for label in ("first", "again", "and again"):
        await s.alter(label, {("t", 0): [3, 2]})
        await s.state(f"after the {label}")


@scenario
async def d02_another_order_of_the_target(s: Session) -> None:
    await s.create("t", {0: [1, 2]}, held=True)
    await s.alter("first", {("t", 0): [3, 4]})
    await s.alter("reordered", {("t", 0): [4, 3]})
    await s.state("in flight")
    await s.release("t")
    await s.settled()
    await s.state("moved")


@scenario
async def d03_a_disjoint_second_target(s: Session) -> None:
    await s.create("t", {0: [1]}, held=True)
    await s.alter("first", {("t", 0): [2, 3]})
    await s.state("first in flight")
    await s.alter("second", {("t", 0): [4, 5]})
    await s.state("second in flight, the first one's replicas are gone")
    await s.release("t")
    await s.settled()
    await s.state("moved")


@scenario
async def d04_a_chain_of_targets(s: Session) -> None:
    await s.create("t", {0: [1, 2]}, held=True)
    for target in ([2, 3], [2, 4], [5, 4, 1], [3], [1, 3, 5]):
        await s.alter(f"to {target}", {("t", 0): target})
        await s.state(f"towards {target}")
    await s.release("t")
    await s.settled()
    await s.state("moved")


@scenario
async def d06_the_second_target_is_the_origin(s: Session) -> None:
    await s.create("t", {0: [1, 2], 1: [1, 2]}, held=True)
    await s.alter("first", {("t", 0): [3, 4], ("t", 1): [3, 2]})
    await s.alter("back, in the same and in another order", {("t", 0): [1, 2], ("t", 1): [2, 1]})
    await s.listing("done at once", {"t": [0, 1]})
    await s.state("as before")


@scenario
async def d07_the_second_target_is_a_part_of_the_origin(s: Session) -> None:
    await s.create("t", {0: [1, 2, 3]}, held=True)
    await s.alter("first", {("t", 0): [4, 5]})
    await s.alter("only the last one of the origin", {("t", 0): [3]})
    await s.settled()
    await s.state("shrunk")


@scenario
async def d09_the_second_target_is_the_union(s: Session) -> None:
    await s.create("t", {0: [1, 2]}, held=True)
    await s.alter("first", {("t", 0): [3, 4]})
    await s.alter("all four", {("t", 0): [3, 4, 1, 2]})
    await s.state("nothing to remove any more")
    await s.release("t")
    await s.settled()
    await s.state("four replicas")


@scenario
async def d10_from_shrinking_to_growing(s: Session) -> None:
    await s.create("t", {0: [1, 2, 3]}, held=True)
    await s.alter("replace two by one", {("t", 0): [3, 4]})
    await s.alter("keep all and add", {("t", 0): [1, 2, 3, 4, 5]})
    await s.state("in flight")
    await s.alter("drop one that was being added", {("t", 0): [1, 2, 3, 5]})
    await s.state("still in flight")
    await s.release("t")
    await s.settled()
    await s.state("moved")


@scenario
async def d11_one_request_retargets_cancels_and_starts(s: Session) -> None:
    await s.create("t", {0: [1, 2], 1: [1, 2], 2: [1, 2]}, held=True)
    await s.alter("start two", {("t", 0): [3, 4], ("t", 1): [3, 4]})
    await s.alter("all at once", {("t", 0): [4, 5], ("t", 1): None, ("t", 2): [5, 2]})
    await s.state("in flight")
    await s.release("t")
    await s.settled()
    await s.state("moved")


@scenario
async def d12_one_adding_replica_has_caught_up_and_is_dropped(s: Session) -> None:
    await s.create("t", {0: [1]}, held=True)
    await s.alter("first", {("t", 0): [2, 3]})
    await s.let_only_wait("t", 3, 4)
    await s.in_sync("t", 0, 1, 2)
    await s.alter("second", {("t", 0): [3, 4]})
    await s.state("it has left the ISR")
    await s.release("t")
    await s.settled()
    await s.state("moved")


@scenario
async def d13_the_second_target_is_in_sync_already(s: Session) -> None:
    await s.create("t", {0: [1]}, held=True)
    await s.alter("first", {("t", 0): [2, 3]})
    await s.let_only_wait("t", 3)
    await s.in_sync("t", 0, 1, 2)
    await s.alter("only what is in sync", {("t", 0): [2]})
    await s.settled()
    await s.state("moved")


@scenario
async def d14_the_leader_alone(s: Session) -> None:
    await s.create("t", {0: [2, 1, 3]}, held=True)
    await s.alter("first", {("t", 0): [4, 5, 3]})
    await s.alter("the leader alone", {("t", 0): [2]})
    await s.settled()
    await s.state("one replica")


@scenario
async def d15_grow_in_two_steps(s: Session) -> None:
    await s.create("t", {0: [1]}, held=True)
    await s.alter("one more", {("t", 0): [1, 2]})
    await s.alter("two more", {("t", 0): [1, 2, 3]})
    await s.state("in flight")
    await s.alter("all five, another order", {("t", 0): [5, 3, 1, 2, 4]})
    await s.state("still in flight")
    await s.release("t")
    await s.settled()
    await s.state("grown")


@scenario
async def d16_an_adding_replica_leads_and_stays(s: Session) -> None:
    await s.create("t", {0: [1]}, held=True)
    await s.alter("first", {("t", 0): [2, 3]})
    await s.let_only_wait("t", 3, 4)
    await s.in_sync("t", 0, 1, 2)
    await s.elect("preferred", ("t", 0))
    await s.alter("it is in the second target too", {("t", 0): [4, 2]})
    await s.state("it leads on")
    await s.release("t")
    await s.settled()
    await s.state("moved")
