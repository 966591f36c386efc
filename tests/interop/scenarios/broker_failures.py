"""B09, B10, B13, D05, D08, E08, E10, G04, H, I01: brokers that go and come while partitions move."""

from contextlib import suppress

from ..clusters import SET, TOPIC
from ..session import Session
from .creation import create_topics
from .registry import alone


@alone
async def b09_a_broker_that_has_gone_is_refused(s: Session) -> None:
    await s.create("t", {0: [1, 2, 3]})
    await s.cluster.stop(5)
    await s.alter("it would be added", {("t", 0): [1, 2, 5]})
    await s.state("unchanged")
    alone = f"alone-{s.name}"
    await create_topics(s, "a topic that only it would have", (alone, -1, -1, [(0, [5])], []), timeout_ms=500)
    await s.cluster.restart(5)
    await s.cluster.until_led(alone, 1)
    await s.alter("it is back", {("t", 0): [1, 2, 5]})
    await s.settled()
    await s.state("moved")


@alone
async def b10_a_current_replica_that_has_gone_may_stay(s: Session) -> None:
    await s.create("t", {0: [1, 2, 5], 1: [5, 1, 2]})
    await s.cluster.kill(5)
    await s.state("broker 5 has gone")
    await s.alter("reorder, it stays", {("t", 0): [5, 2, 1], ("t", 1): [1, 5, 2]})
    await s.settled()
    await s.state("reordered")
    await s.alter("it leaves", {("t", 0): [2, 1], ("t", 1): [1, 2]})
    await s.settled()
    await s.state("without it")
    await s.cluster.restart(5)
    await s.state("it is back, with a log that nobody asks for any more", log_stays=True)


@alone
async def b13_h02_a_broker_whose_session_still_stands(s: Session) -> None:
    await s.create("t", {0: [1, 2]})
    await s.cluster.kill_unnoticed(5)
    await s.alter("it is accepted", {("t", 0): [1, 5]})
    await s.listing("stuck", {"t": [0]})
    await s.cluster.forget(5)
    await s.state("stuck, and known to have gone")
    await s.alter("the same target again", {("t", 0): [1, 5]})
    await s.listing("stays as it is", {"t": [0]})
    await s.cluster.restart(5)
    await s.settled()
    await s.state("it came back, the move has ended")


@alone
async def d05_e10_an_adding_broker_dies(s: Session) -> None:
    await s.create("t", {0: [1, 2], 1: [1, 2]}, held=True)
    await s.alter("start", {("t", 0): [3, 5], ("t", 1): [3, 5]})
    await s.state("in flight")
    await s.cluster.kill(5)
    await s.state("stuck")
    await s.alter("the same target again", {("t", 0): [3, 5]})
    await s.alter("a target without it", {("t", 0): [3, 4]})
    await s.cancel("cancel", ("t", 1))
    await s.state("one retargeted, one back")
    await s.cluster.restart(5)
    await s.release("t")
    await s.settled()
    await s.state("moved", log_stays=True)


@alone
async def h06_the_leader_dies_in_flight(s: Session) -> None:
    await s.create("t", {0: [5, 2]}, held=True)
    await s.alter("start", {("t", 0): [3, 4]})
    await s.state("in flight")
    await s.cluster.kill(5)
    await s.state("another original replica leads")
    await s.release("t")
    await s.settled()
    await s.state("moved without the one that died")
    await s.cluster.restart(5)
    await s.state("it is back, with a log that nobody asks for any more", log_stays=True)


@alone
async def h07_a_broker_shuts_down_in_an_orderly_way_in_flight(s: Session) -> None:
    await s.create("t", {0: [5, 2], 1: [1, 2]}, held=True)
    await s.alter("start", {("t", 0): [3, 5], ("t", 1): [5, 4]})
    await s.state("in flight")
    await s.cluster.stop(5)
    await s.state("its partition has another leader")
    await s.cluster.restart(5)
    await s.release("t")
    await s.settled()
    await s.state("moved")


