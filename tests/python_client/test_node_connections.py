"""The client's connections to the nodes of a cluster, against nodes that go away, move, fall silent, or fail it."""

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kafka_reassign_rpc.client import AsyncReassignmentClient, Unauthenticated, Unreachable, client_configs
from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.security.tls.tls_config import TlsConfig
from tests.certificates import Authority
from tests.python_client.scripted_nodes import (
    ALTER,
    API_VERSIONS,
    LIST,
    METADATA,
    ScriptedCluster,
    ScriptedNode,
    addresses,
    listening,
)
from tests.transport.secured_broker import secured_broker
from tests.waiting import eventually

Nodes = list[ScriptedNode]
TARGETS = {("t", 0): [1, 2]}


@pytest_asyncio.fixture
async def nodes() -> AsyncIterator[Nodes]:
    """Three nodes; node 1 is the controller."""
    cluster = ScriptedCluster()
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(listening(ScriptedNode(cluster, node))) for node in (1, 2, 3)]


def client(nodes: Nodes, **configs: Any) -> AsyncReassignmentClient:
    given = {"bootstrap_servers": addresses(nodes), "request_timeout_ms": 5000, "retry_backoff_ms": 5}
    return AsyncReassignmentClient(**(given | configs))


def _asking_for_a_minute(answer: bytes) -> bytes:
    """The answer follows its length, its correlation id and no tags; it begins with throttle_time_ms."""
    return answer[:9] + (60_000).to_bytes(4, "big") + answer[13:]


async def test_sv_2_what_a_node_asks_not_to_be_sent_has_no_effect_and_its_caller_is_told_why(nodes: Nodes) -> None:
    nodes[0].replies[ALTER] = _asking_for_a_minute
    async with client(nodes[:1], request_timeout_ms=500) as asking:
        assert await asking.alter_partition_reassignments(TARGETS) == {}
        with pytest.raises(Unreachable, match=r"asked for .* s without a request \(throttle_time_ms\)$") as raised:
            await asking.alter_partition_reassignments(TARGETS)
    assert not raised.value.may_have_had_effect
    assert nodes[0].asked.count(ALTER) == 1


async def test_sv_2_while_a_node_asks_not_to_be_sent_anything_others_are_asked_at_once(nodes: Nodes) -> None:
    nodes[0].replies[ALTER] = _asking_for_a_minute
    async with client(nodes[:1]) as asking:
        assert await asking.alter_partition_reassignments(TARGETS) == {}
        before = len(nodes[0].asked)
        for _ in range(10):
            assert len(await asking.describe_cluster()) == 3
    assert len(nodes[0].asked) == before


@pytest.mark.both_loops
async def test_455_1_a_request_follows_the_controller_to_another_node(nodes: Nodes) -> None:
    async with client(nodes[2:], request_timeout_ms=2_000) as asking:
        for controller in (1, 2, 3):
            nodes[0].cluster.controller = controller
            assert await asking.alter_partition_reassignments(TARGETS) == {}
            assert nodes[controller - 1].asked[-1] == ALTER
            assert await asking.describe_controller() == controller
        nodes[0].cluster.controller = -1
        with pytest.raises(Unreachable, match="no controller at the moment"):
            await asking.list_partition_reassignments()


@pytest.mark.both_loops
async def test_455_1_what_only_reads_is_asked_again_after_a_connection_that_closed_within_the_answer(
    nodes: Nodes,
) -> None:
    kept = [3, 11]

    def reply(answer: bytes) -> bytes:
        if not kept:
            return answer
        asyncio.get_running_loop().call_soon(nodes[0].disconnect)
        return answer[: kept.pop()]

    nodes[0].replies[LIST] = reply
    async with client(nodes) as asking:
        assert await asking.list_partition_reassignments() == {}
    assert nodes[0].asked.count(LIST) == 3
    assert nodes[0].connections >= 3


