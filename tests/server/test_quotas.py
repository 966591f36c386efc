"""Quotas over real connections: who is asked to wait, whose connection is muted, and who is not let in."""

import asyncio
import sys
import time
from contextlib import AsyncExitStack
from typing import Any

import pytest

from kafka_reassign_rpc.api.dispatch import SERVER_APIS
from kafka_reassign_rpc.core.quotas.client_quotas import CLIENT_ID, IP, USER, QuotaTable
from kafka_reassign_rpc.core.quotas.connection_quotas import RequestQuotas
from kafka_reassign_rpc.core.quotas.windowed_rate import QuotaWindows
from kafka_reassign_rpc.protocol.frame_codec import RequestHeader, begins_with_throttle, decode_response
from kafka_reassign_rpc.protocol.messages import (
    RESPONSES,
    AlterPartitionRequest,
    ApiVersionsRequest,
    DescribeClientQuotasRequest,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
    ProduceRequest,
)
from kafka_reassign_rpc.server.listener import MOST_HELD
from kafka_reassign_rpc.server.request_answers import RequestThrottle
from kafka_reassign_rpc.support.turns import LoopTime
from tests.api.ask import PEER
from tests.api.model_node import ModelNode, moving, topic
from tests.raw_client import connected
from tests.server.conftest import StartServer, address
from tests.server.test_server_connections import alter, held_node
from tests.waiting import eventually

pytestmark = pytest.mark.both_loops

LONG = QuotaWindows(size_ms=5000)
"""With windows of five seconds a client that has no share of the time waits five seconds."""


def none_for(*entity: tuple[str, str | None]) -> QuotaTable:
    table = QuotaTable()
    table.put(entity, {"request_percentage": "0"})
    return table


def list_all() -> ListPartitionReassignmentsRequest:
    return ListPartitionReassignmentsRequest(version=0, timeout_ms=1000, topics=None)


def versions(version: int = 0) -> ApiVersionsRequest:
    return ApiVersionsRequest(version=version, client_software_name="a", client_software_version="1")


async def test_sv_5_a_client_without_a_share_is_answered_asked_to_wait_and_muted(start_server: StartServer) -> None:
    quotas = none_for((CLIENT_ID, "test"))
    server = await start_server(quotas=quotas, quota_windows=LONG)
    async with connected(address(server)) as client, connected(address(server)) as other:
        answer = await client.call(list_all(), 0)
        assert (answer.error_code, answer.throttle_time_ms) == (0, 5000)
        received = server.stats.bytes_received
        await client.send(client.request(list_all(), 0))
        await eventually(lambda: server.stats.bytes_received > received)
        answered = server.stats.requests[46]
        await other.send(other.request(list_all(), 0).replace(b"test", b"else"))
        assert (await other.frame())[4:8] == bytes(4), "others wait for nothing"
        assert server.stats.requests[46] == answered + 1
        assert server.stats.requests_throttled == 1


async def test_sv_5_a_quota_that_changes_holds_at_the_next_request_of_an_open_connection(
    start_server: StartServer,
) -> None:
    table = QuotaTable()
    table.put(((CLIENT_ID, "test"),), {"request_percentage": "100000"})
    server = await start_server(quotas=table, quota_windows=QuotaWindows(size_ms=20))
    async with connected(address(server)) as client:
        for _ in range(3):
            assert (await client.call(list_all(), 0)).throttle_time_ms == 0
        table.put(((CLIENT_ID, "test"),), {"request_percentage": "0"})
        assert (await client.call(list_all(), 0)).throttle_time_ms == 20
        other = client.request(list_all(), 0).replace(b"test", b"else")
        await client.send(other)
        assert (await client.frame())[4:8] == bytes(4), "another client on the same connection"
        assert (await client.call(list_all(), 0)).throttle_time_ms == 20
        table.put(((CLIENT_ID, "test"),), {})
        assert (await client.call(list_all(), 0)).throttle_time_ms == 0


async def test_sv_5_connections_of_one_client_share_its_quota(start_server: StartServer) -> None:
    table = QuotaTable()
    table.put(((USER, "ANONYMOUS"),), {"request_percentage": "0.000001"})
    server = await start_server(quotas=table, quota_windows=LONG)
    async with connected(address(server)) as one, connected(address(server)) as other:
        assert (await one.call(list_all(), 0)).throttle_time_ms > 0
        assert (await other.call(list_all(), 0)).throttle_time_ms > 0
        assert server.stats.requests_throttled == 2


