"""E: cancelling."""

from ..session import Session
from .registry import scenario


@scenario
async def e01_nothing_to_cancel(s: Session) -> None:
    await s.create("t", {0: [1, 2]})
    await s.cancel("never moved", ("t", 0))
    await s.cancel("unknown topic and partition", ("nope", 0), ("t", 5))
    await s.alter("move", {("t", 0): [2, 3]})
    await s.settled()
    await s.cancel("already moved", ("t", 0))
    await s.state("moved")


@scenario
async def e03_in_flight(s: Session) -> None:
    await s.create("t", {0: [1, 2, 3]}, held=True)
    await s.alter("start", {("t", 0): [4, 5]})
    await s.state("in flight")
    await s.cancel("cancel", ("t", 0))
    await s.listing("at once", {"t": [0]})
    await s.state("as before")
    await s.cancel("cancel again", ("t", 0))


@scenario
async def e04_a_growth(s: Session) -> None:
    await s.create("t", {0: [1]}, held=True)
    await s.alter("grow", {("t", 0): [1, 2, 3]})
    await s.cancel("cancel", ("t", 0))
    await s.state("as before")


@scenario
async def e05_after_a_second_target(s: Session) -> None:
    await s.create("t", {0: [1, 2]}, held=True)
    await s.alter("first", {("t", 0): [3, 4]})
    await s.alter("second", {("t", 0): [4, 5]})
    await s.cancel("cancel", ("t", 0))
    await s.state("the origin, not the first target")


@scenario
async def e06_the_order_after_a_cancel(s: Session) -> None:
    await s.create("t", {0: [1, 2, 3], 1: [1, 2, 3]}, held=True)
    await s.alter("start", {("t", 0): [4, 3, 2], ("t", 1): [3, 4, 1]})
    await s.state("in flight")
    await s.cancel("cancel", ("t", 0), ("t", 1))
    await s.state("cancelled")


@scenario
async def e07_an_adding_replica_is_in_the_isr(s: Session) -> None:
    await s.create("t", {0: [1]}, held=True)
    await s.alter("two to be added, the throttle holds both", {("t", 0): [2, 3]})
    await s.let_only_wait("t", 3)
    await s.in_sync("t", 0, 1, 2)
    await s.state("one of them has caught up")
    await s.cancel("cancel", ("t", 0))
    await s.state("neither is left")


@scenario
async def e11_cancel_one_and_start_another(s: Session) -> None:
    await s.create("t", {0: [1], 1: [1]}, held=True)
    await s.alter("start", {("t", 0): [2]})
    await s.alter("both at once", {("t", 0): None, ("t", 1): [3]})
    await s.state("one back, one in flight")


@scenario
async def e12_start_again_after_a_cancel(s: Session) -> None:
    await s.create("t", {0: [1, 2]}, held=True)
    for turn in range(3):
        await s.alter(f"start {turn}", {("t", 0): [3, 4]})
        await s.cancel(f"cancel {turn}", ("t", 0))
    await s.alter("start for good", {("t", 0): [3, 4]})
    await s.release("t")
    await s.settled()
    await s.state("moved")


@scenario
async def e13_an_adding_replica_leads(s: Session) -> None:
    await s.create("t", {0: [1]}, held=True)
    await s.alter("start", {("t", 0): [2, 3]})
    await s.let_only_wait("t", 3)
    await s.in_sync("t", 0, 1, 2)
    await s.elect("preferred election", ("t", 0))
    await s.state("an adding replica leads")
    await s.cancel("cancel", ("t", 0))
    await s.state("an original replica leads")


@scenario
async def e14_a_shrink_that_grows_elsewhere(s: Session) -> None:
    await s.create("t", {0: [1, 2, 3, 4]}, held=True)
    await s.alter("four to two", {("t", 0): [5, 1]})
    await s.state("in flight")
    await s.cancel("cancel", ("t", 0))
    await s.state("as before")


@scenario
async def e15_after_a_chain_with_one_in_sync(s: Session) -> None:
    await s.create("t", {0: [1]}, held=True)
    await s.alter("first", {("t", 0): [2, 3]})
    await s.let_only_wait("t", 3, 4, 5)
    await s.in_sync("t", 0, 1, 2)
    await s.alter("second", {("t", 0): [2, 4, 5]})
    await s.state("one of three is in sync")
    await s.cancel("cancel", ("t", 0))
    await s.state("as before")


@scenario
async def e16_some_of_many(s: Session) -> None:
    await s.create("t", {index: [1, 2] for index in range(6)}, held=True)
    await s.alter("start all", {("t", index): [3, 4 + index % 2] for index in range(6)})
    await s.cancel("cancel every other", *(("t", index) for index in range(0, 6, 2)))
    await s.listing("the others")
    await s.cancel("cancel all", *(("t", index) for index in range(6)))
    await s.listing("none")
    await s.state("as before")


@scenario
async def e17_a_cancel_and_then_the_same_again(s: Session) -> None:
    await s.create("t", {0: [1, 2]}, held=True)
    await s.alter("start", {("t", 0): [1, 3]})
    await s.alter("the same cancel twice in one request", [("t", 0, None), ("t", 0, None)])
    await s.state("as before")
