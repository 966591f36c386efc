"""The client against a kafka-reassign-rpc server: identities, descriptions, disabled moves, throttles, progress."""

import asyncio
import time

import pytest
from kafka import KafkaAdminClient
from kafka import TopicPartition as KafkaTopicPartition
from kafka.protocol.admin import AlterPartitionReassignmentsResponse
from kafka.protocol.api_header import ResponseClassRegistry

from kafka_reassign_rpc.client import (
    NO_THROTTLE,
    QUEUE,
    AsyncReassignmentClient,
    KafkaError,
    LogDirProgressTracker,
    MoveTerms,
    Reassignment,
    ReassignmentClient,
    Replica,
    TopicPartition,
    Unreachable,
    throttle_configs,
)
from kafka_reassign_rpc.client.move_progress import brokers_to_ask
from kafka_reassign_rpc.core.kafka_errors import (
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    NoReassignmentInProgress,
    PolicyViolation,
)
from kafka_reassign_rpc.core.kafka_errors import UnknownTopicOrPartition as Unknown
from kafka_reassign_rpc.core.status.documents import Move
from tests.waiting import eventually

TOPIC = "orders"
RATE = 100_000


def replicas(client: ReassignmentClient, index: int) -> tuple[int, ...]:
    """The replicas of a partition, as soon as the broker that answers knows that the last move was cancelled."""
    deadline = time.monotonic() + 60
    while True:
        topic = client.describe_topics([TOPIC])[TOPIC]
        assert not isinstance(topic, KafkaError)
        if len(topic[index].replicas) == 3:
            return topic[index].replicas
        assert time.monotonic() < deadline


def other_brokers(current: tuple[int, ...]) -> list[int]:
    return [broker for broker in range(1, 7) if broker not in current]


def start_slowly(client: ReassignmentClient, *indexes: int) -> dict[TopicPartition, list[int]]:
    """Start throttled moves that do not end during a test."""
    current = {TopicPartition(TOPIC, index): replicas(client, index) for index in indexes}
    targets = {partition: other_brokers(found) for partition, found in current.items()}
    assert not any(client.throttle_moves(throttle_configs.all_moves({}, targets, current), RATE).values())
    assert not any(client.alter_partition_reassignments(targets).values())
    return targets


def shown_throttles(client: ReassignmentClient) -> set[int]:
    """The throttles in the descriptions of all moves."""
    found = client.describe_reassignments().values()
    return {rate for one in found if one for rate in (one.leader_throttle, *one.new_assigned_throttles.values())}


async def test_240_5_moves_have_identities_and_descriptions(client: ReassignmentClient) -> None:
    before = time.time() * 1000
    targets = start_slowly(client, 0, 1)
    listed = client.list_reassignments()
    assert {one.topic_partition for one in listed} == set(targets)
    described = client.describe_reassignments(listed)
    assert list(described) == listed
    for one, description in described.items():
        assert description is not None
        assert description.reassignment is one
        assert list(description.new_assigned_brokers) == targets[one.topic_partition]
        assert description.current_leader not in targets[one.topic_partition]
        assert before - 60_000 < description.start_time < time.time() * 1000 + 60_000
    await eventually(lambda: shown_throttles(client) == {RATE})


async def test_240_6_a_server_tells_how_far_moves_are(client: ReassignmentClient) -> None:
    targets = start_slowly(client, 0)

    def copying() -> Move | None:
        """The remaining time may be known first, from moves before on the same brokers; the rate takes two samples."""
        [found] = client.moves_in_flight([(TOPIC, 0), ("nope", 1)])
        return found if found.rate and found.remaining_ms is not None else None

    found = await eventually(copying, within=40)
    target = targets[TopicPartition(TOPIC, 0)]
    assert found.bytes_total == 50_000_000 * len(target)
    assert set(found.copied) == set(target)
    assert found.stalled is None
    assert client.moves_in_flight([(TOPIC, 1)]) == []
    assert [one.topic for one in client.moves_in_flight([("nope", one) for one in range(1000)] + [(TOPIC, 0)])] == [
        TOPIC
    ]


