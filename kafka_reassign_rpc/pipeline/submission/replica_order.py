"""The order of replicas, which a move with a first leader changes while it lasts."""

from collections.abc import Mapping

import msgspec

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanBatch, PlanEntry

Entries = Mapping[TopicPartition, PlanEntry]


def first_led(entries: Entries) -> dict[TopicPartition, PlanEntry]:
    return {name: entry for name, entry in entries.items() if entry.reordered != entry.expected_replicas}


def order_before(entries: Entries) -> PlanBatch:
    """A file for kafka-reassign --execute after a cancel: it expects the reordered replicas."""
    return PlanBatch(
        [
            msgspec.structs.replace(
                entry, replicas=entry.expected_replicas, expected_replicas=entry.reordered, first_leader=-1
            )
            for _, entry in sorted(first_led(entries).items())
        ]
    )
