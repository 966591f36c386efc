"""A term in front of KRaft: the loop, the queue, throttles and looks that other modes have too, on a cluster and a log
in memory."""

import asyncio
from collections.abc import Collection
from functools import partial
from random import Random
from uuid import UUID

import pytest

from kafka_reassign_rpc.client.polling_pace import BYTES_PER_S
from kafka_reassign_rpc.controller.store import Entity
from kafka_reassign_rpc.core.config_values import BROKERS, TOPICS
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    InvalidReplicaAssignment,
    NoReassignmentInProgress,
    NotController,
    PolicyViolation,
    ReassignmentInProgress,
    RequestTimedOut,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.replication_throttles import LEADER_RATE, LEADER_REPLICAS
from kafka_reassign_rpc.kraft import kraft_store
from kafka_reassign_rpc.kraft.cluster_poller import LookPace
from kafka_reassign_rpc.kraft.ports import Look
from tests.core.phases.kraft_model import KRaftPartition
from tests.kraft.memory_cluster import MemoryCluster
from tests.kraft.memory_term import NAME, OTHER, SELDOM, THIRD, Here, looked
from tests.tables import for_each
from tests.waiting import eventually


async def test_kr_6_a_move_is_told_seen_and_completed_and_its_lease_is_gone_with_it() -> None:
    here = Here()
    async with here.term() as loop:
        await here.ask(NAME, (3, 2), 1_000)
        await eventually(lambda: here.cluster.partitions[NAME].at == SeenPartition((3, 2, 1), (3,), (1,)))
        assert here.cluster.of_configs[Entity(BROKERS, "3")][LEADER_RATE] == "1000"
        assert here.cluster.of_configs[Entity(TOPICS, "t")][LEADER_REPLICAS] == "0:2,0:1"
        here.cluster.partitions[NAME].catch_up()
        await eventually(lambda: here.named(catalogue.MOVE_COMPLETED) == [NAME])
        await eventually(lambda: not any(here.cluster.of_configs.values()))
        found = loop.cluster.get(*NAME)
        assert found is not None
        assert (found.replicas, found.move) == ((3, 2), None)
    assert here.named(catalogue.MOVE_STARTED) == [NAME]


async def test_kr_6_a_cancel_restores_the_original_order_and_is_one_event() -> None:
    here = Here()
    async with here.term():
        await here.ask(OTHER, (1, 3))
        await eventually(lambda: here.cluster.partitions[OTHER].at.is_moving)
        await here.ask(OTHER, None)
        await eventually(lambda: here.named(catalogue.MOVE_CANCELLED) == [OTHER])
        assert here.cluster.partitions[OTHER].at == SeenPartition((2, 1))
    assert here.log.replayed().moves == {}


async def test_kr_6_whoever_has_cancelled_a_move_is_not_shown_it_any_more() -> None:
    here = Here()
    async with here.term(pace=SELDOM) as loop:
        assert await here.told(NAME, (3, 2)) is None
        assert loop.cluster.moving == {"t": {0}}
        assert await here.told(NAME, None) is None
        assert loop.cluster.moving == {}
        assert isinstance(await here.told(NAME, None), NoReassignmentInProgress)
        assert here.named(catalogue.MOVE_CANCELLED) == [], "that is said once looks are sure"


async def test_kr_6_another_order_of_the_same_replicas_is_completed_once_when_the_cluster_has_it() -> None:
    here = Here()
    async with here.term():
        await here.ask(OTHER, (1, 2))
        assert (here.named(catalogue.MOVE_STARTED), here.named(catalogue.MOVE_COMPLETED)) == ([OTHER], [])
        await eventually(lambda: here.log.replayed().moves == {})
        assert here.cluster.partitions[OTHER].at == SeenPartition((1, 2))
        await eventually(lambda: here.named(catalogue.MOVE_COMPLETED) == [OTHER])


async def test_kr_6_a_target_in_the_place_of_another_order_is_no_second_start() -> None:
    here = Here()
    async with here.term(pace=SELDOM):
        await here.ask(NAME, (2, 1))
        await here.ask(NAME, (3, 2))
        await eventually(lambda: here.named(catalogue.MOVE_RETARGETED) == [NAME])
    assert here.named(catalogue.MOVE_STARTED) == [NAME]