async def test_236_11_a_move_from_the_queue_has_the_lease_and_the_reason_that_it_was_sent_with(
    bootstrap: str, client: ReassignmentClient
) -> None:
    terms = MoveTerms(tuple(other_brokers(replicas(client, 0))), QUEUE, "a new disk", RATE)
    async with AsyncReassignmentClient(bootstrap_servers=bootstrap) as asynchronous:
        answer = await asynchronous.alter_partition_reassignments({(TOPIC, 0): terms})
    assert answer == {TopicPartition(TOPIC, 0): None}
    await eventually(lambda: shown_throttles(client) == {RATE})
    [told] = client.moves_in_flight()
    [listed] = client.list_partition_reassignments().values()
    for one in (told, listed):
        assert (one.route, one.reason) == ("queue", "a new disk")


def test_240_5_moves_recorded_at_once_may_share_an_id_and_are_still_distinguished(
    client: ReassignmentClient,
) -> None:
    targets = start_slowly(client, *range(6))
    described = client.describe_reassignments()
    found = {one.topic_partition: list(move.new_assigned_brokers) for one, move in described.items() if move}
    assert found == targets


def test_240_5_a_move_that_is_over_has_no_description_and_a_new_one_is_another(client: ReassignmentClient) -> None:
    targets = start_slowly(client, 0)
    [first] = client.list_reassignments([(TOPIC, 0)])
    client.cancel_partition_reassignments([(TOPIC, 0)])
    assert client.describe_reassignments([first]) == {first: None}
    assert client.list_reassignments([(TOPIC, 0)]) == []
    assert client.alter_partition_reassignments(targets) == dict.fromkeys(targets)
    [second] = client.list_reassignments([KafkaTopicPartition(TOPIC, 0)])
    assert second != first
    assert second.topic_partition == first.topic_partition
    assert client.describe_reassignments([first]) == {first: None}


def test_240_5_listing_a_partition_that_does_not_exist_is_an_error(client: ReassignmentClient) -> None:
    with pytest.raises(Unknown, match="nope-0"):
        client.list_reassignments([("nope", 0), (TOPIC, 0)])


def test_240_5_the_same_calls_await_on_asyncio(bootstrap: str, client: ReassignmentClient) -> None:
    targets = start_slowly(client, 0, 2)

    async def ask() -> None:
        async with AsyncReassignmentClient(bootstrap_servers=bootstrap) as asynchronous:
            listed, described, moving, nodes = await asyncio.gather(
                asynchronous.list_reassignments(),
                asynchronous.describe_reassignments(),
                asynchronous.list_partition_reassignments(),
                asynchronous.describe_cluster(),
            )
            assert {one.topic_partition for one in listed} == set(targets) == set(moving)
            assert set(described) == set(listed)
            assert {node.id for node in nodes} >= {1, 2, 3, 4, 5, 6}
            with pytest.raises(Unknown):
                await asynchronous.list_reassignments([("nope", 0)])
            assert await asynchronous.cancel_partition_reassignments(targets) == dict.fromkeys(targets)
        with pytest.raises(RuntimeError):
            await asynchronous.list_reassignments()

    asyncio.run(ask())
    assert client.list_partition_reassignments() == {}


def test_860_5_a_partition_that_is_not_as_expected_is_refused_and_the_others_start(client: ReassignmentClient) -> None:
    first, second = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
    current = {first: replicas(client, 0), second: replicas(client, 1)}
    expected = {first: tuple(current[first]), second: tuple(current[second][::-1])}
    results = client.alter_partition_reassignments(
        {name: MoveTerms((*found[1:], found[0]), expected=expected[name]) for name, found in current.items()}
    )
    assert results[first] is None
    assert isinstance(results[second], InvalidReplicaAssignment)
    assert f"found {list(current[second])}" in str(results[second])
    assert replicas(client, 1) == current[second]


def test_860_3_a_change_of_the_replication_factor_is_refused_where_it_is_forbidden(client: ReassignmentClient) -> None:
    current = replicas(client, 0)
    results = client.alter_partition_reassignments({(TOPIC, 0): current[:2]}, allow_replication_factor_change=False)
    assert isinstance(results[TopicPartition(TOPIC, 0)], InvalidReplicationFactor)
    assert replicas(client, 0) == current


def test_236_1_a_cancel_of_what_does_not_move_is_an_error_of_that_partition(client: ReassignmentClient) -> None:
    results = client.cancel_partition_reassignments([(TOPIC, 0), ("nope", 3)])
    assert isinstance(results[TopicPartition(TOPIC, 0)], NoReassignmentInProgress)
    assert results[TopicPartition("nope", 3)] is not None
    assert client.alter_partition_reassignments({}) == {}


