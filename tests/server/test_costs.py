"""No frame, whatever API and version it is for, holds up the loop or fills the memory.

For each array that a request of an API can have, in versions that are decoded unlike each other: as many elements as
the frame's size allows, and as many as the API accepts. The first is refused, the second is worked off in slices;
meanwhile the loop makes no long turn. Turns are measured in CPU, by asyncio's own loop; `tests.longest_turn` says how.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from kafka_reassign_rpc.api.api_definition import AclResource, Api
from kafka_reassign_rpc.api.dispatch import SERVER_APIS, Dispatcher
from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from kafka_reassign_rpc.core.acls.acl_binding import (
    RESOURCE_TYPES,
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
)
from kafka_reassign_rpc.protocol.frame_codec import decode_response
from kafka_reassign_rpc.protocol.messages import (
    REQUESTS,
    RESPONSES,
    ApiVersionsRequest,
    MetadataRequest,
    MetadataResponse,
)
from kafka_reassign_rpc.protocol.served_connection import MAX_REQUEST_BYTES
from kafka_reassign_rpc.server.listener import Listener
from kafka_reassign_rpc.server.server import Server
from kafka_reassign_rpc.server.server_limits import ServerLimits
from tests.api.model_node import EmptyAcls, ModelNode, topic
from tests.effort import in_all
from tests.largest_frames import arrays, largest_frame, most_accepted
from tests.longest_turn import tries
from tests.raw_client import connected
from tests.server.conftest import address
from tests.waiting import eventually

MANY = in_all(60_000, elsewhere=20_000)
"""Elements that are enough to find it."""
INVALID_REQUEST = 42
CLOSED_WITHOUT_ANSWER = None

NAMING_RESOURCES = [
    pytest.param(api, api.max_version, path, id=f"{api.name}-{'.'.join(path)}")
    for api in SERVER_APIS.values()
    if any(acl.resource is not AclResource.CLUSTER for acl in api.acl)
    for path in arrays(REQUESTS[api.key], api.max_version)
    if len(path) == 1
]
QUICK = 30_000
"""Elements that a request has in a few seconds."""


def unlike_versions(api: Api) -> Sequence[int]:
    """The first version, the last one, and the first of those with tagged fields: the ones between are decoded by the
    same steps.
    """
    flexible = (v for v in range(api.min_version, api.max_version) if REQUESTS[api.key].flexible_version_q(v))
    return sorted({api.min_version, api.max_version, next(flexible, api.max_version)})


ALL = [
    (api, version, path)
    for api in SERVER_APIS.values()
    for version in unlike_versions(api)
    for path in arrays(REQUESTS[api.key], version)
]
NEWEST = {(api.key, path): version for api, version, path in ALL}
"""The last version that has an array. The same handler works off what former ones have: those are tried in turn."""


def case(api: Api, version: int, path: tuple[str, ...], *, is_quick: bool) -> Any:
    mark = pytest.mark.gate if version == NEWEST[api.key, path] else pytest.mark.release
    name = f"{api.name}-v{version}-{'.'.join(path)}"
    return pytest.param(api, version, path, id=name, marks=[] if is_quick else [mark])


REFUSED = [
    case(*one, is_quick=one[0].max_elements <= QUICK and one[1] in (one[0].min_version, one[0].max_version))
    for one in ALL
]
ACCEPTED = [case(*one, is_quick=False) for one in ALL]


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Server]:
    node = ModelNode(topic("t", 10), topic("__consumer_offsets", 50))
    running = Server(Dispatcher(node), [Listener("127.0.0.1", 0)], ServerLimits())
    await running.start()
    yield running
    await running.close(deadline=0.2)


async def sent(server: Server, frame: bytes) -> list[bytes] | None:
    """The answer to a frame, without its length, in pieces; None where the connection is closed instead."""
    async with connected(address(server)) as client:
        try:
            await client.send_in_pieces(frame)
            return await client.frame_in_pieces()
        except (asyncio.IncompleteReadError, ConnectionError):
            return CLOSED_WITHOUT_ANSWER


@pytest.mark.parametrize(("api", "version", "path"), REFUSED)
async def test_sv_6_a_request_with_more_elements_than_its_api_accepts_is_refused(
    server: Server, api: Api, version: int, path: tuple[str, ...]
) -> None:
    """With the API's error for the whole request, where the version has one; else the connection is closed."""
    most = most_accepted(api.key, version, path, api.max_elements)
    frame = largest_frame(api.key, version, path, MAX_REQUEST_BYTES, most + 100)
    for measured in tries():
        before = server.stats.connections_malformed
        async with measured:
            found = await sent(server, frame)
        response: Any = RESPONSES[api.key]
        field = response._struct.fields.get("error_code")
        if field is not None and field.for_version_q(version):
            assert found is not None
            assert decode_response(response, b"".join(found), version=version)[1].error_code == INVALID_REQUEST
            assert server.stats.connections_malformed == before
        else:
            assert found is CLOSED_WITHOUT_ANSWER
            assert server.stats.connections_malformed == before + 1
    await eventually(lambda: server.stats.request_bytes_now == 0)


@pytest.mark.parametrize(("api", "version", "path"), ACCEPTED)
async def test_sv_6_a_request_with_as_many_elements_as_its_api_accepts_is_answered_in_short_turns(
    server: Server, api: Api, version: int, path: tuple[str, ...]
) -> None:
    most = min(MANY, most_accepted(api.key, version, path, api.max_elements))
    frame = largest_frame(api.key, version, path, MAX_REQUEST_BYTES, most)
    for measured in tries():
        async with measured:
            found = await sent(server, frame)
        assert found is not None
        decode_response(RESPONSES[api.key], b"".join(found), version=version)
    await eventually(lambda: server.stats.request_bytes_now == 0)
    assert server.stats.handler_failures == 0


