"""A simulated broker checks a controller's requests as Kafka's ReplicaManager does."""

from typing import Any
from uuid import UUID

import pytest

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.fleet.controller_requests import EPOCH_DURING_DELETE, ControllerRequests, MetadataCache, Steps
from kafka_reassign_rpc.fleet.replica_table import ReplicaTable, SimulatedReplica
from kafka_reassign_rpc.protocol.frame_codec import decode_response, encode_response

from . import messages

T0 = TopicPartition("t", 0)
LED = {"index": 0, "leader": 1, "epoch": 3, "isr": [1, 2], "replicas": [1, 2]}


class Broker:
    """Broker 1 with broker epoch 10; new partitions have 100 bytes from the start."""

    def __init__(self) -> None:
        self.table = ReplicaTable(2)
        self.cache = MetadataCache()
        self.requests = ControllerRequests(1, self.table, self.cache, lambda topic: 100)
        self.requests.broker_epoch = 10
        self.requests.controller_epoch = 1

    def leader_and_isr(self, *partitions: dict[str, Any], version: int = 7, **rest: Any) -> "Done":
        request = messages.leader_and_isr(*partitions, version=version, **rest)
        return Done(self.requests.leader_and_isr(messages.received(request, version), version), version)

    def stop(self, *partitions: tuple[int, int, bool], version: int = 4, **rest: Any) -> "Done":
        request = messages.stop_replica(*partitions, version=version, **rest)
        return Done(self.requests.stop_replica(messages.received(request, version), version), version)

    def update(self, *partitions: dict[str, Any], version: int = 8, **rest: Any) -> "Done":
        request = messages.update_metadata(*partitions, version=version, **rest)
        return Done(self.requests.update_metadata(messages.received(request, version), version), version)


class Done:
    """A request that was applied to its end: all its changes, and the answer as the controller decodes it."""

    def __init__(self, steps: Steps[Any], version: int) -> None:
        self.leaders: list[SimulatedReplica] = []
        self.followers: list[SimulatedReplica] = []
        self.paused: list[TopicPartition] = []
        self.stopped: list[TopicPartition] = []
        self.deleted: list[TopicPartition] = []
        while True:
            try:
                applied = next(steps)
            except StopIteration as end:
                self.response = _over_the_wire(end.value, version)
                return
            self.leaders += applied.leaders
            self.followers += applied.followers
            self.paused += applied.paused
            self.stopped += applied.stopped
            self.deleted += applied.deleted


def _over_the_wire(response: Any, version: int) -> Any:
    frame = encode_response(response, version=version, correlation_id=1)
    return decode_response(type(response), frame[4:], version=version)[1]


def errors(response: Any) -> dict[int, int]:
    return {error.partition_index: error.error_code for topic in response.topics for error in topic.partition_errors}


def stop_errors(response: Any) -> dict[int, int]:
    return {error.partition_index: error.error_code for error in response.partition_errors}


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.mark.parametrize("version", range(5, 8))
def test_455_4_a_leader_and_isr_makes_leaders_and_followers_in_every_version(broker: Broker, version: int) -> None:
    applied = broker.leader_and_isr(
        LED, {"index": 1, "leader": 2, "epoch": 0, "isr": [2], "replicas": [2, 1]}, version=version
    )
    assert errors(applied.response) == {0: 0, 1: 0}
    assert [replica.name for replica in applied.leaders] == [T0]
    assert [replica.name.partition for replica in applied.followers] == [1]
    assert broker.table.online[T0].isr == (1, 2)


@pytest.mark.parametrize(
    ("epoch", "error"), [(2, 11), (3, 11), (4, 0)], ids=["older leader epoch", "same leader epoch", "newer"]
)
def test_455_4_only_a_newer_leader_epoch_is_acted_on(broker: Broker, epoch: int, error: int) -> None:
    broker.leader_and_isr(LED)
    applied = broker.leader_and_isr({**LED, "leader": 2, "epoch": epoch})
    assert errors(applied.response) == {0: error}
    assert broker.table.online[T0].leader == (1 if error else 2)


def test_455_4_one_refused_partition_does_not_keep_others_from_being_applied(broker: Broker) -> None:
    broker.leader_and_isr(LED)
    applied = broker.leader_and_isr(LED, {**LED, "index": 1})
    assert errors(applied.response) == {0: 11, 1: 0}


def test_a_broker_that_is_no_replica_does_not_take_part(broker: Broker) -> None:
    applied = broker.leader_and_isr({**LED, "leader": 2, "isr": [2], "replicas": [2, 3]})
    assert errors(applied.response) == {0: 3}
    assert not broker.table.online
    assert not broker.table.logs


def test_a_log_of_another_topic_of_the_same_name_is_not_taken_up(broker: Broker) -> None:
    broker.leader_and_isr(LED)
    applied = broker.leader_and_isr({**LED, "epoch": 9}, topic_id=UUID(int=8))
    assert errors(applied.response) == {0: 103}


