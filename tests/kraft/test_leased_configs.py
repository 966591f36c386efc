"""Configs of throttle leases at a cluster without compare-and-set, and their memory in the log: a crash between any two
steps, a lost answer, somebody else."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Literal

import pytest

from kafka_reassign_rpc.controller import throttle_leases
from kafka_reassign_rpc.controller.commands.queue_commands import ChangeLeaseRates
from kafka_reassign_rpc.controller.store import ConfigWrite, ControllerMoved, Entity, ReloadNeeded
from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT, TOPICS
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.state.requesters import CONTROLLER
from kafka_reassign_rpc.core.status.broker_documents import Throttle
from kafka_reassign_rpc.core.status.brokers import throttle_of
from kafka_reassign_rpc.core.throttling.leased_configs import (
    BrokerMemory,
    ListMemory,
    RateMemory,
    TopicMemory,
    broker_after,
    sets_again,
)
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE, LEADER_REPLICAS
from kafka_reassign_rpc.kraft import leased_configs
from kafka_reassign_rpc.kraft.kraft_store import KRaftStore
from kafka_reassign_rpc.kraft.leased_configs import differences
from tests.kraft.memory_cluster import MemoryCluster, MemoryLog, elected
from tests.kraft.memory_term import NAME, OTHER, SELDOM, Here, looked
from tests.tables import for_each
from tests.waiting import eventually

BROKER, TOPIC = Entity(BROKERS, "1"), Entity(TOPICS, "t")
FORMER = {LEADER_RATE: "7", "other": "x"}


async def lease(store: KRaftStore, rate: int) -> None:
    """As throttle configs do it: what leases need of this broker; -1: none needs it any more."""
    (stored,) = await store.configs.read([BROKER])
    memory = stored.memory if isinstance(stored.memory, BrokerMemory) else BrokerMemory()
    after = broker_after(stored.configs or {}, {}, memory, rate, lifts=True)
    await store.configs.write([ConfigWrite(stored, after.configs, after.memory)])


async def leased_until_a_crash(log: MemoryLog, cluster: MemoryCluster, rates: Sequence[int], lives: int) -> None:
    """By a server that makes so many records durable."""
    first = elected(log, cluster)
    first.writer.lives = lives
    with suppress(ControllerMoved):
        for rate in rates:
            await lease(first.store, rate)


async def test_236_11_after_a_crash_at_any_step_the_former_values_come_back() -> None:
    for begun_with, lives in ((rates, lives) for rates in ([5], [5, 6], [5, -1]) for lives in range(1, 7)):
        cluster, log = MemoryCluster({}, (1,)), MemoryLog()
        cluster.of_configs[BROKER] = dict(FORMER)
        await leased_until_a_crash(log, cluster, begun_with, lives)
        second = elected(log, cluster).store
        for entity in await second.configs.remembered():
            assert entity == BROKER
            await lease(second, -1)
        assert {name: value for name, value in cluster.of_configs[BROKER].items() if name != FOLLOWER_RATE} == FORMER
        assert FOLLOWER_RATE not in cluster.of_configs[BROKER]
        assert await second.configs.remembered() == []


async def test_236_11_what_somebody_else_has_changed_since_the_read_is_not_overwritten() -> None:
    cluster = MemoryCluster({}, (1,))
    store = elected(MemoryLog(), cluster).store
    (stored,) = await store.configs.read([BROKER])
    cluster.of_configs[BROKER] = {LEADER_RATE: "9"}
    with pytest.raises(ReloadNeeded, match="somebody else"):
        await store.configs.write([ConfigWrite(stored, {LEADER_RATE: "5"}, BrokerMemory(RateMemory("5")))])
    assert cluster.of_configs[BROKER] == {LEADER_RATE: "9"}
    assert await store.configs.remembered() == []


async def test_236_11_what_somebody_else_changes_while_the_memory_becomes_durable_is_not_overwritten() -> None:
    cluster = MemoryCluster({}, (1,))
    cluster.of_configs[BROKER] = dict(FORMER)
    now = elected(MemoryLog(), cluster)
    now.writer.before_commit = lambda: cluster.of_configs[BROKER].update({LEADER_RATE: "9"})
    with pytest.raises(ReloadNeeded, match="somebody else"):
        await lease(now.store, 5)
    assert cluster.of_configs[BROKER] == {**FORMER, LEADER_RATE: "9"}
    assert await now.store.configs.remembered() == []
    now.writer.before_commit = lambda: None
    await lease(now.store, 5)
    await lease(now.store, -1)
    assert cluster.of_configs[BROKER] == {**FORMER, LEADER_RATE: "9"}


async def test_236_11_entries_that_somebody_else_adds_to_a_list_in_between_stay_in_it() -> None:
    cluster = MemoryCluster({}, (1,))
    store = elected(MemoryLog(), cluster).store
    await listed(store, "0:1")
    cluster.before_change = lambda: cluster.of_configs[TOPIC].update({LEADER_REPLICAS: "0:1,7:7"})
    with pytest.raises(ReloadNeeded, match="somebody else"):
        await listed(store, "0:1,1:2")
    assert cluster.of_configs[TOPIC] == {LEADER_REPLICAS: "0:1,7:7,1:2"}
    cluster.before_change = lambda: None
    (stored,) = await store.configs.read([TOPIC])
    assert stored.memory == TopicMemory(ListMemory("0:1,1:2", unsure=True))
    await listed(store, "2:2", "7:7,2:2")
    assert cluster.of_configs[TOPIC] == {LEADER_REPLICAS: "7:7,2:2"}
    (stored,) = await store.configs.read([TOPIC])
    every = {LEADER_REPLICAS: "*"}
    assert differences(ConfigWrite(stored, every, TopicMemory())) == (every, {})


async def listed(store: KRaftStore, ours: str, value: str | None = None) -> None:
    (stored,) = await store.configs.read([TOPIC])
    memory = TopicMemory(ListMemory(ours))
    await store.configs.write([ConfigWrite(stored, {LEADER_REPLICAS: value or ours}, memory)])


async def test_236_11_only_what_differs_is_changed_and_a_change_in_between_is_found_afterwards() -> None:
    cluster = MemoryCluster({}, (1,))
    cluster.of_configs[BROKER] = dict(FORMER)
    store = elected(MemoryLog(), cluster).store
    cluster.before_change = lambda: cluster.of_configs[BROKER].update(other="y")
    with pytest.raises(ReloadNeeded, match="somebody else"):
        await lease(store, 5)
    assert cluster.of_configs[BROKER] == {LEADER_RATE: "5", FOLLOWER_RATE: "5", "other": "y"}
    cluster.before_change = lambda: None
    await lease(store, -1)
    assert cluster.of_configs[BROKER] == {**FORMER, "other": "y"}


async def test_236_11_a_change_whose_answer_is_lost_is_read_again() -> None:
    cluster = MemoryCluster({}, (1,))
    cluster.of_configs[BROKER] = dict(FORMER)
    store = elected(MemoryLog(), cluster).store
    cluster.fails = 1
    with pytest.raises(ReloadNeeded, match="may not have changed"):
        await lease(store, 5)
    await lease(store, 5)
    await lease(store, -1)
    assert cluster.of_configs[BROKER] == FORMER


async def test_236_11_lists_of_a_topic_keep_entries_of_both_memories_until_it_is_known_which_holds() -> None:
    for lives in count(1):
        cluster, log = MemoryCluster({}, (1,)), MemoryLog()
        first = elected(log, cluster)
        first.writer.lives = lives
        try:
            for ours in ("0:1", "0:1,1:2"):
                await listed(first.store, ours)
        except ControllerMoved:
            pass
        else:
            break
        (stored,) = await elected(log, cluster).store.configs.read([TOPIC])
        if stored.configs:
            assert isinstance(stored.memory, TopicMemory)
            assert stored.memory.leader is not None
            named = set(stored.configs[LEADER_REPLICAS].split(","))
            assert named <= set(stored.memory.leader.ours.split(",")), "all of them are known as ours"
    assert lives > 3


@for_each(
    "stricter, of_all, rate, by",
    [(None, None, 1_000, "lease"), ("400", None, 400, "config"), (None, "300", 300, "default")],
)
async def test_fg_4_the_throttle_in_force_while_a_lease_is_and_by_what_it_is_so(
    stricter: str | None, of_all: str | None, rate: int, by: Literal["lease", "config", "default"]
) -> None:
    """A lease that does not lift a stricter rate of others leaves it, and takes nothing of it away at its end."""
    here = Here()
    before = {
        Entity(BROKERS, "3"): {FOLLOWER_RATE: stricter} if stricter else {},
        Entity(BROKERS, DEFAULT): {FOLLOWER_RATE: of_all} if of_all else {},
    }
    here.cluster.of_configs |= {entity: dict(some) for entity, some in before.items()}
    async with here.term() as loop:
        await here.ask(NAME, (3, 2), 1_000)
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)
        await looked(here)
        assert throttle_of(loop.cluster, 3, FOLLOWER_RATE) == Throttle(rate, by)
        here.cluster.partitions[NAME].catch_up()
        await eventually(lambda: here.named(catalogue.MOVE_COMPLETED) == [NAME])
        await eventually(lambda: not here.log.replayed().memories)
        left = throttle_of(loop.cluster, 3, FOLLOWER_RATE)
        assert left == (None if by == "lease" else Throttle(rate, by))
    assert {one: here.cluster.of_configs.get(one, {}) for one in before} == before


async def test_kr_6_a_throttle_that_others_delete_is_put_back_while_a_lease_needs_it_and_that_is_an_event() -> None:
    here = Here()
    async with here.term():
        await here.ask(NAME, (3, 2), 1_000)
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)
        leased = {entity: dict(some) for entity, some in here.cluster.of_configs.items()}
        for entity in leased:
            here.cluster.of_configs[entity] = {}
        await eventually(lambda: here.cluster.of_configs == leased)
        await eventually(lambda: len(put_back(here)) == 3)
        assert put_back(here) == [
            (broker, 1_000, CONTROLLER.who, "to send, to receive: somebody else had deleted 1000")
            for broker in (1, 2, 3)
        ]
        here.cluster.partitions[NAME].catch_up()
        await eventually(lambda: not any(here.cluster.of_configs.values()))
        assert len(put_back(here)) == 3, "what goes with its lease was not deleted by somebody else"


async def test_kr_6_a_throttle_that_others_delete_again_is_left_and_said_until_it_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leased_configs, "SETTLES_S", 0.0)
    lists = "leader.replication.throttled.replicas=0:2,0:1, follower.replication.throttled.replicas=0:3"
    here = Here()
    async with here.term() as loop:
        await here.ask(NAME, (3, 2), 1_000)
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)
        leased = {entity: sorted_lists(some) for entity, some in here.cluster.of_configs.items()}
        delete(here)
        await eventually(lambda: all_are(here, leased) and len(put_back(here)) == 3 and len(removed(here)) == 1)
        assert removed(here) == [(None, f"somebody else had removed {lists}: back again")]
        delete(here)
        await eventually(lambda: len(removed(here)) == 5)
        left = "somebody else has removed {} again: moves go on without it until it is set again: {}"
        assert removed(here)[1:] == [
            (None, left.format(lists, sets_again(1_000, NAME.topic))),
            *((broker, f"to send, to receive: {left.format('1000', sets_again(1_000))}") for broker in (1, 2, 3)),
        ]
        assert len(put_back(here)) == 3
        assert not any(here.cluster.of_configs.values())
        assert {str(one) for one in loop.throttle_leases.removed} == LEFT
    async with here.term() as loop:
        await eventually(lambda: {str(one) for one in loop.throttle_leases.removed} == LEFT)
        assert not any(here.cluster.of_configs.values()), "the next server leaves it so, too"
        assert len(removed(here)) == 5
        await loop.submit(ChangeLeaseRates(None, 1_000))
        await eventually(lambda: all_are(here, leased))
        assert not loop.throttle_leases.removed
        here.cluster.partitions[NAME].catch_up()
        await eventually(lambda: not any(here.cluster.of_configs.values()))


LEFT = {
    "topic t (leader.replication.throttled.replicas=0:2,0:1, follower.replication.throttled.replicas=0:3)",
    *(f"broker {broker} (to send, to receive)" for broker in (1, 2, 3)),
}


def sorted_lists(configs: Mapping[str, str]) -> dict[str, list[str]]:
    return {name: sorted(value.split(",")) for name, value in configs.items()}


def all_are(here: Here, wanted: Mapping[Entity, Mapping[str, list[str]]]) -> bool:
    return {entity: sorted_lists(some) for entity, some in here.cluster.of_configs.items()} == wanted


def delete(here: Here) -> None:
    for entity in list(here.cluster.of_configs):
        here.cluster.of_configs[entity] = {}


def removed(here: Here) -> list[tuple[int | None, str | None]]:
    told = [one for one in here.events if one.event == catalogue.THROTTLE_REMOVED]
    return sorted(((one.broker, one.reason) for one in told), key=lambda one: one[0] or 0)


def put_back(here: Here) -> list[tuple[int | None, int | None, str | None, str]]:
    told = [one for one in here.events if one.event == catalogue.THROTTLE_SET]
    return sorted((one.broker, one.bytes, one.who, one.reason) for one in told if one.reason is not None)


async def test_236_11_and_kr_7_the_rate_of_a_broker_that_has_died_is_taken_back_at_the_controllers() -> None:
    """Whenever the server dies that has set it: the next one has never been told the configs of that broker."""
    for begun_with, lives in ((rates, lives) for rates in ([5], [5, 6], [5, -1]) for lives in range(1, 7)):
        cluster, log = MemoryCluster({}, (1,)), MemoryLog()
        await leased_until_a_crash(log, cluster, begun_with, lives)
        cluster.brokers, cluster.has_controllers = {}, True
        second = elected(log, cluster).store
        for _ in await second.configs.remembered():
            await lease(second, -1)
        assert cluster.of_configs.get(BROKER, {}) == {}
        assert await second.configs.remembered() == []


async def test_236_11_and_kr_7_without_controllers_the_rate_of_a_broker_that_has_died_stays_and_is_remembered() -> None:
    cluster = MemoryCluster({}, (1,))
    store = elected(MemoryLog(), cluster).store
    await lease(store, 5)
    cluster.brokers = {}
    (stored,) = await store.configs.read([BROKER])
    assert stored.problem == "the configs of broker 1 cannot be read: it is down"
    assert stored.memory == BrokerMemory(RateMemory("5", lease=5, lifts=True), RateMemory("5", lease=5, lifts=True))


async def test_236_11_a_throttle_asked_for_again_while_its_configs_cannot_be_read_is_set_once_they_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leased_configs, "SETTLES_S", 0.0)
    monkeypatch.setattr(throttle_leases, "AGAIN_S", 0.01)
    here = Here()
    async with here.term() as loop:
        await here.ask(NAME, (3, 2), 1_000)
        await eventually(lambda: here.cluster.partitions[NAME].at.is_moving)
        for times in (1, 2):
            del here.cluster.of_configs[TOPIC][LEADER_REPLICAS]
            loop.throttle_leases.everything()
            await eventually(lambda: len(removed(here)) == times)  # noqa: B023
        assert LEADER_REPLICAS not in here.cluster.of_configs[TOPIC]
        here.cluster.unanswered = {TOPIC}
        await loop.submit(ChangeLeaseRates(None, 1_000, CONTROLLER))
        here.cluster.unanswered = set()
        await eventually(lambda: LEADER_REPLICAS in here.cluster.of_configs[TOPIC])


async def test_236_11_of_a_topic_that_was_deleted_nothing_is_remembered_and_no_throttle_stays() -> None:
    here = Here()
    async with here.term() as loop:
        await here.ask(NAME, (3, 2), 1_000)
        await eventually(lambda: TOPIC in here.log.replayed().memories)
        here.cluster.partitions.clear()
        here.cluster.denied = {TOPIC}
        await eventually(lambda: "t" not in loop.cluster.topics)
        await eventually(lambda: TOPIC not in here.log.replayed().memories)
    assert not here.named(catalogue.THROTTLE_STAYS)


async def test_236_11_of_a_topic_that_was_deleted_nothing_is_said_however_late_looks_say_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As on a busy machine."""
    monkeypatch.setattr(throttle_leases, "AGAIN_S", 0.01)
    here, tries = Here(), list[Entity]()
    async with here.term(pace=SELDOM) as loop:
        await here.ask(NAME, (3, 2), 1_000)
        await eventually(lambda: TOPIC in here.log.replayed().memories)
        configs = here.cluster.configs

        async def denied(entities: Sequence[Entity]) -> dict[Entity, Mapping[str, str] | KafkaError]:
            tries.extend(entities)
            return await configs(entities)

        here.cluster.configs, here.cluster.denied = denied, {TOPIC}  # type: ignore[method-assign]
        loop.throttle_leases.everything()
        await eventually(lambda: tries.count(TOPIC) > 3)
    assert not here.named(catalogue.THROTTLE_STAYS)
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING]