async def test_kr_7_a_move_waits_in_the_queue_for_a_cap_and_starts_when_another_is_seen_to_have_ended() -> None:
    here = Here()
    async with here.term(InFlightCaps(per_cluster=1)):
        await here.ask(NAME, (3, 2))
        await here.ask(THIRD, (4, 2))
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)
        assert here.named(catalogue.MOVE_WAITING) == [THIRD]
        assert len(here.loop.cluster.queue) == 1
    async with here.term(InFlightCaps(per_cluster=1)) as loop:
        assert len(loop.cluster.queue) == 1, "it outlives its server"
        here.cluster.partitions[NAME].catch_up()
        await eventually(lambda: here.cluster.partitions[THIRD].at.is_moving)
        here.cluster.partitions[THIRD].catch_up()
        await eventually(lambda: here.named(catalogue.MOVE_COMPLETED) == [NAME, THIRD])


async def test_kr_5_a_snapshot_keeps_what_moves_what_waits_and_the_former_values_of_throttles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kraft_store, "SNAPSHOT_S", 0.01)
    here = Here()
    before = {LEADER_RATE: "5"}
    here.cluster.of_configs[Entity(BROKERS, "2")] = dict(before)
    async with here.term(InFlightCaps(per_cluster=1)):
        await here.ask(NAME, (3, 2), 1_000)
        await here.ask(THIRD, (4, 2))
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)
        here.writer.snapshot_is_due = True
        await eventually(lambda: not here.writer.snapshot_is_due)
    assert len({one.offset for one in here.log.records}) == 1, "nothing else is left"
    async with here.term(InFlightCaps(per_cluster=1)) as loop:
        assert len(loop.cluster.queue) == 1
        here.cluster.partitions[NAME].catch_up()
        await eventually(lambda: here.cluster.partitions[THIRD].at.is_moving)
        here.cluster.partitions[THIRD].catch_up()
        await eventually(lambda: here.named(catalogue.MOVE_COMPLETED) == [NAME, THIRD])
        await eventually(lambda: here.cluster.of_configs[Entity(BROKERS, "2")] == before)


async def test_kr_6_what_was_durable_and_not_told_is_told_by_the_next_server() -> None:
    here = Here()
    here.cluster.silent = True
    async with here.term():
        await here.ask(NAME, (3, 2))
        await eventually(lambda: NAME in here.cluster.told)
    assert not here.cluster.partitions[NAME].at.is_moving
    here.cluster.silent = False
    async with here.term():
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)


async def test_kr_6_an_outcome_that_a_server_could_not_record_is_recorded_by_the_next_one() -> None:
    here = Here()
    here.cluster.partitions[OTHER].cordoned = frozenset({2})
    here.loses_events = True
    async with here.term():
        await here.ask(NAME, (3, 2), None)
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)
        here.cluster.partitions[NAME].catch_up()
        assert isinstance(await here.told(OTHER, (2, 3)), InvalidReplicaAssignment)
        await eventually(lambda: not here.log.replayed().moves)
    assert here.events == []
    here.loses_events = False
    async with here.term():
        await eventually(lambda: not here.log.replayed().outcomes)
    async with here.term():
        pass
    assert here.named(catalogue.MOVE_COMPLETED) == [NAME]
    assert here.named(catalogue.MOVE_REFUSED) == [OTHER]
    completed = next(one for one in here.events if one.event == catalogue.MOVE_COMPLETED)
    assert (completed.target, completed.replicas, completed.original) == ((3, 2), (3, 2), (1, 2))
    assert None not in {one.id for one in here.events}, "by which a second one of the same move is known"


