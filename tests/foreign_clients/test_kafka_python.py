"""kafka-python's admin client and its command line."""

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import KafkaError

from tests.interop.clusters import THROTTLED_REPLICAS, ComparedCluster
from tests.interop.comparing import ABSENT, Difference
from tests.stock.live import Transcript

from .comparison import the_same_on_both
from .conftest import Clusters

pytestmark = [pytest.mark.stock, pytest.mark.more, pytest.mark.asyncio(loop_scope="package")]

NODE = "our server stands in Metadata as node 1000"


async def test_sv_2_kafka_pythons_admin_client(clusters: Clusters) -> None:
    await the_same_on_both(
        _admin_client,
        clusters,
        "kafka-python",
        Difference("", "cluster", "brokers", [1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 1000], NODE),
        Difference("", "cluster", "controller is a broker", True, False, NODE),
    )


async def _admin_client(bootstrap: str, topic: str, cluster: ComparedCluster) -> Transcript:
    notes: Transcript = []
    await cluster.prepare_data(topic)
    client = await asyncio.to_thread(KafkaAdminClient, bootstrap_servers=bootstrap, client_id="kafka-python-test")

    async def call(
        label: str, method: str, *args: Any, show: Callable[[Any], Any] = lambda found: found, **kw: Any
    ) -> None:
        try:
            notes.append((label, show(await asyncio.to_thread(getattr(client, method), *args, **kw))))
        except KafkaError as error:
            notes.append((label, type(error).__name__))

    def moves(found: Any) -> Any:
        return {f"{tp.topic}-{tp.partition}": value for tp, value in found.items()}

    def accepted(found: Any) -> Any:
        return {f"{tp.topic}-{tp.partition}": error and error.__name__ for tp, error in found.items()}

    def described(found: Any) -> Any:
        (shown,) = found
        return [[p["partition_index"], p["leader_id"], p["replica_nodes"]] for p in shown["partitions"]]

    def no_error(_: Any) -> bool:
        return True

    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    try:
        spec = {topic: {"assignments": {0: [1, 2], 1: [2, 3]}, "configs": {"retention.ms": "86400000"}}}
        await call("create", "create_topics", spec, show=no_error, wait_for_metadata=True)
        await call("create again", "create_topics", spec, show=no_error)
        await cluster.configure(2, topic, {THROTTLED_REPLICAS: "0:3,0:4,0:5"})
        await cluster.write_data(topic, [0, 1])
        await call("topics", "list_topics", show=lambda found: topic in found)
        await call("describe", "describe_topics", [topic], show=described)
        await call("cluster", "describe_cluster", show=_cluster)
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs=None)
        await call("configs", "describe_configs", [resource], show=lambda found: sorted(_values(found, topic).items()))
        changed = ConfigResource(ConfigResourceType.TOPIC, topic, configs={"retention.ms": "3600000"})
        await call("alter configs", "alter_configs", [changed], show=no_error)
        await call("grow", "create_partitions", {topic: {"count": 3, "assignments": [[4, 5]]}}, show=no_error)
        await call("start", "alter_partition_reassignments", {first: [3, 4]}, show=accepted)
        await call("list", "list_partition_reassignments", show=moves)
        await call("list one", "list_partition_reassignments", [second], show=moves)
        mixed = {first: [3, 5], second: [99], TopicPartition("nope", 0): [1]}
        await call("mixed", "alter_partition_reassignments", mixed, show=accepted)
        await call("grow in flight", "create_partitions", {topic: {"count": 4, "assignments": [[4, 5]]}}, show=no_error)
        await call("cancel", "alter_partition_reassignments", {first: None}, show=accepted)
        await call("cancel again", "alter_partition_reassignments", {first: None}, show=accepted)
        await call("nothing is left", "list_partition_reassignments", show=moves)
        await call("elect", "elect_leaders", 0, [first], raise_errors=False, show=no_error)
        await call("delete", "delete_topics", [topic], show=no_error)
        await call("delete again", "delete_topics", ["never-was"], show=no_error)
    finally:
        await asyncio.to_thread(client.close)
    return notes


def _cluster(found: Any) -> Any:
    brokers = sorted(broker["broker_id"] for broker in found["brokers"])
    return {"brokers": brokers, "controller is a broker": found["controller_id"] in (1, 2, 3, 4, 5)}


def _values(found: Any, topic: str) -> dict[str, Any]:
    ((_, by_name),) = found.items()
    return {key: config["value"] for key, config in by_name[topic].items()}


async def test_sv_2_kafka_pythons_command_line(clusters: Clusters) -> None:
    await the_same_on_both(_command_line, clusters, "kafka-python-cli", by_chance=["list"])


async def _command_line(bootstrap: str, topic: str, cluster: ComparedCluster) -> Transcript:
    notes: Transcript = []

    async def run(label: str, *args: str, show: Callable[[Any], Any] = lambda found: found) -> None:
        command = [sys.executable, "-m", "kafka.admin", "-b", bootstrap, "--format", "json", *args]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
        out, _ = await process.communicate()
        notes.append((label, [process.returncode, show(json.loads(out)) if out and not process.returncode else ABSENT]))

    await cluster.create_topic(topic, {0: [1, 2], 1: [2, 3]}, held=True)
    await run("topics", "topics", "list", show=lambda found: topic in found)
    await run("nothing moves", "partitions", "list-reassignments")
    await run("start", "partitions", "alter-reassignments", "-r", f"{topic}:0=3,4", "-r", f"{topic}:1=2")
    await run("list", "partitions", "list-reassignments")
    await run("cancel", "partitions", "alter-reassignments", "-r", f"{topic}:0=cancel", "-r", f"{topic}:1=cancel")
    await run("list again", "partitions", "list-reassignments", "-p", f"{topic}:0")
    await run("refused", "partitions", "alter-reassignments", "-r", f"{topic}:0=99", "-r", "nope:0=1")
    await run("elect", "partitions", "elect-leaders", "-p", f"{topic}:0", "--no-raise-errors", show=lambda _: True)
    return notes
