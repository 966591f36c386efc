"""What self-healing answers operators: its status, a repair, a refusal; and what repairs of lost brokers and of failed
log dirs would cost, by the sizes that brokers last reported of their replicas. The replicas are counted where their
bytes are added (`LostReplicas`), so that both are of one moment. Pure.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace

from kafka_reassign_rpc.controller.commands.repair_commands import FailedBrokersReport
from kafka_reassign_rpc.core import restrictions
from kafka_reassign_rpc.core.brokers.cordon import cordoned
from kafka_reassign_rpc.core.healing.failed_brokers import names_lost, promised_times
from kafka_reassign_rpc.core.healing.repair_targets import NO_COST, Copy, CostSum, Rate, RepairCost, rates_of
from kafka_reassign_rpc.core.healing.self_healing_status import (
    ENABLE,
    FailedBroker,
    HealingStatus,
    Left,
    LogDirFailure,
    Repair,
    RepairMove,
    awaited_text,
    impossible_texts,
    with_fates,
)
from kafka_reassign_rpc.core.kafka_errors import KafkaError, PolicyViolation
from kafka_reassign_rpc.core.settings.healing_settings import NO_APPROVAL, HealingThrottle
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.planner.plan_result import LeftOut, PlannedMove
from kafka_reassign_rpc.support.typed_commands import command

ASK_EVERY_S = 60.0
"""How often brokers are asked for the sizes of all their replicas while a broker is lost."""

Sizes = Mapping[TopicPartition, int]
"""Bytes of the leaders' replicas."""


def of_lost(cluster: Cluster, sizes: Sizes, found: dict[TopicPartition, int]) -> Iterator[None]:
    """Fills `found` with the sizes of partitions that repairs may concern: all others would only take room."""
    for topic in list(cluster.topics.values()):
        for index in list(topic.partitions):
            yield
            partition, place = cluster.get(topic.name, index), cluster.queue.place(topic.name, index)
            name = TopicPartition(topic.name, index)
            queued = None if place is None else place.move
            if partition is not None and name in sizes and names_lost(cluster.brokers, partition, queued):
                found[name] = sizes[name]


def costs_of(
    cluster: Cluster, sums: Mapping[int, CostSum], throttle: HealingThrottle, fastest: int
) -> dict[int, RepairCost]:
    others, rate = cluster.brokers.keys() - cordoned(cluster), rates_of(cluster, throttle, fastest)
    costs = {broker: found.cost(others, rate) for broker, found in sums.items()}
    return {broker: cost for broker, cost in costs.items() if cost.bytes is not None}


def add_planned(found: CostSum, move: PlannedMove, sizes: Sizes) -> None:
    receivers = [broker for broker in move.target if broker not in move.original]
    if receivers:
        found.add(Copy(move.sender, sizes.get(TopicPartition(move.topic, move.partition)), receivers))


def status_of(
    cluster: Cluster, found: FailedBrokersReport, costs: Mapping[int, RepairCost], problems: Sequence[str], left: Left
) -> HealingStatus:
    """`left`: the partitions that repairs could not move."""
    settings, disabled = found.settings, restrictions.why_disabled(cluster)
    heal_at = promised_times(found.diagnosis, settings, disabled)
    brokers = [
        FailedBroker(broker, since, heal_at.get(broker), found.lost.get(broker, 0), costs.get(broker))
        for broker in sorted(cluster.failed)
        if (since := cluster.failed[broker]) is not None
    ]
    status = HealingStatus(
        None if settings.interval_ms < 0 else settings.interval_ms,
        settings.paused,
        found.diagnosis.held_back,
        brokers,
        found.waiting,
        found.moving,
        problems=[*problems, *impossible_texts(left)],
        repairs=[replace(one, cost=costs.get(one.broker) if one.waiting else NO_COST) for one in found.repairs],
        approval=settings.approval != NO_APPROVAL,
        unapproved=found.unapproved,
        log_dirs=[
            LogDirFailure(broker, one.paths, one.since, heal_at.get(broker), found.lost.get(broker), costs.get(broker))
            for broker, one in sorted(cluster.live_with_failed_log_dirs.items())
        ],
        gone=[replace(one, cost=costs.get(one.broker)) for one in found.gone],
    )
    enable = None if disabled is None else "" if restrictions.is_only_refused(cluster) else ENABLE
    return with_fates(status, enable, left)


def nothing_left(broker: int, found: FailedBrokersReport) -> str:
    nothing = f"There is nothing to heal of broker {broker}"
    if any(one.broker == broker and one.unapproved for one in found.repairs):
        approve = command("kafka-reassign heal", "--approve", "--brokers", broker)
        return f"{nothing}: its repair waits for approval: {approve}"
    if awaited := next((one.awaited for one in found.gone if one.broker == broker and not one.repaired), 0):
        return f"{nothing}: it holds no replicas. {awaited_text(awaited)}."
    return f"{nothing}: it holds no replicas, or its repair or moves in flight take all of them away."


def nothing_is_healed(held_back: str) -> KafkaError:
    return PolicyViolation(f"Nothing is healed: {held_back}.")


def shown(
    moves: Sequence[PlannedMove], left_out: Sequence[LeftOut], sizes: Sizes, rate: Rate
) -> Generator[None, None, Repair]:
    found: list[RepairMove] = []
    reasons: dict[TopicPartition, str] = {}
    copied = CostSum()
    for move in moves:
        found.append(RepairMove(TopicPartition(move.topic, move.partition), move.original, move.target))
        add_planned(copied, move, sizes)
        yield
    for one in left_out:
        reasons[TopicPartition(one.topic, one.partition)] = one.reason
        yield
    cost = copied.cost((), rate)
    return Repair(found, reasons, cost.bytes, cost.copy_ms)