async def test_455_1_what_changes_something_is_not_sent_again_where_its_answer_is_lost(nodes: Nodes) -> None:
    nodes[0].replies[ALTER] = lambda _: None
    async with client(nodes) as asking:
        with pytest.raises(Unreachable, match=r"closed It is not known whether the request had its effect\.$"):
            await asking.alter_partition_reassignments(TARGETS)
    assert nodes[0].asked.count(ALTER) == 1


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda answer: answer[:4] + b"\1\1\1\1" + answer[8:], "an answer to request"),
        (lambda answer: (2000).to_bytes(4, "big") + answer[4:], "a frame of 2000 bytes, 4 to 1000 are accepted"),
        (lambda answer: answer[:-6] + b"\xff" * 6, "the answer cannot be read"),
    ],
    ids=["another correlation id", "oversized", "garbled"],
)
async def test_455_1_an_answer_that_cannot_be_understood_is_an_error_that_says_so(
    nodes: Nodes, wrong: Any, why: str
) -> None:
    nodes[0].replies[ALTER] = wrong
    async with client(nodes, receive_message_max_bytes=1000) as asking:
        with pytest.raises(Unreachable, match=f"{why}.* It is not known whether"):
            await asking.alter_partition_reassignments(TARGETS)


async def test_455_1_a_silent_node_costs_one_request_timeout(nodes: Nodes) -> None:
    nodes[0].replies[ALTER] = lambda _: b""
    async with client(nodes, request_timeout_ms=1_000) as asking:
        with pytest.raises(Unreachable, match=r"no answer within 1 s It is not known"):
            await asking.alter_partition_reassignments(TARGETS)
        assert nodes[0].asked.count(ALTER) == 1
        nodes[0].replies.clear()
        assert await asking.alter_partition_reassignments(TARGETS) == {}, "by a new connection"