async def test_kr_6_a_look_that_began_before_the_cluster_took_a_move_does_not_hide_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, look = Here(), MemoryCluster.look
    looked, goes_on, shown = asyncio.Event(), asyncio.Event(), list[bool]()

    async def slow(cluster: MemoryCluster, topics: Collection[str] | None = None) -> Look:
        if goes_on.is_set():
            found = here.loop.cluster.get(*NAME)
            shown.append(found is not None and found.is_moving)
        seen = await look(cluster, topics)
        if topics is None and hasattr(here, "loop"):
            looked.set()
            await goes_on.wait()
        return seen

    monkeypatch.setattr(MemoryCluster, "look", slow)
    async with here.term():
        await looked.wait()
        assert await here.told(NAME, (3, 2)) is None
        goes_on.set()
        await eventually(lambda: len(shown) > 2)
    assert all(shown)


async def test_kr_6_a_client_is_answered_what_the_cluster_says_once_a_refusal_is_durable() -> None:
    here = Here()
    here.cluster.partitions[NAME].cordoned = frozenset({2})
    async with here.term():
        refused = await here.told(NAME, (3, 2))
        assert isinstance(refused, InvalidReplicaAssignment)
        assert str(refused) == "cordoned"
        assert here.log.replayed().moves == {}
        assert await here.told(OTHER, (3, 1)) is None
        assert here.cluster.partitions[OTHER].at.is_moving
        assert await here.told(OTHER, None) is None


async def test_kr_6_a_cancel_that_comes_too_late_is_answered_so_and_one_that_was_told_twice_is_not() -> None:
    here = Here()
    async with here.term():
        for name, catches_up in ((NAME, True), (THIRD, False)):
            assert await here.told(name, (3, 2)) is None
            partition = here.cluster.partitions[name]
            here.cluster.before_alter = partition.catch_up if catches_up else partial(partition.alter, None)
            answer = await here.told(name, None)
            assert isinstance(answer, NoReassignmentInProgress) is catches_up
            assert here.named(catalogue.MOVE_COMPLETED) == [NAME]
        await eventually(lambda: here.named(catalogue.MOVE_CANCELLED) == [THIRD])


async def test_kr_6_where_nobody_knows_what_an_alter_has_done_looks_answer_its_sender() -> None:
    here = Here()
    here.cluster.silent = True
    async with here.term():
        late = await here.told(NAME, (3, 2), 10)
        assert isinstance(late, RequestTimedOut)
        assert "durable" in str(late)
        asked = asyncio.create_task(here.told(OTHER, (3, 1)))
        await eventually(lambda: OTHER in here.cluster.told)
        assert not asked.done()
        here.cluster.partitions[OTHER].alter((3, 1))  # it had its effect
        assert await asked is None
        asked = asyncio.create_task(here.told(THIRD, (3, 2)))
        await eventually(lambda: THIRD in here.cluster.told)
        here.cluster.partitions[THIRD].alter((4, 2))
        assert isinstance(await asked, ReassignmentInProgress)
        asked = asyncio.create_task(here.told(OTHER, None))
        await eventually(lambda: here.cluster.told[OTHER] is None)
    with pytest.raises(NotController):  # of the whole request, or clients would not ask the next server
        await asked


async def test_kr_6_what_the_cluster_refuses_is_no_move_any_more() -> None:
    here = Here()
    here.cluster.partitions[NAME].cordoned = frozenset({2})
    async with here.term() as loop:
        [(*_, error)] = await here.begun.told(here.submitted([NAME], (3, 2)))
        assert isinstance(error, InvalidReplicaAssignment), "who has asked learns it"
        await eventually(lambda: here.named(catalogue.MOVE_REFUSED) == [NAME])
        found = loop.cluster.get(*NAME)
        assert found is not None
        assert (found.replicas, found.is_moving, found.move) == ((1, 2), False, None)
    assert here.log.replayed().moves == {}


