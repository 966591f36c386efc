"""librdkafka, by confluent-kafka: metadata, topics, configs, elections."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from tests.interop.clusters import ComparedCluster
from tests.interop.comparing import Difference
from tests.stock.live import Transcript

from .comparison import the_same_on_both
from .conftest import Clusters

pytestmark = [pytest.mark.stock, pytest.mark.more, pytest.mark.asyncio(loop_scope="package")]


async def test_sv_2_librdkafka(clusters: Clusters) -> None:
    node = "our server stands in Metadata as node 1000"
    await the_same_on_both(
        _in_a_thread,
        clusters,
        "librdkafka",
        Difference("", "brokers", "", [1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 1000], node),
        Difference("", "cluster", "", [1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 1000], node),
    )


async def _in_a_thread(bootstrap: str, topic: str, _: ComparedCluster) -> Transcript:
    return await asyncio.to_thread(_drive, bootstrap, topic)


def _drive(bootstrap: str, topic: str) -> Transcript:
    notes: Transcript = []
    client = AdminClient({"bootstrap.servers": bootstrap})

    def note(label: str, future: Any, show: Callable[[Any], Any] = lambda _: "done") -> None:
        try:
            notes.append((label, show(future.result(30))))
        except KafkaException as error:
            notes.append((label, [error.args[0].name(), error.args[0].str()]))

    def partitions() -> Any:
        found = client.list_topics(topic, timeout=20).topics[topic]
        return {i: [p.leader, p.replicas, sorted(p.isrs)] for i, p in sorted(found.partitions.items())}

    new = NewTopic(topic, num_partitions=2, replica_assignment=[[1, 2], [2, 3]], config={"retention.ms": "86400000"})
    note("validate", client.create_topics([new], validate_only=True)[topic])
    note("create", client.create_topics([new])[topic])
    note("create again", client.create_topics([new])[topic])
    notes.append(("brokers", sorted(client.list_topics(timeout=20).brokers)))
    notes.append(("topic", _until(partitions, 2)))
    note("cluster", client.describe_cluster(), lambda found: sorted(node.id for node in found.nodes))
    resource = ConfigResource(ResourceType.TOPIC, topic)
    note("configs", client.describe_configs([resource])[resource], _own)
    change = ConfigEntry("retention.ms", "3600000", incremental_operation=AlterConfigOpType.SET)
    changed = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
    note("alter configs", client.incremental_alter_configs([changed])[changed])
    note("grow", client.create_partitions([NewPartitions(topic, 3, [[3, 4]])])[topic])
    notes.append(("grown", _until(partitions, 3)))
    note("grow too little", client.create_partitions([NewPartitions(topic, 1)])[topic])
    elected = client.elect_leaders(ElectionType.PREFERRED, [TopicPartition(topic, 0)])
    note("elect", elected, lambda found: [[p.partition, error and error.name()] for p, error in found.items()])
    note("delete", client.delete_topics([topic])[topic])
    note("delete what never was", client.delete_topics(["never-was"])["never-was"])
    return notes


def _until(look: Callable[[], Any], partitions: int) -> Any:
    """Wait until that many partitions have leaders: librdkafka's metadata cache lags a moment."""
    deadline = time.monotonic() + 60
    while len(found := look()) < partitions or any(leader < 0 for leader, *_ in found.values()):
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    return found


def _own(configs: Any) -> Any:
    """The configs that are set on the topic itself."""
    return sorted([name, entry.value] for name, entry in configs.items() if not entry.is_default)
