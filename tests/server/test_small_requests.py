"""What a small request costs where quotas and ACLs hold for its client: in calls, which no busy machine changes."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka_reassign_rpc.api.dispatch import Dispatcher
from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from kafka_reassign_rpc.core.acls.acl_binding import (
    ANONYMOUS,
    CLUSTER_NAME,
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.core.quotas.client_quotas import CLIENT_ID, USER, QuotaTable
from kafka_reassign_rpc.protocol.messages import ListPartitionReassignmentsRequest
from kafka_reassign_rpc.server.server import Server
from tests.api.model_node import ModelNode, topic
from tests.raw_client import connected
from tests.server.conftest import StartServer, address

LIST_NOTHING = ListPartitionReassignmentsRequest(version=0, timeout_ms=1000, topics=[])


def quotas() -> QuotaTable:
    table = QuotaTable()
    table.put(((CLIENT_ID, "test"),), {"request_percentage": "100000"})
    table.put(((USER, "ANONYMOUS"), (CLIENT_ID, "test")), {"request_percentage": "100000"})
    return table


def authorizer() -> AclAuthorizer:
    made = AclAuthorizer()
    pattern = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
    entry = AccessControlEntry(ANONYMOUS, "*", AclOperation.DESCRIBE, AclPermissionType.ALLOW)
    for _ in made.cache.put(pattern, frozenset([entry])):
        pass
    made.loaded = True
    return made


@contextmanager
def calls() -> Iterator[list[str]]:
    """The functions that the block calls, those in C too."""
    found: list[str] = []

    def count(_frame: Any, event: str, function: Any) -> None:
        if event == "call":
            found.append(f"{_frame.f_code.co_qualname}")
        elif event == "c_call":
            found.append(getattr(function, "__qualname__", "?"))

    sys.setprofile(count)
    try:
        yield found
    finally:
        sys.setprofile(None)


async def of_a_small_request(server: Server, frames: int = 1) -> list[str]:
    """The calls of the server for one of several small requests that arrive together, once it knows its client."""
    async with connected(address(server)) as client:
        await client.call(LIST_NOTHING, 0)
        (connection,) = server._connections._connections
        data = client.request(LIST_NOTHING, 0) * frames
        loop = asyncio.get_running_loop()
        received = loop.create_future()

        def receive() -> None:  # as the loop does, in no task
            with calls() as found:
                connection.data_received(data)  # type: ignore[attr-defined]
            received.set_result(found)

        loop.call_soon(receive)
        found: list[str] = await received
        for _ in range(frames):
            assert len(await client.frame()) > 8
    return found


async def test_sv_5_quotas_and_acls_cost_a_small_request_little(start_server: StartServer) -> None:
    node = ModelNode(topic("t", 1))
    open_to_all = await of_a_small_request(await start_server(node))
    guarded = await of_a_small_request(await start_server(Dispatcher(node, authorizer()), quotas=quotas()))
    assert len(guarded) <= len(open_to_all) + 18, guarded
    assert len(guarded) <= 112, guarded