async def test_kr_6_while_the_cluster_takes_nothing_from_this_server_its_moves_wait_and_the_queue_starts_no_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    here = Here()
    here.cluster.refuses = ClusterAuthorizationFailed()
    async with here.term(InFlightCaps(per_cluster=1)) as loop:
        [(*_, waits), (*_, queued)] = await here.begun.told(here.submitted([NAME, THIRD], (3, 2)))
        assert isinstance(waits, RequestTimedOut)
        assert queued is None
        await eventually(lambda: here.named(catalogue.REASSIGNMENTS_DISABLED) != [])
        here.cluster.told.clear()
        await eventually(lambda: NAME in here.cluster.told)  # again
        assert THIRD not in here.cluster.told
        found = await here.answers([OTHER], (3, 1))
        assert isinstance(found[OTHER], PolicyViolation)
        assert "grant ALTER on the cluster" in str(found[OTHER])
        assert here.log.replayed().moves.keys() == {NAME}
        here.cluster.refuses = None
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)
        here.cluster.partitions[NAME].catch_up()
        await eventually(lambda: here.cluster.partitions[THIRD].at.is_moving)
        assert loop.cluster.soft.takes_nothing == ""
    switched = (catalogue.REASSIGNMENTS_DISABLED, catalogue.REASSIGNMENTS_ENABLED)
    assert tuple(one.event for one in here.events if one.event in switched) == switched
    assert here.named(catalogue.MOVE_REFUSED) == [OTHER]
    assert [one.levelname for one in caplog.records if "grant ALTER on the cluster" in one.message] == ["ERROR"]


async def test_kr_6_a_cluster_that_took_nothing_is_tried_again_once_no_act_is_left_to_show_that_this_is_over() -> None:
    here = Here()
    here.cluster.refuses = ClusterAuthorizationFailed()
    async with here.term() as loop:
        await here.ask(NAME, (3, 2))
        await eventually(lambda: loop.cluster.soft.takes_nothing != "")
        await here.ask(NAME, None)
        await eventually(lambda: here.named(catalogue.MOVE_CANCELLED) == [NAME])
        await eventually(lambda: loop.cluster.soft.takes_nothing == "")


async def test_kr_8_what_others_start_is_shown_and_left_alone_and_a_dead_target_is_refused() -> None:
    here = Here()
    async with here.term() as loop:
        here.cluster.partitions[NAME].alter((4, 2))
        await eventually(lambda: loop.cluster.moving == {"t": {0}})
        assert here.cluster.told == {}
        del here.cluster.brokers[3]
        await eventually(lambda: 3 not in loop.cluster.brokers)
        answers = await here.answers([OTHER], (3, 1))
        assert isinstance(answers[OTHER], InvalidReplicaAssignment), "KRaft would start it"


async def test_kr_6_a_topic_that_is_gone_ends_its_moves() -> None:
    here = Here()
    async with here.term() as loop:
        await here.ask(NAME, (3, 2))
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)
        here.cluster.partitions.clear()
        await eventually(lambda: here.named(catalogue.MOVE_GONE) == [NAME])
        await eventually(lambda: not loop.cluster.topics)
    assert here.log.replayed().moves == {}


async def test_kr_6_a_topic_that_this_server_may_not_describe_for_a_while_keeps_its_moves_and_what_waits() -> None:
    here = Here()
    async with here.term(InFlightCaps(per_cluster=1)) as loop:
        await here.ask(NAME, (3, 2))
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)
        await here.ask(THIRD, (4, 2))
        here.cluster.secret = {"t"}
        await eventually(lambda: loop.cluster.soft.unseen == {"t"})
        await looked(here)
        answers = await here.answers([OTHER], (3, 1))
        assert isinstance(answers[OTHER], UnknownTopicOrPartition)
    async with here.term(InFlightCaps(per_cluster=1)) as loop:
        await looked(here)
        assert (len(loop.cluster.queue), [*here.log.replayed().moves]) == (1, [NAME])
        here.cluster.secret = set()
        here.cluster.partitions[NAME].catch_up()
        await eventually(lambda: here.cluster.partitions[THIRD].at.is_moving)
        await eventually(lambda: here.named(catalogue.MOVE_COMPLETED) == [NAME])
    assert here.named(catalogue.MOVE_GONE) == here.named(catalogue.ENTRY_REFUSED) == []