@pytest.mark.gate
@pytest.mark.parametrize("allowed", [False, True], ids=["denied", "allowed"])
@pytest.mark.parametrize(("api", "version", "path"), NAMING_RESOURCES)
async def test_sv_6_with_an_authorizer_and_many_acls_the_turns_are_short_too(
    api: Api, version: int, path: tuple[str, ...], *, allowed: bool
) -> None:
    """With a prefix of every length up to 200, all of which are looked up for each resource that is named."""
    node = ModelNode(topic("t", 10), topic("__consumer_offsets", 50))
    node.acls = EmptyAcls()
    running = Server(Dispatcher(node, many_acls(allowed=allowed)), [Listener("127.0.0.1", 0)], ServerLimits())
    await running.start()
    try:
        most = min(MANY, most_accepted(api.key, version, path, api.max_elements))
        frame = largest_frame(api.key, version, path, MAX_REQUEST_BYTES, most)
        for measured in tries():
            async with measured:
                found = await sent(running, frame)
            assert found is not None
            decode_response(RESPONSES[api.key], b"".join(found), version=version)
        assert running.stats.handler_failures == 0
    finally:
        await running.close(deadline=0.2)


def many_acls(*, allowed: bool) -> AclAuthorizer:
    made = AclAuthorizer()
    permission = AclPermissionType.ALLOW if allowed else AclPermissionType.DENY
    entry = AccessControlEntry("User:*", "*", AclOperation.ALL, permission)
    for kind in RESOURCE_TYPES:
        patterns = [ResourcePattern(kind, "x" * length, PatternType.PREFIXED) for length in range(1, 200)]
        for pattern in [*patterns, ResourcePattern(kind, "*", PatternType.LITERAL)]:
            for _ in made.cache.put(pattern, frozenset([entry])):
                pass
    made.loaded = True
    return made


@pytest.mark.gate
@pytest.mark.parametrize(
    ("key", "version", "path"), [(3, 1, ("topics",)), (32, 4, ("resources",)), (45, 0, ("topics",))]
)
async def test_sv_6_the_largest_frame_is_refused_in_short_turns(
    server: Server, key: int, version: int, path: tuple[str, ...]
) -> None:
    frame = largest_frame(key, version, path, MAX_REQUEST_BYTES)
    assert len(frame) > MAX_REQUEST_BYTES - 100
    for measured in tries():
        async with measured:
            await sent(server, frame)


@asynccontextmanager
async def server_with_large_answers(**limits: Any) -> AsyncIterator[Server]:
    """The answer to `EVERYTHING` has some six megabytes."""
    partitions = topic("t", 500).partitions
    known = [topic(f"t{i}", partitions) for i in range(300)]
    running = Server(Dispatcher(ModelNode(*known)), [Listener("127.0.0.1", 0)], ServerLimits(**limits))
    await running.start()
    try:
        yield running
    finally:
        await running.close(deadline=0.2)


EVERYTHING = MetadataRequest(version=9, topics=None)


async def test_sv_6_what_a_client_does_not_read_counts_and_its_connection_is_closed_when_room_is_short() -> None:
    """Large requests of others wait until there is room; small ones are answered in the meantime."""
    large = largest_frame(3, 9, ("topics",), 20_000)
    async with (
        server_with_large_answers(
            queued_max_request_bytes=200_000, slow_client_timeout_ms=0, slow_frame_ms=600_000
        ) as server,
        connected(address(server), receive_buffer=4096) as silent,
        connected(address(server)) as patient,
        connected(address(server)) as other,
    ):
        await silent.send(silent.request(EVERYTHING, 9))
        await eventually(lambda: server.stats.answer_bytes_now > 200_000, within=120)
        assert server.stats.request_bytes_now >= server.stats.answer_bytes_now
        await patient.send(large)
        assert (await other.call(ApiVersionsRequest(version=0), 0)).error_code == 0
        assert server.stats.requests[3] == 1, "the large one waits"
        server._connections.limits = replace(server._connections.limits, slow_frame_ms=1)  # its time is up
        await eventually(lambda: server.stats.connections_slow_closed == 1, within=120)
        assert len(await patient.frame()) > 20_000
        await eventually(lambda: server.stats.answer_bytes_now == server.stats.request_bytes_now == 0)


async def test_sv_6_an_answer_is_sent_as_its_client_reads_it() -> None:
    """A client that reads slowly gets all of it; its connection is not read until then."""
    async with server_with_large_answers() as server, connected(address(server), receive_buffer=4096) as slow:
        await slow.send(slow.request(EVERYTHING, 9) + slow.request(ApiVersionsRequest(version=0), 0))
        await eventually(lambda: server.stats.answer_bytes_now > 100_000, within=120)
        assert server.stats.requests[18] == 0
        head = await slow.reader.readexactly(4)
        answer = await asyncio.wait_for(slow.reader.readexactly(int.from_bytes(head, "big")), 120)
        found = decode_response(MetadataResponse, answer, version=9)[1]
        assert sum(len(one.partitions) for one in found.topics) == 150_000
        await slow.frame()
        await eventually(lambda: server.stats.answer_bytes_now == 0)
