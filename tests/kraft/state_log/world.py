"""What the tests of the state log on stock brokers share: the cluster, and what a reader sees."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError, PartitionInfo
from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.request_routing import connect
from kafka_reassign_rpc.kraft.state_log.log_format import Kind
from kafka_reassign_rpc.kraft.state_log.log_reading import LogRecord
from kafka_reassign_rpc.kraft.state_log.state_log import StateLog
from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest, DeleteTopicsRequest
from tests.stock.kraft import KRaftNode
from tests.stock.process import LoggedProcess

LEAD_S = 2.0


class World(NamedTuple):
    nodes: Sequence[KRaftNode]
    proxied: dict[int, int]
    guests: Sequence[int]
    """Ports of a listener for a principal without rights."""

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def log(self, topic: str, server: str = "a", *, bootstrap: str | None = None, **more: Any) -> StateLog:
        settings = client_settings({"bootstrap_servers": bootstrap or self.bootstrap, "client_id": server})
        return StateLog(settings, topic=topic, server=server, **{"lead_s": LEAD_S, **more})

    def client(self) -> AsyncReassignmentClient:
        return AsyncReassignmentClient(bootstrap_servers=self.bootstrap)

    def allow(self, kind: ResourceType, name: str, operation: ACLOperation) -> None:
        """Blocks."""
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            found = ACL("User:guest", "*", operation, ACLPermissionType.ALLOW, ResourcePattern(kind, name))
            admin.create_acls([found])
        finally:
            admin.close()

    @asynccontextmanager
    async def router(self) -> AsyncIterator[Any]:
        router = await connect(client_settings({"bootstrap_servers": self.bootstrap}))
        try:
            yield router
        finally:
            await router.close()

    async def create(self, topic: str, assignment: Sequence[Sequence[int]], **configs: str) -> None:
        creatable = CreateTopicsRequest.CreatableTopic
        one = creatable(
            name=topic,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                creatable.CreatableReplicaAssignment(partition_index=index, broker_ids=list(brokers))
                for index, brokers in enumerate(assignment)
            ],
            configs=[
                creatable.CreatableTopicConfig(name=name.replace("_", "."), value=value)
                for name, value in configs.items()
            ],
        )
        request = CreateTopicsRequest(topics=[one], timeout_ms=20_000, validate_only=False)
        async with self.router() as router:
            (made,) = (await router.ask_any(lambda _: request, CreateTopicsRequest)).topics
            assert made.error_code == 0, made.error_message

    async def delete(self, topic: str) -> None:
        request = DeleteTopicsRequest(topic_names=[topic], timeout_ms=20_000)
        async with self.router() as router:
            await router.ask_any(
                lambda version: (
                    request
                    if version < 6
                    else DeleteTopicsRequest(
                        topics=[DeleteTopicsRequest.DeleteTopicState(name=topic, topic_id=None)], timeout_ms=20_000
                    )
                ),
                DeleteTopicsRequest,
            )


async def described(client: AsyncReassignmentClient, topic: str) -> PartitionInfo:
    found = (await client.describe_topics([topic]))[topic]
    assert not isinstance(found, KafkaError)
    return found[0]


async def records_of(log: StateLog) -> list[LogRecord]:
    return [one async for some in log.read(to_end=True) for one in some if isinstance(one, LogRecord)]


async def committed(log: StateLog) -> list[bytes]:
    """The state that a reader has at the end: a snapshot replaces what came before it."""
    state: list[bytes] = []
    for one in await records_of(log):
        if one.kind is Kind.SNAPSHOT:
            state = list(one.payloads)
        elif one.kind is Kind.COMMIT:
            state += one.payloads
    return state


class Committer(LoggedProcess):
    def __init__(self, world: World, folder: Path, topic: str) -> None:
        super().__init__(folder / f"{topic}.log")
        command = [sys.executable, "-m", "tests.kraft.state_log.committer", world.bootstrap, topic, str(LEAD_S)]
        self.launch(command)

    def acknowledged(self) -> list[bytes]:
        return [
            line.split()[1] for line in self.printed().splitlines() if line.startswith(b"acked") and b" " in line[6:]
        ]


async def takes_over(log: StateLog) -> None:
    async def follow() -> None:
        async for _ in log.follow():
            pass

    following = asyncio.create_task(follow())
    try:
        await log.silence()
        await log.claim()
    finally:
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following


async def commits_during(log: StateLog, disturbance: Awaitable[Any], least: int = 50) -> list[bytes]:
    """Commits until the disturbance is over, and `least`; what was acknowledged."""
    done = asyncio.ensure_future(disturbance)
    payloads: list[bytes] = []
    while not done.done() or len(payloads) < least:
        payload = str(len(payloads)).encode() * (1 if len(payloads) % 10 else 30_000)
        await log.commit([payload])
        payloads.append(payload)
    await done
    return payloads
