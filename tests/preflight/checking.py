"""What tests of the check have in common."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from kafka_reassign_rpc.controller.controller_election import Takeover
from kafka_reassign_rpc.controller.lifecycle.server_config import AuthorizerConfig, ServerConfig
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.preflight.check import check
from kafka_reassign_rpc.preflight.findings import Finding, Level
from kafka_reassign_rpc.zookeeper.access import Access, always
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

PLAINTEXT = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092)


async def checked(
    connect: str,
    *,
    server_id: int = 1001,
    seconds: float = 5,
    takeover: Takeover = Takeover.ALWAYS,
    authorizer: AuthorizerConfig | None = None,
) -> list[Finding]:
    config = ServerConfig(
        zookeeper_connect=connect,
        listeners=[PLAINTEXT],
        server_id=server_id,
        takeover=takeover,
        authorizer=authorizer,
    )
    return await check(config, seconds)


def subjects(found: Sequence[Finding], level: Level) -> set[str]:
    return {one.subject for one in found if one.level is level}


def text_of(found: Sequence[Finding], subject: str) -> str:
    return " ".join(f"{one.text} {one.advice}" for one in found if one.subject == subject)


@asynccontextmanager
async def standing(
    zk: ZooKeeper, path: str, data: bytes = b"", acl: Sequence[tuple[int, str, str]] = ((31, "world", "anyone"),)
) -> AsyncIterator[None]:
    """A znode that is there for a while, created with this ACL."""
    async with ZooKeeper(zk.connect, access=Access(acl_of=always(acl))) as author:
        await author.create(path, data)
    yield
    await zk.delete(path)
