"""Self-healing (KIP-46): lost brokers, their repairs, and the switch. For the loop of kafka-python's network thread."""

from dataclasses import dataclass

from kafka_reassign_rpc.client.client_errors import raise_for
from kafka_reassign_rpc.client.cluster_calls import set_cluster_config
from kafka_reassign_rpc.client.reassignment_calls import require
from kafka_reassign_rpc.client.request_routing import Link, always
from kafka_reassign_rpc.core.healing.lost_brokers import PAUSED
from kafka_reassign_rpc.core.state.cluster import TopicPartition
from kafka_reassign_rpc.protocol.messages import (
    DescribeSelfHealingRequest,
    HealBrokerRequest,
)

NO_HEALING = (
    "The controller does not heal clusters (KIP-46): that needs a kafka-reassign-rpc server. Nothing was changed."
)


@dataclass(frozen=True)
class FailedBroker:
    """A broker that is gone while it holds replicas.

    since     when it was first missed, ms since 1970 began (UTC)
    heal_at   when its replicas are moved elsewhere; None: never
    replicas  how many it holds that no move takes away from it yet
    """

    broker: int
    since: int
    heal_at: int | None
    replicas: int


@dataclass(frozen=True)
class HealingStatus:
    """What becomes of lost brokers.

    interval_ms      how long a broker has to be gone to be healed; None: none ever is
    held_back        why brokers whose time has come are not healed, or None
    waiting, moving  moves of repairs
    problems         configs that make no sense and count for nothing, racks that are not known, what cannot be repaired
    """

    interval_ms: int | None
    paused: bool
    held_back: str | None
    failed: tuple[FailedBroker, ...]
    waiting: int
    moving: int
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class RepairMove:
    """Where a partition goes."""

    partition: TopicPartition
    replicas: tuple[int, ...]
    target: tuple[int, ...]


@dataclass(frozen=True)
class Repair:
    """The repair of a broker: its moves, the partitions that cannot be repaired with the reason, bytes to be copied
    (None where not known)."""

    moves: tuple[RepairMove, ...]
    left_out: dict[TopicPartition, str]
    bytes: int | None


async def healing_status(link: Link) -> HealingStatus:
    await require(link, DescribeSelfHealingRequest, NO_HEALING)
    answer = await link.ask_controller(always(DescribeSelfHealingRequest()), DescribeSelfHealingRequest)
    raise_for(answer.error_code, answer.error_message)
    return HealingStatus(
        interval_ms=_or_none(answer.interval_ms),
        paused=answer.paused,
        held_back=answer.held_back,
        failed=tuple(
            FailedBroker(one.broker_id, one.since, _or_none(one.heal_at), one.replicas) for one in answer.failed_brokers
        ),
        waiting=answer.waiting_moves,
        moving=answer.moving_moves,
        problems=tuple(answer.problems),
    )


async def heal_broker(link: Link, broker: int, dry_run: bool) -> Repair:
    await require(link, HealBrokerRequest, NO_HEALING)
    request = always(HealBrokerRequest(broker_id=broker, dry_run=dry_run))
    answer = await link.ask_controller(request, HealBrokerRequest, changes=not dry_run)
    raise_for(answer.error_code, answer.error_message)
    return Repair(
        moves=tuple(
            RepairMove(TopicPartition(topic.name, one.partition_index), tuple(one.replicas), tuple(one.target))
            for topic in answer.topics
            for one in topic.partitions
        ),
        left_out={TopicPartition(one.topic, one.partition_index): one.reason for one in answer.left_out},
        bytes=_or_none(answer.bytes_to_copy),
    )


async def set_paused(link: Link, paused: bool) -> None:
    await require(link, DescribeSelfHealingRequest, NO_HEALING)
    await set_cluster_config(link, PAUSED, "true" if paused else None)


def _or_none(value: int) -> int | None:
    return None if value < 0 else value
