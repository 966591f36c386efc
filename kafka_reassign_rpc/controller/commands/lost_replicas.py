"""Which absent brokers hold replicas: the diagnosis wants to know it, and the brake of self-healing (KIP-46)."""

from collections.abc import Generator, Iterator, Mapping

from kafka_reassign_rpc.controller.commands.command import SLICE, Round, every_partition
from kafka_reassign_rpc.core.healing.failed_brokers import LostReplicas
from kafka_reassign_rpc.core.state.cluster import HEAL
from kafka_reassign_rpc.core.znode_routes import queue_admission
from kafka_reassign_rpc.support.slices import in_slices


def count_lost(work: Round) -> Generator[None, None, Mapping[int, int]]:
    """Returns the lost replicas by absent broker. From now on the brake of this round knows them."""
    losses = LostReplicas(work.view.cluster)
    for name, pause in in_slices(every_partition(work.view.cluster), SLICE):
        partition = work.view.get(*name)
        if partition is not None:
            losses.count(partition, queue_admission.find(work.view, name))
        if pause:
            yield
    view = work.view
    before, view.gone = view.cluster.soft.gone if view.gone is None else view.gone, frozenset(losses.replicas)
    if before - view.gone and view.cluster.queue.routes[HEAL]:
        queue_admission.lines_of(view).more = True  # the brake may hold waiting repairs no longer
    return losses.replicas


def brake_waiting_repairs(work: Round) -> Iterator[None]:
    """Brokers have come or gone: where repairs wait, the brake must know it before the next of their moves may start.

    The healer's next diagnosis may be late: it makes none while it plans.
    """
    if work.view.cluster.queue.routes[HEAL] or work.view.queue.appended:
        yield from count_lost(work)
