"""What `serve` starts where it is given no cluster, so that there is something to move: simulated brokers with
topics; in KRaft mode, topics with records.
"""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.metadata_calls import TopicInfo, find_topics
from kafka_reassign_rpc.client.request_routing import RequestRouter, connect
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.partition import topic_id_of
from kafka_reassign_rpc.embedded_kraft import NODES
from kafka_reassign_rpc.embedded_zookeeper import tied_to_us
from kafka_reassign_rpc.kraft.state_log.leader_calls import NOT_LEADER
from kafka_reassign_rpc.kraft.state_log.record_batches import Record, encode_batch
from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest, ProduceRequest
from kafka_reassign_rpc.support.wall_clock import now_ms

DEMO_BROKERS = (1, 2, 3, 4, 5, 6)
DEMO_RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
DEMO_TOPICS = ("orders:12:3:50000000", "payments:6:3:20000000", "clicks:24:2:100000000")
RECORD_BYTES, RECORDS_A_BATCH = 10_000, 50
NOBODY = -1, -1, -1
"""Id, epoch and sequence of a producer that is not idempotent."""
KNOWN_S, PAUSE_S = 30.0, 0.2
_ALREADY_EXISTS = 36
FIRST_WITH_IDS = 13
"""The version of Produce that names topics by their ids."""


class DemoTopic(NamedTuple):
    """`batches`: of half a megabyte, in each partition."""

    partitions: int
    batches: int


TOPICS: Mapping[str, DemoTopic] = {"orders": DemoTopic(12, 2), "payments": DemoTopic(6, 10)}


def two_of(index: int) -> list[int]:
    """Brokers in turn, so that examples are the same everywhere."""
    return [NODES[(index + place) % len(NODES)] for place in range(2)]


async def fill(bootstrap: str) -> None:
    """Does nothing where the topics are there. Raises KafkaError."""
    router = await connect(client_settings({"bootstrap_servers": bootstrap}))
    try:
        made = await _create(router)
        for name in made:
            topic = await _led(router, name)
            await asyncio.gather(*(_produce(router, topic, index) for index in topic.partitions))
    finally:
        await router.close()


async def _create(router: RequestRouter) -> Sequence[str]:
    """Returns those that were not there."""
    creatable = CreateTopicsRequest.CreatableTopic
    topics = [
        creatable(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                creatable.CreatableReplicaAssignment(partition_index=index, broker_ids=two_of(index))
                for index in range(one.partitions)
            ],
            configs=[],
        )
        for name, one in TOPICS.items()
    ]
    request = CreateTopicsRequest(topics=topics, timeout_ms=router.timeout_ms, validate_only=False)
    answer = await router.ask_any(lambda _: request, CreateTopicsRequest, changes=True)
    for made in answer.topics:
        if made.error_code not in (0, _ALREADY_EXISTS):
            raise KafkaError(f"the topic {made.name} cannot be created: {made.error_message}")
    return [made.name for made in answer.topics if not made.error_code]


async def _led(router: RequestRouter, topic: str) -> TopicInfo:
    """The topic, once all its partitions have a leader."""
    for _ in range(int(KNOWN_S / PAUSE_S)):
        found = (await find_topics(router, [topic]))[topic]
        if sum(one.leader >= 0 for one in found.partitions.values()) == TOPICS[topic].partitions:
            return found
        await asyncio.sleep(PAUSE_S)
    raise KafkaError(f"the topic {topic} has no leaders after {KNOWN_S:g} s")


async def _produce(router: RequestRouter, topic: TopicInfo, index: int) -> None:
    of_topic = ProduceRequest.TopicProduceData
    records = [Record(b"", bytes(RECORD_BYTES))] * RECORDS_A_BATCH
    batch = await asyncio.to_thread(encode_batch, records, *NOBODY, now_ms())
    data = of_topic.PartitionProduceData(index=index, records=batch)

    def build(version: int) -> ProduceRequest:
        named = {"topic_id": topic_id_of(topic.topic_id)} if version >= FIRST_WITH_IDS else {"name": topic.name}
        some = [of_topic(partition_data=[data], **named)]
        return ProduceRequest(transactional_id=None, acks=-1, timeout_ms=router.timeout_ms, topic_data=some)

    left = TOPICS[topic.name].batches
    for _ in range(int(KNOWN_S / PAUSE_S)):
        answer = await router.ask_node_once(topic.partitions[index].leader, build, ProduceRequest)
        (made,) = (one for found in answer.responses for one in found.partition_responses)
        if made.error_code and made.error_code not in NOT_LEADER:
            raise KafkaError(f"{topic.name}-{index} takes no records: error {made.error_code}")
        left -= not made.error_code
        if not left:
            return
        if made.error_code:  # the leader of a new topic does not know yet that it is
            await asyncio.sleep(PAUSE_S)
    raise KafkaError(f"{topic.name}-{index} takes no records after {KNOWN_S:g} s: error {made.error_code}")


STOP_TIMEOUT_S = 20.0


class ChildFailed(RuntimeError):
    """The child process ended before it was ready. Its messages are on standard error."""


def fleet_arguments(values: Mapping[str, Any]) -> list[str]:
    arguments = [
        *("--zookeeper-connect", values["zookeeper.connect"], "--broker-ids", ",".join(map(str, DEMO_BROKERS))),
        *("--data-dir", str(Path(values["data.dir"]) / "fleet")),
        *("--log-level", values["log.level"], "--log-format", values["log.format"]),
    ]
    for broker, rack in DEMO_RACKS.items():
        arguments += ["--rack", f"{broker}:{rack}"]
    for topic in DEMO_TOPICS:
        arguments += ["--topic", topic]
    return arguments


@asynccontextmanager
async def fleet_process(arguments: Sequence[str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """Runs `fleet` until the block ends, in its own session: Ctrl-C reaches only `serve`, which then ends the brokers
    before the server.
    """
    # -P: without it -m looks for modules in the current folder first, and would run a file http.py there.
    command = [sys.executable, "-P", "-m", "kafka_reassign_rpc.cli.main", "fleet", *arguments]
    process = await asyncio.create_subprocess_exec(
        *tied_to_us(command, signal.SIGTERM),
        stdout=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        line = await process.stdout.readline()
        if not line.startswith(b"ready "):
            raise ChildFailed(f"the simulated brokers did not start (exit code {await process.wait()})")
        yield process
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(process.wait(), STOP_TIMEOUT_S)
            except TimeoutError:
                process.kill()
                await process.wait()