async def test_236_12_the_first_address_that_answers_is_enough(nodes: Nodes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # no process listens: refused at once
        dead = f"127.0.0.1:{bound.getsockname()[1]}"
        async with client(nodes, bootstrap_servers=[dead, "nowhere.invalid:9092", *addresses(nodes[1:2])]) as asking:
            assert [node.id for node in await asking.describe_cluster()] == [1, 2, 3]
        silent = f"127.0.0.1:{taken.getsockname()[1]}"
        reasons = {dead: f"{dead}: connection refused", silent: r"no answer within 0\.2 s, asked by PLAINTEXT"}
        for address, why in reasons.items():
            with pytest.raises(Unreachable, match=rf"^Unable to bootstrap from \['{address}'\]: {why}$"):
                await client(nodes, bootstrap_servers=address, bootstrap_timeout_ms=200).start()


async def test_236_12_that_no_node_answers_is_logged_once_and_not_with_every_try(
    nodes: Nodes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    nodes[0].replies[METADATA] = lambda _: None
    starting = asyncio.create_task(client(nodes[:1], bootstrap_timeout_ms=600_000, retry_backoff_ms=20).start())
    await eventually(lambda: nodes[0].asked.count(METADATA) > 3)
    starting.cancel()
    with suppress(asyncio.CancelledError):
        await starting
    assert len([one for one in caplog.records if "no answer from the cluster" in one.getMessage()]) == 1


async def test_236_12_a_node_that_comes_back_elsewhere_is_found(nodes: Nodes) -> None:
    """A broker's pod has another address after a restart."""
    async with client(nodes) as asking:
        assert await asking.list_partition_reassignments() == {}
        nodes[0].replies[API_VERSIONS] = lambda _: None  # whatever is at its former address is not it
        nodes[0].disconnect()
        async with listening(ScriptedNode(nodes[0].cluster, 1)) as moved:
            assert await asking.list_partition_reassignments() == {}
            assert moved.asked == [API_VERSIONS, LIST]


async def test_236_12_the_given_addresses_are_asked_again_where_every_known_node_is_gone(nodes: Nodes) -> None:
    cluster = nodes[0].cluster
    given = ScriptedNode(cluster, 9)  # such as a load balancer: no node has registered with its address
    async with listening(given):
        del cluster.members[9]
        async with client([given]) as asking:
            assert await asking.list_partition_reassignments() == {}
            for node in nodes:
                node.replies[API_VERSIONS] = lambda _: None
                node.disconnect()
            async with listening(ScriptedNode(cluster, 1)) as one:
                cluster.members = {1: one.port}
                assert await asking.list_partition_reassignments() == {}


async def test_236_12_unused_connections_are_closed(nodes: Nodes) -> None:
    async with client(nodes, connections_max_idle_ms=50) as asking:
        await asking.list_partition_reassignments()
        before = nodes[0].connections
        await asyncio.sleep(0.06)  # longer than they may be idle
        await asking.list_partition_reassignments()
        assert nodes[0].connections == before + 1
        await eventually(lambda: len(nodes[0]._writers) == 1)


async def test_236_12_the_bootstrap_connection_stays_where_its_node_has_that_address(nodes: Nodes) -> None:
    async with client(nodes[:1]) as asking:
        await asking.list_partition_reassignments()
    assert (nodes[0].asked, nodes[0].connections) == ([API_VERSIONS, METADATA, LIST], 1)


async def test_236_12_calls_at_the_same_time_share_a_connection(nodes: Nodes) -> None:
    async with client(nodes) as asking:
        await asyncio.gather(*(asking.list_partition_reassignments() for _ in range(50)))
    assert nodes[0].asked.count(LIST) == 50
    assert nodes[0].connections <= 2, "one may have been that of the bootstrap"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
async def test_sv_5_a_refused_login_ends_the_attempt_at_once_and_says_why(mechanism: str) -> None:
    async with secured_broker("SASL_PLAINTEXT", mechanism, {"kafka": "right"}) as there:
        at = there.broker.endpoints[1]
        refused = AsyncReassignmentClient(
            bootstrap_servers=f"{at.host}:{at.port}",
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism=mechanism,
            sasl_plain_username="kafka",
            sasl_plain_password="hush",
        )
        with pytest.raises(Unauthenticated, match=rf"^{at.host}:{at.port}: {mechanism}: Authentication failed") as why:
            await refused.start()
    assert "hush" not in str(why.value)


@pytest.mark.both_loops
async def test_sv_5_a_certificate_that_is_missing_or_not_trusted_is_said(tmp_path: Path) -> None:
    """With TLS 1.3 a node refuses a client's certificate after the client has taken the connection for open."""
    ca = Authority("CN=ca")
    trust = ca.pem_truststore(tmp_path / "ca.pem")
    store = ca.issue("CN=broker").pem_keystore(tmp_path / "server.pem")
    context = TlsConfig.of({**store, **trust, "ssl.client.auth": "required"}).load_server().context
    strange = Authority("CN=other").pem_truststore(tmp_path / "other.pem")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        refusing = asyncio.create_task(asyncio.to_thread(refuse_all, listener, context))
        place = f"127.0.0.1:{listener.getsockname()[1]}"
        for trusted, why in (
            (trust, "it refuses this client: certificate required"),
            (strange, "its certificate is refused: "),
        ):
            configs = client_configs(place, {"security.protocol": "SSL", **trusted})
            with pytest.raises(Unauthenticated, match=f"^{place}: {why}"):
                await AsyncReassignmentClient(**configs).start()
        listener.shutdown(socket.SHUT_RDWR)
        await refusing


def refuse_all(listener: socket.socket, context: ssl.SSLContext) -> None:
    """Fail each handshake with an alert, then read to the end, as Java does: an unread byte resets a connection."""
    while True:
        try:
            taken, _ = listener.accept()
        except OSError:
            return
        with context.wrap_socket(taken, server_side=True, do_handshake_on_connect=False) as secured:
            with pytest.raises(ssl.SSLError):
                secured.do_handshake()
            with suppress(OSError):  # the client may be gone already
                secured.shutdown(socket.SHUT_WR)
                while os.read(secured.fileno(), 4096):
                    pass


def test_236_12_a_config_that_is_unknown_or_wrong_is_refused() -> None:
    for configs, why in (
        ({"proxy_url": "socks5://a"}, "Unrecognized configs: proxy_url"),
        ({"request_timeout_ms": "soon"}, "request_timeout_ms"),
        ({"bootstrap_servers": "a:b"}, "Invalid url in bootstrap.servers: \\[hidden\\]"),
        ({"bootstrap_servers": "a:70000"}, "Invalid port in bootstrap.servers: a:70000"),
        ({"bootstrap_servers": []}, "No bootstrap.servers"),
        ({"security_protocol": "TLS"}, "security_protocol: expected one of"),
        ({"security_protocol": "SSL", "ssl_cafile": "/nowhere"}, "ssl_"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "AWS_MSK_IAM"}, "sasl_mechanism: \\[hidden\\] is not"),
        ({"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"}, "sasl_plain_username: PLAIN needs it"),
    ):
        with pytest.raises(ValueError, match=why):
            client_settings(configs)
    found = client_settings({"bootstrap_servers": "PLAINTEXT://a:1,b, [::1]:2"})
    assert [tuple(one) for one in found.addresses] == [("a", 1), ("b", 9092), ("::1", 2)]
    assert client_settings(client_configs("a:1", {"request.timeout.ms": "7"})).configs.request_timeout_ms == 7