@alone
async def g10_the_only_replica_goes_and_comes(s: Session) -> None:
    await s.create("t", {0: [5]}, held=True)
    await s.cluster.kill(5)
    await s.state("no leader")
    await s.alter("a move away from it", {("t", 0): [4]})
    await s.state("waits without a leader")
    await s.cluster.restart(5)
    await s.release("t")
    await s.settled()
    await s.state("moved")


@alone
async def i01_a_topic_queued_for_deletion(s: Session) -> None:
    await s.create("t", {0: [1, 5]})
    await s.cluster.kill(5)
    await s.delete("delete", "t")
    await s.alter("target", {("t", 0): [1, 2]})
    await s.cancel("cancel", ("t", 0))
    await s.listing("list", {"t": [0]})
    await s.cluster.restart(5)
    await s.until_gone("t")


@alone
async def e08_only_adding_replicas_are_in_sync(s: Session) -> None:
    await s.create("t", {0: [5]}, held=True)
    await s.alter("start", {("t", 0): [4, 3]})
    await s.let_only_wait("t", 3)
    await s.in_sync("t", 0, 4, 5)
    await s.cluster.kill(5)
    await s.in_sync("t", 0, 4)
    await s.state("an adding replica leads alone")
    await s.cancel("cancel", ("t", 0))
    await s.state("after the cancel")
    await s.cluster.restart(5)
    with suppress(AssertionError):  # on stock Kafka it is the only replica, and without a leader it joins no ISR
        await s.in_sync("t", 0, 4, 5, timeout=10)
    await s.state("the original replica is back")
    await s.alter("the target again", {("t", 0): [4, 3]})
    await s.release("t")


@alone
async def d08_a_new_target_drops_the_adding_replica_that_leads(s: Session) -> None:
    await s.create("t", {0: [2]}, held=True)
    await s.alter("start", {("t", 0): [4, 3]})
    await s.let_only_wait("t", 3)
    await s.in_sync("t", 0, 2, 4)
    await s.elect("preferred", ("t", 0))
    await s.state("the adding replica leads")
    await s.alter("a target without it", {("t", 0): [2, 3]})
    await s.state("in flight")
    await s.cancel("cancel", ("t", 0))
    await s.state("as before")


@alone
async def h08_an_adding_replica_in_sync_dies_and_comes_back(s: Session) -> None:
    await s.create("t", {0: [1]}, held=True)
    await s.alter("start", {("t", 0): [5, 3]})
    await s.let_only_wait("t", 3)
    await s.in_sync("t", 0, 1, 5)
    await s.cluster.kill(5)
    await s.in_sync("t", 0, 1)
    await s.state("it has left the ISR")
    await s.cluster.restart(5)
    await s.in_sync("t", 0, 1, 5)
    await s.state("it is back")
    await s.release("t")
    await s.settled()
    await s.state("moved")


@alone
async def h09_a_frozen_broker(s: Session) -> None:
    await s.create("t", {0: [5, 1]}, held=True)
    await s.create("u", {0: [1, 2]}, held=True)
    await s.alter("start", {("t", 0): [3, 4], ("u", 0): [1, 5]})
    await s.state("in flight")
    await s.cluster.freeze_until_forgotten(5)
    await s.state("another replica leads, the other move is stuck")
    await s.cancel("cancel what is stuck", ("u", 0))
    await s.release("t")
    await s.settled()
    await s.state("moved, and cancelled")
    await s.cluster.thaw(5)
    await s.alter("it can be moved to again", {("u", 0): [2, 5]})
    await s.release("u")
    await s.settled()
    await s.state("moved to it", log_stays=True)


@alone
async def h10_the_leader_shuts_down_and_only_an_adding_replica_is_in_sync(s: Session) -> None:
    await s.create("t", {0: [5]}, held=True)
    await s.alter("start", {("t", 0): [2, 3]})
    await s.let_only_wait("t", 3)
    await s.in_sync("t", 0, 2, 5)
    await s.cluster.stop(5)
    await s.state("the adding replica leads")
    await s.cluster.restart(5)
    await s.release("t")
    await s.settled()
    await s.state("moved")