@pytest.mark.parametrize("kind", ["leader_and_isr", "stop", "update"])
@pytest.mark.parametrize(
    ("wrong", "error"), [({"broker_epoch": 9}, 77), ({"controller_epoch": 0}, 11)], ids=["broker", "controller"]
)
def test_sv_3_requests_with_a_stale_epoch_are_refused_as_a_whole(
    broker: Broker, kind: str, wrong: dict[str, int], error: int
) -> None:
    assert getattr(broker, kind)(**wrong).response.error_code == error
    assert not broker.cache.received
    assert not broker.table.online


@pytest.mark.parametrize("epoch", [-1, 10, 11], ids=["not given", "ours", "seen before we knew it"])
def test_broker_epochs_that_are_not_older_are_accepted(broker: Broker, epoch: int) -> None:
    assert broker.update(broker_epoch=epoch).response.error_code == 0


def test_sv_3_a_controller_that_was_overtaken_is_no_longer_obeyed(broker: Broker) -> None:
    assert broker.update(controller_epoch=5).response.error_code == 0
    assert broker.leader_and_isr(LED, controller_epoch=4).response.error_code == 11
    assert broker.leader_and_isr(LED, controller_epoch=5).response.error_code == 0


@pytest.mark.parametrize(
    ("epoch", "error"),
    [(2, 74), (3, 0), (4, 0), (-1, 0), (-2, 0)],
    ids=["older", "same", "newer", "none given", "topic deletion"],
)
def test_455_6_a_stop_is_fenced_by_the_leader_epoch(broker: Broker, epoch: int, error: int) -> None:
    broker.leader_and_isr(LED)
    applied = broker.stop((0, epoch, True))
    assert stop_errors(applied.response) == {0: error}
    assert (T0 in broker.table.online) is bool(error)
    assert (T0 in broker.table.logs) is bool(error)


@pytest.mark.parametrize("version", range(3, 5))
def test_455_4_a_stop_with_delete_removes_the_log_and_one_without_keeps_it(broker: Broker, version: int) -> None:
    broker.leader_and_isr(LED, {**LED, "index": 1})
    kept = broker.stop((0, 3, False), version=version)
    assert (kept.paused, kept.stopped, kept.deleted) == ([T0], [], [])
    assert broker.table.online[T0].leader == 1, "a leader goes on"
    gone = broker.stop((1, 3, True), version=version)
    assert gone.deleted == [TopicPartition("t", 1)]
    assert list(broker.table.logs) == [T0]


def test_a_stop_with_delete_removes_a_log_without_a_replica(broker: Broker) -> None:
    broker.leader_and_isr(LED)
    broker.stop((0, 3, False))
    assert broker.stop((0, 3, True)).deleted == [T0]
    assert not broker.table.logs


def test_members_of_the_first_isr_have_the_first_bytes_and_others_start_empty(broker: Broker) -> None:
    new = {"leader": 2, "epoch": 0, "isr": [2, 1], "replicas": [2, 1]}
    broker.leader_and_isr(
        {**new, "index": 0}, {**new, "index": 1, "isr": [2]}, {**new, "index": 2, "epoch": 1}, {**LED, "index": 3}
    )
    assert [broker.table.logs[TopicPartition("t", index)].size for index in range(4)] == [100, 0, 0, 0]


def test_a_replica_that_comes_back_finds_its_log(broker: Broker) -> None:
    broker.leader_and_isr(LED)
    broker.table.logs[T0].size = 55
    broker.stop((0, 3, False))
    broker.leader_and_isr({**LED, "epoch": 4})
    assert broker.table.online[T0].log.size == 55


@pytest.mark.parametrize("version", range(7, 9))
def test_metadata_is_learnt_and_forgotten_in_every_version(broker: Broker, version: int) -> None:
    brokers = {1: ("a", 1), 1000: ("b", 2)}
    broker.update(LED, {**LED, "index": 1}, brokers=brokers, version=version)
    cache = broker.cache
    assert cache.controller_id == 1000
    assert {broker.id: broker.endpoints["PLAINTEXT"].port for broker in cache.brokers.values()} == {1: 1, 1000: 2}
    assert cache.topics["t"].partitions[0].isr == (1, 2)
    assert cache.topic_name(messages.TOPIC_ID) == "t"
    gone = {**LED, "leader": -2}
    broker.update(gone, brokers={1: ("a", 1)}, version=version)
    assert list(cache.topics["t"].partitions) == [1]
    broker.update({**gone, "index": 1}, brokers={1: ("a", 1)}, version=version)
    assert not cache.topics
    assert cache.topic_name(messages.TOPIC_ID) is None
    assert list(cache.brokers) == [1]


def test_hm_2_a_log_that_was_deleted_is_empty_when_its_partition_comes_back_and_a_new_topics_has_its_first_bytes(
    broker: Broker,
) -> None:
    """As on a stock broker: the bytes that a partition was created with are gone with its log."""
    new = {**LED, "epoch": 0}
    broker.leader_and_isr(new)
    assert broker.table.logs[T0].size == 100
    broker.stop((0, EPOCH_DURING_DELETE, True))
    broker.leader_and_isr(new)
    assert broker.table.logs[T0].size == 0
    broker.stop((0, EPOCH_DURING_DELETE, True))
    broker.leader_and_isr(new, topic_id=UUID(int=99))
    assert broker.table.logs[T0].size == 100