@for_each("lagging", [1, 2])
async def test_kr_7_a_broker_that_has_not_heard_of_a_topic_yet_ends_no_move_that_waits(lagging: int) -> None:
    """While a term is loaded, and while a round that starts moves is read again."""
    here = Here()
    here.cluster.untold = {"t"}
    async with here.term(InFlightCaps(per_cluster=1)) as loop:
        await here.ask(NAME, (3, 2))
        await here.ask(THIRD, (4, 2))
        assert len(loop.cluster.queue) == 1
    here.cluster.lagging = lagging
    async with here.term(InFlightCaps(per_cluster=1)):
        await looked(here)
        here.cluster.lagging = lagging
        here.cluster.partitions[NAME].catch_up()
        await eventually(lambda: here.cluster.partitions[THIRD].at.is_moving)
        here.cluster.partitions[THIRD].catch_up()
        await eventually(lambda: here.named(catalogue.MOVE_COMPLETED) == [NAME, THIRD])
    assert here.named(catalogue.MOVE_GONE) == here.named(catalogue.ENTRY_REFUSED) == []


async def test_kr_7_what_waits_for_a_topic_that_is_gone_leaves_once_looks_agree() -> None:
    here = Here()
    async with here.term(InFlightCaps(per_cluster=1)):
        await here.ask(NAME, (3, 2))
        await here.ask(THIRD, (4, 2))
    here.cluster.partitions.clear()
    async with here.term(InFlightCaps(per_cluster=1)):
        await eventually(lambda: here.named(catalogue.ENTRY_REFUSED) == [THIRD])
        await eventually(lambda: here.named(catalogue.MOVE_GONE) == [NAME])
    assert (here.log.replayed().moves, here.log.replayed().queue) == ({}, {})


async def test_kr_6_another_topic_of_the_name_does_not_get_the_moves_of_the_former_one() -> None:
    here = Here()
    async with here.term() as loop:
        await here.ask(NAME, (3, 2))
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)
        here.cluster.partitions[NAME] = KRaftPartition(4, 1)
        here.cluster.ids["t"] = UUID(int=99 << 65)
        await eventually(lambda: here.named(catalogue.MOVE_GONE) == [NAME])
        await eventually(lambda: loop.cluster.topics["t"].id == here.cluster.ids["t"])
    assert here.cluster.partitions[NAME].at == SeenPartition((4, 1))


@pytest.mark.parametrize("snapshot", [False, True])
async def test_kr_6_another_topic_of_the_name_does_not_get_what_waited_for_the_former_one_while_no_server_led(
    monkeypatch: pytest.MonkeyPatch, snapshot: bool
) -> None:
    monkeypatch.setattr(kraft_store, "SNAPSHOT_S", 0.01)
    monkeypatch.setattr(kraft_store, "AGAIN_S", 0.0)
    here = Here()
    async with here.term(InFlightCaps(per_cluster=0)):
        await here.ask(NAME, (3, 2))
        here.writer.snapshot_is_due = snapshot
        await eventually(lambda: not here.writer.snapshot_is_due)
    here.cluster.partitions[NAME] = KRaftPartition(4, 1)
    here.cluster.ids["t"] = UUID(int=99 << 65)
    async with here.term() as loop:
        await eventually(lambda: here.named(catalogue.ENTRY_REFUSED) == [NAME])
        assert loop.cluster.topics["t"].id == here.cluster.ids["t"]
        assert (here.log.replayed().queue, here.cluster.told) == ({}, {})
        await here.ask(NAME, (3, 1))
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)


async def test_kr_6_what_waits_is_not_given_up_where_a_term_begins_with_a_broker_that_shows_a_former_topic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kraft_store, "AGAIN_S", 0.0)
    here = Here()
    async with here.term(InFlightCaps(per_cluster=0)):
        await here.ask(NAME, (3, 2))
    look, now = MemoryCluster.look, here.cluster.ids

    async def lags(cluster: MemoryCluster, topics: Collection[str] | None = None) -> Look:
        cluster.ids = {"t": UUID(int=98 << 65)} if cluster.looks == before else now
        return await look(cluster, topics)

    before = here.cluster.looks
    monkeypatch.setattr(MemoryCluster, "look", lags)
    async with here.term():
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)
    assert here.named(catalogue.ENTRY_REFUSED) == []


