"""Counts which absent brokers hold replicas, for the diagnosis and the brake of self-healing (KIP-46)."""

from collections.abc import Collection, Generator, Iterator, Mapping

from kafka_reassign_rpc.controller.commands.command import Round, every_partition
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.healing.failed_brokers import LostReplicas
from kafka_reassign_rpc.core.queue import queue_admission
from kafka_reassign_rpc.core.state.partition import HEAL
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

NO_SIZES: Mapping[TopicPartition, int] = {}


def count_lost(work: Round, sizes: Mapping[TopicPartition, int] = NO_SIZES) -> Generator[None, None, LostReplicas]:
    """From now on the brake of this round knows the brokers. `sizes`: of leaders, as far as they are known."""
    losses = LostReplicas(work.view.cluster)
    for name in every_partition(work.view.cluster):
        partition = work.view.get(*name)
        if partition is not None:
            losses.count(partition, queue_admission.find(work.view, name), sizes.get(name))
        yield
    view = work.view
    before, view.gone = view.cluster.soft.gone if view.gone is None else view.gone, losses.brokers
    if before - view.gone and view.cluster.queue.routes[HEAL]:
        queue_admission.lines_of(view).more = True  # the brake may no longer hold waiting repairs
    return losses


def brake_waiting_repairs(work: Round) -> Iterator[None]:
    """If repairs wait, the brake must know of brokers that have come or gone before the next of their moves may start:
    the healer diagnoses nothing while it plans."""
    if work.view.cluster.queue.routes[HEAL] or work.view.queue.appended:
        yield from count_lost(work)


def forget_failures_of_registered(work: Round, joined: Collection[int] = ()) -> None:
    """A broker that is back has not failed, nor has one of `joined`, which may be lost again by now: that is a new
    failure with its own time. The healer may see it too late: it diagnoses nothing while it plans."""
    for broker in sorted(work.view.failures().keys() & (work.view.cluster.brokers.keys() | joined)):
        work.view.forget_failure(broker)
        work.view.report(Event(catalogue.HEAL_OVER, broker=broker, reason="it is back"))