@pytest.mark.parametrize("what", ["a version that nobody has", "more elements than it may have", "no answer wanted"])
async def test_sv_5_a_request_that_is_refused_or_wants_no_answer_is_counted_too(
    start_server: StartServer, what: str
) -> None:
    """Who has used up a quota could send these without an end."""
    server = await start_server(quotas=none_for((CLIENT_ID, "test")), quota_windows=LONG)
    many = [Component(entity_type="user", match_type=1, match="")] * (SERVER_APIS[48].max_elements + 1)
    sent: dict[str, Any] = {
        "a version that nobody has": lambda client: with_version(client.request(versions(), 0), 99),
        "more elements than it may have": lambda client: client.request(
            DescribeClientQuotasRequest(version=0, components=many, strict=False), 0
        ),
        "no answer wanted": lambda client: client.request(ProduceRequest(version=9, acks=0, topic_data=[]), 9),
    }
    async with connected(address(server)) as client:
        await client.send(sent[what](client))
        await eventually(lambda: server.stats.requests_throttled == 1)
        if what == "more elements than it may have":
            answer: Any = decode_response(RESPONSES[48], await client.frame(), version=0)[1]
            assert (answer.error_code, answer.throttle_time_ms) == (42, 5000)


async def test_sv_5_a_muted_connection_that_goes_on_writing_is_not_read(start_server: StartServer) -> None:
    server = await start_server(quotas=none_for((CLIENT_ID, "test")), quota_windows=LONG)
    async with connected(address(server)) as client, connected(address(server)) as other:
        await client.call(list_all(), 0)
        much = b"".join(client.request(list_all(), 0) for _ in range(2000)) * 200
        client.writer.write(much)
        await other.send(other.request(list_all(), 0).replace(b"test", b"else"))
        await other.frame()
        assert server.stats.requests[46] == 2
        assert server.stats.bytes_received < 600_000, "of 12 MB"
        client.writer.transport.abort()


Component: Any = DescribeClientQuotasRequest.ComponentData


def with_version(request: bytes, version: int) -> bytes:
    return request[:6] + version.to_bytes(2, "big") + request[8:]


async def test_sv_5_a_muted_connection_goes_on_when_its_time_is_over(start_server: StartServer) -> None:
    server = await start_server(quotas=none_for((USER, "ANONYMOUS")), quota_windows=QuotaWindows(size_ms=100))
    async with connected(address(server)) as client:
        begin = time.monotonic()
        await client.send(b"".join(client.request(list_all(), 0) for _ in range(4)))
        frames = [await client.frame() for _ in range(4)]
        waited_ms = (time.monotonic() - begin) * 1000
    answers: list[Any] = [decode_response(RESPONSES[46], frame, version=0)[1] for frame in frames]
    told = [one.throttle_time_ms for one in answers]
    assert told == [100] * 4
    assert waited_ms > sum(told[:3]) - 10, "timers of uvloop have whole milliseconds, and so have the times told"
    assert server.stats.requests_throttled == 4


@pytest.mark.parametrize("size", [1, 600])
async def test_sv_5_an_answer_says_how_long_to_wait_whichever_way_it_was_encoded(
    start_server: StartServer, size: int
) -> None:
    """Few items are a message; many moves and many partitions are encoded piece by piece, in slices."""
    node = ModelNode(topic("t", {index: moving(index) for index in range(size)}))
    server = await start_server(node, quotas=none_for((CLIENT_ID, None)), quota_windows=LONG)
    requests: list[tuple[Any, int]] = [
        (list_all(), 0),
        (MetadataRequest(version=7, topics=None, allow_auto_topic_creation=False), 7),
        (alter(*range(size)), 0),
        (versions(3), 3),
    ]
    for request, version in requests:
        async with connected(address(server)) as client:
            answer = await client.call(request, version)
            assert answer.throttle_time_ms == 5000, type(request)
            if isinstance(request, MetadataRequest):
                assert len(answer.topics[0].partitions) == size
    async with connected(address(server)) as client:
        answer = await client.call(versions(), 0)
        assert answer.error_code == 0
        await client.send(client.request(versions(), 0))
        await eventually(lambda: server.stats.requests_throttled == len(requests) + 1)


def test_sv_5_which_answers_begin_with_a_throttle_time_is_known_but_for_api_versions() -> None:
    for api in SERVER_APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            first = next(iter(RESPONSES[api.key]._struct.untagged_fields(version)), None)
            has_one = first is not None and first.name == "throttle_time_ms"
            assert has_one == begins_with_throttle(api.key, version) or api.name == "ApiVersions", (api.name, version)


