"""A queued move belongs to the topic that there was, not to the next one of its name."""

from uuid import UUID

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.queue import queue_admission
from kafka_reassign_rpc.core.round.round_view import (
    RoundView,
    TopicCreated,
    TopicDeleted,
    TopicDeletionStarted,
)
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS, InFlightCaps, ReassignmentSettings
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers import topic_writes
from tests.core.build import TOPIC, cluster, moving, not_moving, write
from tests.core.queue.queue_rounds import admitted, complete, durable, queued

BUSY = TopicPartition("busy", 0)
ONE_AT_A_TIME = replace(DEFAULT_SETTINGS, caps=InFlightCaps(per_cluster=1))


def waiting(settings: ReassignmentSettings, *, disabled: bool) -> Cluster:
    """A move of t-0 to brokers 4 and 5 waits, while another partition moves."""
    in_cluster = cluster(not_moving(1, 2, 3))
    topic_writes.put_topic(in_cluster, BUSY.topic, UUID(int=99), {0: moving((1, 2), (1, 5))}, version=1, created=1)
    write(in_cluster, disabled_by_znode=disabled)
    queued(in_cluster, {0: (4, 5)})
    durable(in_cluster, admitted(in_cluster, settings))
    assert len(in_cluster.queue) == 1
    return in_cluster


def changed(in_cluster: Cluster, change: TopicCreated | TopicDeleted | TopicDeletionStarted) -> None:
    view = RoundView(in_cluster)
    view.add(change)
    durable(in_cluster, view)


def recreated(in_cluster: Cluster) -> None:
    changed(in_cluster, TopicDeleted(TOPIC))
    changed(in_cluster, TopicCreated(TOPIC, UUID(int=8), {0: not_moving(1, 2, 3)}, {}))


CASES = pytest.mark.parametrize(("settings", "disabled"), [(ONE_AT_A_TIME, False), (DEFAULT_SETTINGS, True)])


@CASES
def test_236_7_a_move_of_a_topic_in_deletion_leaves_whatever_keeps_others_waiting(
    settings: ReassignmentSettings, disabled: bool
) -> None:
    in_cluster = waiting(settings, disabled=disabled)
    changed(in_cluster, TopicDeletionStarted(TOPIC))
    assert in_cluster.queue.waiting.more, "the next round decides about it"
    view = admitted(in_cluster, settings)
    reports = [note for note in view.notes if isinstance(note, Event) and note.event == catalogue.ENTRY_REFUSED]
    assert [(one.topic, one.partition, one.reason) for one in reports] == [(TOPIC, 0, queue_admission.TOPIC_DELETED)]
    durable(in_cluster, view)
    assert len(in_cluster.queue) == 0


@CASES
def test_236_7_a_move_of_a_deleted_topic_never_gets_to_the_next_topic_of_its_name(
    settings: ReassignmentSettings, disabled: bool
) -> None:
    """Also where nothing was decided about the queue until that topic existed."""
    in_cluster = waiting(settings, disabled=disabled)
    recreated(in_cluster)
    write(in_cluster, disabled_by_znode=False)
    complete(in_cluster, BUSY)
    durable(in_cluster, admitted(in_cluster, settings))
    partition = in_cluster.get(TOPIC, 0)
    assert partition is not None
    assert (partition.replicas, partition.is_moving, len(in_cluster.queue)) == ((1, 2, 3), False, 0)


def test_236_7_a_move_that_is_queued_for_the_next_topic_of_a_name_starts() -> None:
    in_cluster = waiting(ONE_AT_A_TIME, disabled=False)
    recreated(in_cluster)
    queued(in_cluster, {0: (5, 6)}, path="/admin/reassign_partitions_queue/moves_0000000001")
    complete(in_cluster, BUSY)
    for _ in range(2):
        durable(in_cluster, admitted(in_cluster, ONE_AT_A_TIME))
    partition = in_cluster.get(TOPIC, 0)
    assert partition is not None
    assert partition.target == (5, 6)


def test_236_7_a_new_controller_drops_the_moves_of_topics_in_deletion() -> None:
    in_cluster = waiting(DEFAULT_SETTINGS, disabled=True)
    in_cluster.topics[TOPIC].deleting = True  # as it has read it
    durable(in_cluster, admitted(in_cluster))
    assert len(in_cluster.queue) == 0