async def test_kr_6_while_something_moves_looks_are_at_its_topics_alone() -> None:
    here = Here()
    async with here.term(pace=LookPace(0.01, 60, 0)):
        await here.ask(NAME, (3, 2))
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)
        await looked(here, 2)
        before = here.cluster.looks_at_all
        await looked(here)
        assert here.cluster.looks_at_all == before
        here.cluster.partitions[NAME].catch_up()
        await eventually(lambda: here.named(catalogue.MOVE_COMPLETED) == [NAME])


async def test_kr_6_costly_looks_at_everything_are_seldom_and_lost_brokers_and_moves_are_seen_all_the_same() -> None:
    here = Here()
    here.cluster.bytes_of_all = 100 * BYTES_PER_S
    async with here.term() as loop:
        await looked(here)
        seen = here.cluster.looks_at_all
        here.cluster.partitions[NAME].alter((3, 2))
        await eventually(lambda: loop.cluster.moving == {"t": {0}})
        here.cluster.partitions[NAME].catch_up()
        await eventually(lambda: loop.cluster.moving == {})
        here.cluster.partitions[OTHER].alter((1, 2))  # in a topic whose moves have just ended: brokers may lag
        await eventually(lambda: loop.cluster.topics["t"].partitions[OTHER.partition].replicas == (1, 2))
        del here.cluster.brokers[4]
        await eventually(lambda: 4 not in loop.cluster.brokers)
    assert here.cluster.looks_at_all == seen


@for_each("lagging", [0, 1])
async def test_kr_8_before_a_request_is_refused_for_what_is_not_known_it_is_looked_for(lagging: int) -> None:
    here, new = Here(), TopicPartition("new", 0)
    async with here.term(pace=SELDOM):
        before = here.cluster.looks
        here.cluster.partitions[new], here.cluster.ids["new"] = KRaftPartition(1, 2), UUID(int=77 << 65)
        here.cluster.untold, here.cluster.lagging = {"new"}, lagging
        assert await here.asked_by_api(new, (3, 2)) is None
        await eventually(lambda: here.cluster.partitions[new].at.is_moving)
        here.cluster.partitions[NAME].alter((4, 2))
        assert await here.asked_by_api(NAME, None) is None, "a move of somebody else, begun a moment ago"
        assert here.cluster.looks > before
        assert isinstance(await here.asked_by_api(THIRD, None), NoReassignmentInProgress)
        assert isinstance(await here.asked_by_api(TopicPartition("none", 0), (3, 2)), UnknownTopicOrPartition)


@for_each("seed", range(6))
async def test_kr_6_whenever_servers_are_killed_what_was_acknowledged_last_is_what_the_cluster_comes_to(
    seed: int,
) -> None:
    """A target that was acknowledged is reached; after a cancel the replicas from before are back, in their order, or
    it came too late. No throttle is left."""
    random, here = Random(seed), Here()
    rest = {name: one.at.replicas for name, one in here.cluster.partitions.items()}
    may_be = {name: {replicas} for name, replicas in rest.items()}
    ever = {name: {replicas} for name, replicas in rest.items()}
    for _ in range(8):
        async with here.term() as loop:
            for _ in range(random.randrange(1, 5)):
                name = random.choice(list(rest))
                here.cluster.silent = random.random() < 0.3
                known = loop.cluster.get(*name)
                assert known is not None
                rest[name] = known.replicas if known.move is None else known.move.original
                target = random.choice([None, (3, 2), (4, 1), (1, 4), (2, 1)])
                if (await here.answers([name], target, random.choice([None, 1_000])))[name] is None:
                    goes_back = target is None or (known.move is not None and target == rest[name])
                    ever[name] |= {rest[name]} if target is None else {target}
                    may_be[name] = ever[name] | {rest[name]} if goes_back or target is None else {target}
                if random.random() < 0.5:
                    here.cluster.partitions[name].catch_up()
                await asyncio.sleep(random.choice([0, 0.005, 0.03]))
    here.cluster.silent = False
    async with here.term():

        def has_ended() -> bool:
            for one in here.cluster.partitions.values():
                one.catch_up()
            return not here.log.replayed().moves

        await eventually(has_ended)
        await eventually(lambda: not any(here.cluster.of_configs.values()))
    for name, one in here.cluster.partitions.items():
        assert not one.at.is_moving
        assert one.at.replicas in may_be[name], (name, may_be)