def test_240_6_progress_in_bytes_comes_from_the_log_dirs_of_the_brokers_concerned(
    client: ReassignmentClient,
) -> None:
    start_slowly(client, 0)
    tracker = LogDirProgressTracker()
    moving = client.list_partition_reassignments()
    snapshot = tracker.update(time.monotonic(), moving, client.describe_log_dirs(brokers_to_ask(moving)))
    [progress] = snapshot.moves.values()
    assert progress.total == 150_000_000
    deadline = time.monotonic() + 60
    while not progress.remaining_seconds:  # each new replica has begun by then
        assert time.monotonic() < deadline
        snapshot = tracker.update(time.monotonic(), moving, client.describe_log_dirs(brokers_to_ask(moving)))
        [progress] = snapshot.moves.values()
    assert progress.rate
    assert snapshot.unknown_brokers == {}


def test_240_6_a_broker_that_cannot_be_asked_is_named(client: ReassignmentClient) -> None:
    [found] = client.describe_log_dirs({77: [(TOPIC, 0)]})
    assert (found.broker, found.error) == (77, "Broker 77 is not available.")


def test_236_6_new_moves_are_switched_off_and_on(bootstrap: str, client: ReassignmentClient) -> None:
    assert client.why_disabled() is None
    reason = client.disable()
    try:
        assert reason is not None
        assert reason.startswith("No reassignment may be started: partition.reassignments.enabled=false is set")
        [refused] = client.alter_partition_reassignments({(TOPIC, 0): [1, 2, 3]}).values()
        assert isinstance(refused, PolicyViolation)
        assert client.why_disabled() == refused.message == reason
    finally:
        assert client.enable() is None

    async def ask() -> None:
        async with AsyncReassignmentClient(bootstrap_servers=bootstrap) as asynchronous:
            assert await asynchronous.can_queue()
            assert await asynchronous.disable() == reason
            assert await asynchronous.why_disabled() == reason
            assert await asynchronous.enable() is None

    asyncio.run(ask())


async def test_236_11_throttles_are_set_on_topics_and_on_brokers_and_are_taken_away(client: ReassignmentClient) -> None:
    start_slowly(client, 3)
    found = client.change_configs(throttle_configs.no_topic_throttles([TOPIC, "nope"]))
    assert found[2, TOPIC] is None
    assert isinstance(found[2, "nope"], Unknown)
    # The controller learns of configs a moment after they are stored.
    await eventually(lambda: shown_throttles(client) == {NO_THROTTLE})


def test_236_11_what_cannot_be_set_on_one_broker_does_not_keep_the_rest(client: ReassignmentClient) -> None:
    found = client.change_configs(throttle_configs.rates([77, 1], 5000))
    assert isinstance(found[4, "77"], Unreachable)
    assert found[4, "1"] is None


def test_236_12_replicas_are_moved_between_log_dirs(client: ReassignmentClient) -> None:
    found = client.alter_replica_log_dirs({Replica(1, TOPIC, 0): "/nowhere", Replica(77, TOPIC, 0): "/nowhere"})
    assert all(error is not None for error in found.values())
    assert str(Replica(1, TOPIC, 0)) == "orders-0-1"


def test_240_5_kafka_pythons_own_client_works_next_to_ours(bootstrap: str, client: ReassignmentClient) -> None:
    start_slowly(client, 0)
    registered = ResponseClassRegistry._response_class_registry
    # The class itself, or its class for one version: kafka-python registers whichever was used last.
    assert AlterPartitionReassignmentsResponse in registered[45].__mro__
    assert not {32240, 32241, 32251, 32252} & registered.keys()
    stock = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        assert list(stock.list_partition_reassignments()) == [(TOPIC, 0)]
    finally:
        stock.close()


def test_240_5_identity_is_the_id_and_the_partition() -> None:
    one = Reassignment(TopicPartition("a", 0), 7)
    assert one == Reassignment(TopicPartition("a", 0), 7)
    assert hash(one) == hash(Reassignment(TopicPartition("a", 0), 7))
    assert one != Reassignment(TopicPartition("a", 0), 8)
    assert one != Reassignment(TopicPartition("a", 1), 7)
    assert one != 7
    assert repr(one) == "Reassignment(a-0, id=7)"
