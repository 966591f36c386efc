"""Topics: creation, growth, deletion, and topics that others write into ZooKeeper."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.failover import fail_over
from kafka_reassign_rpc.core.kafka_errors import (
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopic,
    KafkaError,
    PolicyViolation,
    ReassignmentInProgress,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.leadership.isr_changes import IsrChange, alter_partition
from kafka_reassign_rpc.core.round.round_view import (
    AssignmentWrite,
    PartitionsAdded,
    RoundView,
    TopicCreated,
    TopicDeletionStarted,
)
from kafka_reassign_rpc.core.state.partition import Partition, Topic
from kafka_reassign_rpc.core.topics import topic_changes, topic_deletion
from kafka_reassign_rpc.support.slices import finished
from tests.core import build
from tests.core.build import TOPIC, made, moving, not_moving, view
from tests.tables import for_each

Change = TypeVar("Change")


def create(here: RoundView, name: str = "new", /, **how: object) -> TopicCreated:
    return finished(topic_changes.create_topic(here, name, topic_id=UUID(int=1), start=0, shift=0, **how))  # type: ignore[arg-type]


def grow(here: RoundView, name: str, count: int, *more: Sequence[Sequence[int]] | None, **how: Any) -> PartitionsAdded:
    return finished(topic_changes.create_partitions(here, name, count, *more, **how))


def refusal(kind: type[KafkaError], call: Callable[[], object]) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def test_sv_4_a_new_topic_starts_with_leaders_and_full_isrs() -> None:
    created = create(view(live=(1, 2, 3)), num_partitions=2, replication_factor=2, configs={"a": "b"})
    assert [value.replicas for value in created.partitions.values()] == [(1, 2), (2, 3)]
    assert [(value.leader, value.isr) for value in created.partitions.values()] == [(1, (1, 2)), (2, (2, 3))]
    assert created.configs == {"a": "b"}


@for_each(
    ("asked", "partitions", "replicas"),
    [
        ({}, 3, 2),
        ({"num_partitions": -1, "replication_factor": -1}, 3, 2),
        ({"num_partitions": 1, "replication_factor": -1}, 1, 2),
        ({"num_partitions": -1, "replication_factor": 1}, 3, 1),
        ({"num_partitions": -1, "replication_factor": -1, "assignments": {0: (1,)}}, 1, 1),
    ],
)
def test_sv_4_counts_that_a_request_leaves_open_are_the_defaults(
    asked: dict[str, Any], partitions: int, replicas: int
) -> None:
    """As in Kafka a request that gives no count has -1."""
    created = create(view(), default_partitions=3, default_replication_factor=2, **asked)
    assert len(created.partitions) == partitions
    assert len(created.partitions[0].replicas) == replicas


def test_sv_4_a_manual_assignment_may_name_unknown_brokers() -> None:
    created = create(view(live=(1,)), assignments={0: (9, 1), 1: (9, 8)})
    assert (created.partitions[0].leader, created.partitions[0].isr) == (1, (1,))
    assert created.partitions[1].leader == -1


def test_hm_4_a_manual_assignment_may_not_name_a_server() -> None:
    """Clients see it as a node. It never becomes a broker, so the replica would have to be another one's."""
    here = view(not_moving(1))
    here.cluster.servers = frozenset((1000, 2000, 2))
    for server in (1000, 2000):
        wanted = {0: (1, 2), 1: (1, server)}
        text = refusal(InvalidReplicaAssignment, partial(create, here, assignments=wanted))
        assert text == (
            f"No broker can have the id {server}: a reassignment server has taken it"
            f" (/admin/reassignment_server_ids/{server}), and servers hold no replicas."
        )
        assert refusal(InvalidReplicaAssignment, partial(grow, here, TOPIC, 2, [(server,)])) == text
    assert create(here, assignments={0: (2, 9)}).partitions[0].leader == 2, "broker 2 is registered, and 9 may come"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("a b", "'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
        ("ä", "'ä' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
        ("a\n", "'a\n' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
        ("x" * 250, f"the length of '{'x' * 250}' is longer than the max allowed length 249"),
    ],
)
def test_sv_4_a_name_that_kafka_does_not_allow_is_refused(name: str, reason: str) -> None:
    assert refusal(InvalidTopic, lambda: create(view(), name)) == f"Topic name is invalid: {reason}"


def test_sv_4_names_collide_where_only_dot_and_underscore_differ() -> None:
    here = view()
    here.add(create(here, "a.b_c"))
    text = refusal(InvalidTopic, lambda: create(here, "a_b.c"))
    assert text == "Topic 'a_b.c' collides with existing topics: a.b_c"
    create(here, "a-b.c")


def test_sv_4_an_existing_topic_is_not_created_again() -> None:
    here = view(not_moving(1))
    assert refusal(TopicAlreadyExists, lambda: create(here, TOPIC)) == "Topic 't' already exists."
    here.cluster.topics[TOPIC].deleting = True
    assert refusal(TopicAlreadyExists, lambda: create(here, TOPIC)) == "Topic 't' is marked for deletion."
    here.add(create(here, "u"))
    assert refusal(TopicAlreadyExists, lambda: create(here, "u")) == "Topic 'u' already exists."


@for_each(
    ("how", "kind", "text"),
    [
        (
            {"num_partitions": 1, "assignments": {0: (1,)}},
            InvalidRequest,
            "Both numPartitions or replicationFactor and replicasAssignments were set."
            " Both cannot be used at the same time.",
        ),
        ({"num_partitions": 0}, InvalidPartitions, "Number of partitions must be larger than 0."),
        (
            {"replication_factor": 9},
            InvalidReplicationFactor,
            "Replication factor: 9 larger than available brokers: 6.",
        ),
        (
            {"assignments": {0: (1,), 1: (1, 2)}},
            InvalidReplicaAssignment,
            "All partitions should have the same number of replicas",
        ),
        (
            {"assignments": {0: (1,), 2: (1,)}},
            InvalidReplicaAssignment,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            {"assignments": {0: (1, 1)}},
            InvalidReplicaAssignment,
            "Duplicate replica assignment found: partition 0 has 1, 1",
        ),
        (
            {"assignments": {0: (-1,)}},
            InvalidReplicaAssignment,
            "Invalid broker id in replica assignment: partition 0 has -1",
        ),
        ({"assignments": {0: ()}}, InvalidReplicaAssignment, "The replica lists of the partitions are empty"),
    ],
)
def test_sv_4_an_invalid_topic_is_refused(how: dict[str, object], kind: type[KafkaError], text: str) -> None:
    assert refusal(kind, lambda: create(view(), **how)) == text


def test_sv_4_a_topic_grows_where_its_first_partition_starts() -> None:
    added = grow(view(not_moving(2, 3), live=(1, 2, 3)), TOPIC, 3)
    assert {index: value.replicas for index, value in added.partitions.items()} == {1: (3, 2), 2: (1, 3)}


def test_sv_4_a_topic_grows_by_the_replicas_that_its_first_partition_has_after_a_move_that_ends_in_this_round() -> None:
    here = view(moving((1, 2), (3, 4), isr=(1, 2, 3)), live=(1, 2, 3, 4))
    refusal(ReassignmentInProgress, lambda: grow(here, TOPIC, 2))
    _, ended = alter_partition(here, 1, IsrChange(TOPIC, None, 0, 6, 12, (1, 2, 3, 4)), 2)
    for change in ended:
        here.add(change)
    assert [len(one.replicas) for one in grow(here, TOPIC, 2).partitions.values()] == [2]


def test_sv_4_a_topic_grows_twice_in_one_round() -> None:
    here = view(not_moving(1))
    here.add(grow(here, TOPIC, 2))
    assert sorted(grow(here, TOPIC, 4).partitions) == [1, 2, 3]


@pytest.mark.parametrize(
    ("count", "assignments", "kind", "text"),
    [
        (1, None, InvalidPartitions, "Topic already has 1 partitions."),
        (
            0,
            None,
            InvalidPartitions,
            "Topic currently has 1 partitions, which is higher than the requested 0.",
        ),
        (2, [(9,)], InvalidReplicaAssignment, "Unknown broker(s) in replica assignment: 9."),
        (
            3,
            [(1,)],
            InvalidReplicaAssignment,
            "Increasing the number of partitions by 2 but 1 assignments provided.",
        ),
        (2, [()], InvalidReplicaAssignment, "Cannot have replication factor of 0 for partition id 1."),
        (
            2,
            [(1, 1)],
            InvalidReplicaAssignment,
            "Duplicate brokers not allowed in replica assignment: 1, 1 for partition id 1.",
        ),
        (
            2,
            [(1,)],
            InvalidReplicaAssignment,
            "Inconsistent replication factor between partitions, partition 0 has 2 while partitions [1] have"
            " replication factors [1], respectively.",
        ),
    ],
)
def test_sv_4_an_invalid_growth_is_refused(
    count: int, assignments: list[tuple[int, ...]] | None, kind: type[KafkaError], text: str
) -> None:
    here = view(not_moving(1, 2))
    assert refusal(kind, lambda: grow(here, TOPIC, count, assignments)) == text


def test_455_i05_a_topic_does_not_grow_while_one_of_its_partitions_moves() -> None:
    here = view(not_moving(1, 2), moving((1, 2), (1, 3)))
    text = refusal(ReassignmentInProgress, lambda: grow(here, TOPIC, 3))
    assert text == "A partition reassignment is in progress for the topic 't'."


def test_sv_4_an_unknown_topic_or_one_in_deletion_neither_grows_nor_is_deleted() -> None:
    here = view(not_moving(1))
    unknown = refusal(UnknownTopicOrPartition, lambda: grow(here, "nope", 3))
    assert unknown == "The topic 'nope' does not exist."
    refusal(UnknownTopicOrPartition, lambda: topic_deletion.delete_topic(here, "nope"))
    here.add(topic_deletion.delete_topic(here, TOPIC))
    assert here.topics[TOPIC] == TopicDeletionStarted(TOPIC)
    text = refusal(InvalidTopic, lambda: grow(here, TOPIC, 3))
    assert text == "The topic is queued for deletion."
    refusal(UnknownTopicOrPartition, lambda: topic_deletion.delete_topic(here, TOPIC))


def test_sv_4_a_deletion_waits_for_every_replica_but_not_for_pending_deletions_on_dead_brokers() -> None:
    here = view(replace(not_moving(1, 9, isr=(1,)), pending_deletion=(2, 8)), live=(1, 2)).cluster
    left = set(topic_deletion.replicas_to_delete(here, TOPIC, ()))
    assert left == {(0, 1), (0, 9), (0, 2)}
    assert list(topic_deletion.replicas_to_delete(here, TOPIC, left)) == []
    assert list(topic_deletion.replicas_to_delete(here, "nope", ())) == []
    assert set(topic_deletion.replicas_to_delete(here, TOPIC, (), own_id=9)) == {(0, 1), (0, 2)}


def test_sv_10_only_brokers_that_have_registered_since_a_topic_was_created_may_have_strays_of_it() -> None:
    here = build.cluster(not_moving(1, 2), not_moving(2, 3), live=(1, 2, 3, 4))
    here.topics[TOPIC].created = here.brokers[3].epoch - 1  # 3 and 4 have registered since
    suspected = topic_deletion.suspected_brokers(here, here.topics[TOPIC], {})
    assert set(topic_deletion.possible_strays(here.topics[TOPIC], (), suspected)) == {(0, 3), (0, 4), (1, 4)}
    assert set(topic_deletion.possible_strays(here.topics[TOPIC], {(0, 3), (1, 4)}, suspected)) == {(0, 4)}


def test_sv_10_a_broker_that_was_not_asked_what_it_holds_may_have_replicas_of_a_topic_in_deletion() -> None:
    here = build.cluster(not_moving(1, 2), not_moving(2, 3), live=(1, 2, 3, 4))
    suspected = topic_deletion.suspected_brokers(here, here.topics[TOPIC], {1: [1], 3: [0, 1]})
    assert set(topic_deletion.possible_strays(here.topics[TOPIC], (), suspected)) == {(1, 1), (0, 3)}
    here.topics[TOPIC].created = here.brokers[3].epoch - 1
    suspected = topic_deletion.suspected_brokers(here, here.topics[TOPIC], {3: [1]})
    assert suspected == {3: {0, 1}, 4: {0, 1}}, "it registered since the topic was created"


def test_hm_2_a_topic_in_deletion_has_no_strays_where_another_of_its_name_has_vanished_without_a_mark() -> None:
    here = build.cluster(not_moving(1, 2), live=(1, 2, 3))
    now = here.topics[TOPIC]
    now.created = here.brokers[1].epoch - 1
    gone = Topic(TOPIC, UUID(int=77), dict(now.partitions), created=0)
    here.soft.former.keep(gone, gone.partitions)
    assert topic_deletion.suspected_brokers(here, now, {3: [0]}) == {}
    here.soft.former.keep(Topic(TOPIC, now.id, {}, created=0), gone.partitions)
    assert topic_deletion.suspected_brokers(here, now, {}) == {1: {0}, 2: {0}, 3: {0}}


def test_sv_4_a_partition_that_appears_gets_a_state() -> None:
    (change,) = fail_over(view(Partition((2, 1))), TOPIC, 0, own_id=1000)
    assert made([change]).leader == 2
    assert change.assignment is AssignmentWrite.LATER  # type: ignore[union-attr]


def test_sv_1_a_topic_too_large_for_its_znode_is_refused_at_once() -> None:
    text = refusal(PolicyViolation, lambda: create(view(), num_partitions=2**31 - 1, replication_factor=1))
    assert text == "Topic 'new' cannot get 2147483647 partitions: its znode has room for fewer than 100000."
    grown = refusal(PolicyViolation, lambda: grow(view(not_moving(1)), TOPIC, 2**31 - 1))
    assert grown == "Topic 't' cannot get 2147483646 partitions: its znode has room for fewer than 100000."
    others = refusal(PolicyViolation, lambda: create(view(), num_partitions=4, replication_factor=1, most=3))
    assert others.endswith("with this request, which asks for many others: ask for fewer topics at a time.")
    assert len(create(view(), num_partitions=3, replication_factor=1, most=3).partitions) == 3


def test_sv_1_many_partitions_are_made_in_slices() -> None:
    count = 10
    made_anew = topic_changes.create_topic(
        view(), "new", topic_id=UUID(int=1), start=0, shift=0, num_partitions=count, replication_factor=1
    )
    by_hand = topic_changes.create_topic(
        view(), "new", topic_id=UUID(int=1), start=0, shift=0, assignments=dict.fromkeys(range(count), (1,))
    )
    grown = topic_changes.create_partitions(view(not_moving(1)), TOPIC, count + 1)
    assert [sum(1 for _ in steps) for steps in (made_anew, by_hand, grown)] == [10, 20, 10]