class Clock:
    """In the place of the performance counter: a busy machine takes no time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ns = time.perf_counter_ns()
        monkeypatch.setattr(time, "perf_counter_ns", lambda: self.ns)

    def move(self, ms: int) -> None:
        self.ns += ms * 1_000_000


async def test_sv_5_what_a_request_keeps_the_loop_for_is_counted_and_not_what_it_waits_for(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    table = QuotaTable()
    table.put(((CLIENT_ID, None),), {"request_percentage": "2"})  # 200 ms in ten seconds
    node = held_node()
    server = await start_server(node, quotas=table)
    async with connected(address(server)) as client:
        await client.send(client.request(alter(0), 0))
        await eventually(lambda: node.controller.calls)
        clock.move(300)
        node.controller.hold.set()
        await client.frame()
        assert server.stats.requests_throttled == 0, "it waited 300 ms, and took no 200"

    node.nodes = lambda _: clock.move(250) or []  # type: ignore[method-assign, assignment, func-returns-value]
    async with connected(address(server)) as client:
        answer = await client.call(MetadataRequest(version=7, topics=[], allow_auto_topic_creation=False), 7)
        assert answer.throttle_time_ms > 0
        assert server.stats.requests_throttled == 1


async def test_sv_5_loop_time_is_that_of_all_turns_and_passes_on_results_errors_and_cancellations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, others = Clock(monkeypatch), asyncio.Event()

    async def works() -> int:
        for _ in range(4):
            clock.move(4)
            await asyncio.sleep(0)
        await others.wait()
        return 7

    async def works_meanwhile() -> None:
        clock.move(50)
        others.set()

    taken = LoopTime(1)
    meanwhile = asyncio.create_task(works_meanwhile())
    assert await taken.of(works()) == 7
    await meanwhile
    assert taken.ns == 1 + 16_000_000

    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("why")

    with pytest.raises(ValueError, match="why"):
        await taken.of(fails())
    ended = asyncio.Event()

    async def cleans_up() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    async def waits() -> None:
        await taken.of(cleans_up())

    task = asyncio.create_task(waits())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_sv_5_brokers_wait_for_no_quota_unless_they_were_denied(start_server: StartServer) -> None:
    node = ModelNode(topic("t", 1))
    server = await start_server(node, quotas=none_for((CLIENT_ID, None)), quota_windows=LONG)
    request = AlterPartitionRequest(version=2, broker_id=1, broker_epoch=1, topics=[])
    async with connected(address(server)) as client:
        assert (await client.call(request, 2)).throttle_time_ms == 0
        assert (await client.call(request, 2)).throttle_time_ms == 0, "it is not muted"
    assert server.stats.requests_throttled == 0


async def test_sv_6_a_muted_connection_stays_no_longer_than_an_idle_one(start_server: StartServer) -> None:
    server = await start_server(
        quotas=none_for((CLIENT_ID, None)), quota_windows=QuotaWindows(size_ms=3_600_000), connections_max_idle_ms=200
    )
    async with connected(address(server)) as client:
        await client.send(client.request(list_all(), 0) * 2)
        await client.frame()
        assert await client.is_closed()
    assert server.stats.connections_idle_closed == 1
    assert server.stats.requests[46] == 1


async def test_sv_6_a_server_that_ends_answers_what_muted_connections_have_sent(start_server: StartServer) -> None:
    server = await start_server(quotas=none_for((CLIENT_ID, None)), quota_windows=QuotaWindows(size_ms=3_600_000))
    async with connected(address(server)) as client:
        await client.send(client.request(list_all(), 0) * 3)
        await client.frame()
        await server.close(deadline=5)
        await client.frame()
        await client.frame()
        assert await client.is_closed()


# -------------------------------------------------------------------------------------------------- connections


async def test_sv_6_connections_beyond_the_rate_of_a_listener_wait_their_turn(start_server: StartServer) -> None:
    server = await start_server(max_connection_creation_rate_of_listeners={"PLAINTEXT": 2})
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(address(server))) for _ in range(22)]
        await asyncio.gather(*(client.call(versions(), 0) for client in clients))
    assert server.stats.connections_delayed >= 1
    assert server.stats.connections_accepted == 22


async def test_sv_6_an_address_beyond_its_quota_is_held_then_closed_and_others_come_in(
    start_server: StartServer,
) -> None:
    table = QuotaTable()
    server = await start_server(quotas=table, max_connection_creation_rate=10)
    table.put(((IP, "127.0.0.1"),), {"connection_creation_rate": "0"})
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(address(server))) for _ in range(MOST_HELD + 50)]
        await eventually(lambda: server.stats.connections_refused == MOST_HELD + 50)
        for client in clients:
            assert await client.is_closed()
        assert server.stats.connections_accepted == server.stats.connections_delayed == 0
        table.put(((IP, "127.0.0.1"),), {})
        async with connected(address(server)) as client:
            assert (await client.call(versions(), 0)).error_code == 0


async def test_sv_6_a_server_that_ends_closes_the_connections_that_it_holds(start_server: StartServer) -> None:
    table = QuotaTable()
    table.put(((IP, None),), {"connection_creation_rate": "0"})
    server = await start_server(quotas=table, quota_windows=QuotaWindows(size_ms=3_600_000))
    async with connected(address(server)) as client:
        await eventually(lambda: server.stats.connections_refused == 1)
        await server.close()
        assert await client.is_closed()


@pytest.mark.parametrize(("length", "kept"), [(1024, True), (30_000, False)])
def test_sv_5_a_connection_does_not_keep_a_client_id_of_many_kilobytes(*, length: int, kept: bool) -> None:
    """An id may have 32 KiB, and ten thousand connections may each bring one."""
    throttle = RequestThrottle(RequestQuotas(none_for((CLIENT_ID, None)), LONG))
    client_id = "".join("x" for _ in range(length))
    before = sys.getrefcount(client_id)
    header = RequestHeader(46, 0, 1, client_id)
    assert throttle.spent(header, PEER, 1_000, 10**9) == 5000, "its quota holds all the same"
    del header
    assert (sys.getrefcount(client_id) > before) is kept