@alone
async def h11_two_brokers_go(s: Session) -> None:
    await s.create("t", {0: [4, 5], 1: [1, 4]}, held=True)
    await s.alter("start", {("t", 0): [2, 3], ("t", 1): [5, 2]})
    await s.state("in flight")
    await s.cluster.kill(5)
    await s.in_sync("t", 0, 4)  # one after the other: of two deaths seen at once, which one the ISR keeps is chance
    await s.cluster.kill(4)
    await s.state("one partition has no leader")
    await s.cancel("cancel both", ("t", 0), ("t", 1))
    await s.state("cancelled")
    await s.cluster.restart(4)
    await s.cluster.restart(5)
    await s.in_sync("t", 0, 4, 5)
    await s.in_sync("t", 1, 1, 4)
    await s.state("all is back", log_stays=True)


@alone
async def h03_everything_goes_down_and_comes_back(s: Session) -> None:
    await s.create("t", {0: [1, 2], 1: [2, 3], 2: [3, 4]}, held=True)
    await s.alter("start", {("t", 0): [3, 4], ("t", 1): [2, 5], ("t", 2): [5, 3, 4]})
    await s.state("in flight")
    await s.cluster.start_everything_again()
    await s.in_sync("t", 0, 1, 2)
    await s.in_sync("t", 1, 2, 3)
    await s.in_sync("t", 2, 3, 4)
    await s.listing("still in flight", {"t": [0, 1, 2]})
    await s.cancel("one can be cancelled", ("t", 0))
    await s.release("t")
    await s.settled()
    s.note("moved; who leads depends on who came back first", await s.assignments("t"))


@alone
async def g04_the_target_is_a_replica_that_has_gone(s: Session) -> None:
    await s.create("t", {0: [1, 5], 1: [1, 5]}, held=True)
    await s.cluster.kill(5)
    await s.in_sync("t", 0, 1)
    await s.alter("only what has gone, and one more", {("t", 0): [5], ("t", 1): [5, 2]})
    await s.state("both wait")
    await s.cancel("cancel one", ("t", 1))
    await s.state("one waits")
    await s.cluster.restart(5)
    await s.settled()
    await s.state("moved")


@alone
async def f08_a_topic_that_cannot_be_deleted_yet(s: Session) -> None:
    await s.create("t", {0: [1, 2]}, held=True)
    await s.alter("start", {("t", 0): [3, 5]})
    await s.state("in flight")
    await s.cluster.kill_unnoticed(5)
    await s.delete("delete", "t")
    (shown,) = (await s.cluster.metadata([s.real("t")]))["topics"]
    s.note("metadata", shown["error_code"])
    await s.listing("list", {"t": [0]})
    await s.alter("target", {("t", 0): [1, 3]})
    await s.cancel("cancel", ("t", 0))
    await s.listing("list after the cancel", {"t": [0]})
    await s.cluster.forget(5)
    await s.cluster.restart(5)
    await s.until_gone("t")
    await s.listing("gone", {"t": [0]})


@alone
async def e09_only_adding_replicas_are_in_sync_and_unclean_elections_are_allowed(s: Session) -> None:
    await s.create("t", {0: [5]}, held=True)
    await s.configure("allow them", TOPIC, s.real("t"), [("unclean.leader.election.enable", SET, "true")])
    await s.alter("start", {("t", 0): [4, 3]})
    await s.let_only_wait("t", 3)
    await s.in_sync("t", 0, 4, 5)
    await s.cluster.kill(5)
    await s.in_sync("t", 0, 4)
    await s.cancel("cancel", ("t", 0))
    await s.state("after the cancel")
    await s.cluster.restart(5)
    with suppress(AssertionError):  # as in e08
        await s.in_sync("t", 0, 4, 5, timeout=10)
    await s.state("the original replica is back")
    await s.release("t")