async def test_236_11_what_a_broker_tells_at_the_begin_of_a_term_does_not_count_as_removed_by_others() -> None:
    cluster, log = MemoryCluster({}, (1,)), MemoryLog()
    await lease(elected(log, cluster).store, 5)
    (stored,) = await elected(log, cluster).store.configs.read([BROKER])
    assert not stored.is_settled, "the broker may lag behind the server that led before"


async def test_fg_4_the_command_for_removed_throttles_of_moves_that_only_wait_has_their_rate_and_never_0(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A rate of 0 would end all leases."""
    monkeypatch.setattr(leased_configs, "SETTLES_S", 0.0)
    here = Here()
    async with here.term(InFlightCaps(per_cluster=1)) as loop:
        await here.ask(OTHER, (3, 1))
        await here.ask(NAME, (3, 2), 1_000)
        await eventually(lambda: here.cluster.of_configs.get(TOPIC))
        assert here.cluster.partitions[NAME].at.is_moving is False
        for _ in range(2):
            here.cluster.of_configs[TOPIC] = {}
            before = len(removed(here))
            loop.throttle_leases.everything()
            await eventually(lambda: len(removed(here)) > before)  # noqa: B023
        assert str(removed(here)[-1][1]).endswith(sets_again(1_000, "t"))
        assert [one.rate for one in loop.throttle_leases.removed] == [1_000]
    assert sets_again(0) == ""
