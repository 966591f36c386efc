"""kr-9: stock tools and clients pointed at the front of a stock cluster."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from kafka import KafkaAdminClient
from kafka.errors import TopicAuthorizationFailedError

from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError, Unreachable
from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.front import FrontNodes
from kafka_reassign_rpc.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    ApiVersionsRequest,
    DescribeClusterRequest,
    MetadataRequest,
    ProduceRequest,
)
from kafka_reassign_rpc.protocol.served_connection import MAX_REQUEST_BYTES
from kafka_reassign_rpc.security.sasl.sasl_config import MAX_RECEIVE_SIZE
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.server.listener import tls_context
from kafka_reassign_rpc.server.server_limits import ServerLimits
from kafka_reassign_rpc.support.host_port import Address
from tests.certificates import Authority
from tests.kraft.front.fronts import ALTER, LIST, NODE, Fronted, fronted
from tests.kraft.stock_cluster import BROKERS, SCRAM, SCRAM_USER, StockCluster, login_of
from tests.raw_client import connected
from tests.stock.jars import EACH_TOOL, require
from tests.stock.tools import Tools
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.gate]

SASL = "SASL_PLAINTEXT"
DESCRIBE_CLUSTER = 60


@asynccontextmanager
async def tools_of(version: str) -> AsyncIterator[Tools]:
    require(version)
    tools = Tools(version)
    await asyncio.to_thread(tools.start)
    try:
        yield tools
    finally:
        await asyncio.to_thread(tools.stop)


def command_config(folder: Path, user: str) -> str:
    path = folder / f"{user}.properties"
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    path.write_text(
        f"security.protocol={SASL}\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={module} required username="{user}" password="{user}-secret";\n'
    )
    return str(path)


async def moves_by_the_tool(tools: Tools, front: Fronted, cluster: StockCluster, plan: Path, *login: str) -> None:
    """Execute, list, verify, cancel, verify."""
    topic = plan.stem
    moves = [{"topic": topic, "partition": 0, "replicas": [3, 1]}]
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    base = ["--bootstrap-server", front.bootstrap, *login]
    of_plan = ["--reassignment-json-file", str(plan)]

    async def run(*args: str) -> str:
        found = await tools.run("reassign-partitions", *base, *args)
        assert found.code == 0, found
        return found.out

    started = await run("--execute", *of_plan, "--throttle", "1")
    assert f"Successfully started partition reassignment for {topic}-0" in started
    assert f"{topic}-0: replicas: 3,1,2. adding: 3. removing: 2." in await run("--list")
    assert f"Reassignment of partition {topic}-0 is still in progress." in await run("--verify", *of_plan)
    cancelled = await run("--cancel", *of_plan)
    assert f"Successfully cancelled partition reassignment for: {topic}-0" in cancelled
    assert f"{','.join(map(str, BROKERS))}" in cancelled  # whose throttles are cleared: ours is no broker
    assert str(NODE) not in cancelled
    assert "No partition reassignments found." in await run("--list")
    async with cluster.client() as client:
        assert (await client.describe_topics([topic]))[topic][0].replicas == (1, 2)  # type: ignore[index]


@pytest.mark.parametrize("version", EACH_TOOL)
async def test_kr_9_stock_tools_move_and_cancel_by_the_front_with_and_without_a_login(
    cluster: StockCluster, tmp_path: Path, version: str
) -> None:
    names = await cluster.create({one: [[1, 2]] for one in ("tool", "tool-sasl", "tool-ports")}, records=200)
    login = ["--command-config", command_config(tmp_path, "admin")]
    async with tools_of(version) as tools:
        async with fronted(cluster) as front:
            await moves_by_the_tool(tools, front, cluster, tmp_path / f"{names[0]}.json")
            assert {key for key, _ in front.handler.asked} == {ALTER, LIST}
            found = [key for key, _ in front.handler.asked]
            assert (found.count(ALTER), found.count(LIST) >= 5) == (2, True)
        async with fronted(cluster, protocol=SASL) as front:
            await moves_by_the_tool(tools, front, cluster, tmp_path / f"{names[1]}.json", *login)
            assert [key for key, _ in front.handler.asked].count(ALTER) == 2
            guest = ["--command-config", command_config(tmp_path, "guest")]
            before = len(front.handler.asked)
            refused = await tools.run("reassign-partitions", "--bootstrap-server", front.bootstrap, *guest, "--list")
            assert refused.code == 1
            assert "ClusterAuthorizationException" in refused.err + refused.out
            assert len(front.handler.asked) == before
        async with fronted(cluster, protocol=SASL, nodes=FrontNodes.PORTS) as front:
            await moves_by_the_tool(tools, front, cluster, tmp_path / f"{names[2]}.json", *login)
            assert [key for key, _ in front.handler.asked].count(ALTER) == 2


async def test_kr_9_a_client_that_lives_on_stays_where_each_broker_has_a_port_of_ours(cluster: StockCluster) -> None:
    async with fronted(cluster, nodes=FrontNodes.PORTS) as front:

        def lists() -> int:
            admin = KafkaAdminClient(bootstrap_servers=front.bootstrap, client_id="long", metadata_max_age_ms=100)
            count, until = 0, time.monotonic() + 1.0
            try:
                while time.monotonic() < until:  # it asks for metadata ten times
                    admin.list_partition_reassignments()
                    admin.describe_cluster()
                    admin.list_topics()
                    count += 1
            finally:
                admin.close()
            return count

        assert await asyncio.to_thread(lists) == len(front.of("long"))
        async with AsyncReassignmentClient(
            bootstrap_servers=front.bootstrap, client_id="ours", metadata_max_age_ms=1
        ) as client:
            for _ in range(4):
                await client.list_partition_reassignments()
                nodes = await client.describe_cluster()
            assert {one.id for one in nodes} == set(BROKERS)
            own = {one.port for one in nodes} & {node.port for node in cluster.nodes.values()}
            assert not own
            configs = await client.describe_broker_configs(BROKERS)
            assert not any(isinstance(one, Exception) for one in configs.values())
        assert front.of("ours") == [LIST] * 4


async def test_kr_9_a_caller_has_the_rights_that_the_cluster_gives_it_and_no_others(cluster: StockCluster) -> None:
    [topic] = await cluster.create({"rights": [[1, 2]]})
    name = TopicPartition(topic, 0)
    async with fronted(cluster, protocol=SASL) as front:
        async with AsyncReassignmentClient(bootstrap_servers=front.bootstrap, **login_of("guest")) as guest:
            with pytest.raises(ClusterAuthorizationFailed):
                await guest.alter_partition_reassignments({name: [1, 3]})
            with pytest.raises(ClusterAuthorizationFailed):
                await guest.list_partition_reassignments()
        assert front.handler.asked == []
        wrong = login_of("admin") | {"sasl_plain_password": "wrong"}
        with pytest.raises(Exception, match="Invalid username or password"):
            async with AsyncReassignmentClient(bootstrap_servers=front.bootstrap, **wrong):
                pass
        async with AsyncReassignmentClient(bootstrap_servers=front.bootstrap, **login_of("admin")) as admin:
            assert await admin.alter_partition_reassignments({name: [2, 1]}) == {name: None}
        assert [key for key, _ in front.handler.asked] == [ALTER]
        assert front.principals == {"User:admin"}


async def test_kr_9_what_is_relayed_has_the_rights_of_its_caller_and_the_cluster_refuses_the_rest(
    cluster: StockCluster,
) -> None:
    [topic] = await cluster.create({"guarded": [[1, 2]]})
    changes = {(TOPIC, topic): {"retention.ms": "1"}, (BROKER, "2"): {"leader.replication.throttled.rate": "1"}}
    async with fronted(cluster, protocol=SASL, nodes=FrontNodes.PORTS) as front:
        async with AsyncReassignmentClient(bootstrap_servers=front.bootstrap, **login_of("guest")) as guest:
            refused = await guest.change_configs(changes)
            assert {key: type(one) for key, one in refused.items()} == {
                (TOPIC, topic): TopicAuthorizationFailed,
                (BROKER, "2"): ClusterAuthorizationFailed,
            }
        async with AsyncReassignmentClient(bootstrap_servers=front.bootstrap, **login_of("admin")) as admin:
            assert set((await admin.change_configs(changes)).values()) == {None}
            undone = {key: dict.fromkeys(some) for key, some in changes.items()}
            assert set((await admin.change_configs(undone)).values()) == {None}

        def create(user: str) -> None:
            by_user = KafkaAdminClient(bootstrap_servers=front.bootstrap, **login_of(user))
            try:
                by_user.create_topics({"of-a-guest": {"num_partitions": 1, "replication_factor": 1}})
            finally:
                by_user.close()

        with pytest.raises(TopicAuthorizationFailedError):
            await asyncio.to_thread(create, "guest")
        async with cluster.client() as direct:
            assert isinstance((await direct.describe_topics(["of-a-guest"]))["of-a-guest"], UnknownTopicOrPartition)
        assert front.handler.asked == [], "none of these is answered here"


async def test_kr_9_a_login_of_several_steps_is_handed_on_to_the_broker(cluster: StockCluster) -> None:
    password = f"{SCRAM_USER}-secret"

    def give_password() -> None:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4_096)
        wanted = UserScramCredentialUpsertion(SCRAM_USER, credential, password.encode())
        for done in admin.alter_user_scram_credentials([wanted]).values():
            done.result()

    await asyncio.to_thread(give_password)
    [topic] = await cluster.create({"scram": [[1, 2]]})
    name, login = TopicPartition(topic, 0), login_of(SCRAM_USER, SCRAM)
    async with fronted(cluster, protocol=SASL, nodes=FrontNodes.PORTS) as front:

        async def may_log_in() -> bool:
            """Each broker learns the password by itself."""
            try:
                async with AsyncReassignmentClient(bootstrap_servers=front.bootstrap, **login) as client:
                    return {*await client.describe_broker_configs(BROKERS)} == {*BROKERS}
            except KafkaError:
                return False

        await eventually(may_log_in)
        async with AsyncReassignmentClient(bootstrap_servers=front.bootstrap, **login) as client:
            assert await client.alter_partition_reassignments({name: [2, 1]}) == {name: None}
        assert front.principals == {f"User:{SCRAM_USER}"}
        with pytest.raises(Exception, match="invalid credentials"):
            async with AsyncReassignmentClient(
                bootstrap_servers=front.bootstrap, **login | {"sasl_plain_password": "wrong"}
            ):
                pass
        assert [key for key, _ in front.handler.asked] == [ALTER]


async def test_kr_9_a_lost_answer_about_rights_ends_the_connection_and_nothing_is_done(cluster: StockCluster) -> None:
    [topic] = await cluster.create({"asked": [[1, 2]]})
    of = AlterPartitionReassignmentsRequest.ReassignableTopic
    wanted = of(name=topic, partitions=[of.ReassignablePartition(partition_index=0, replicas=[2, 1])])
    request = AlterPartitionReassignmentsRequest(timeout_ms=9_000, topics=[wanted], queue=False)
    async with cluster.losing() as proxy, fronted(cluster, brokers=[Address("127.0.0.1", proxy.port)]) as front:
        async with connected(front.at) as client:
            proxy.loses = {DESCRIBE_CLUSTER}
            await client.send(client.request(request, 0))
            assert await client.is_closed()
        assert (proxy.lost, front.handler.asked) == (1, [])
        proxy.loses = set()
        async with connected(front.at) as client:
            answer = await client.call(request, 0)
            assert (answer.error_code, answer.responses[0].partitions[0].error_code) == (0, 0)


async def test_kr_9_a_client_goes_on_after_the_broker_behind_it_has_died(cluster: StockCluster) -> None:
    async with fronted(cluster, nodes=FrontNodes.PORTS) as front, connected(front.at) as idle:
        patient = {"request_timeout_ms": 60_000, "client_id": "patient"}
        async with AsyncReassignmentClient(bootstrap_servers=front.bootstrap, **patient) as client:
            assert len(await client.describe_cluster()) == len(BROKERS)
            ports = {one.id: one.port for one in await client.describe_cluster()}
            async with connected(("127.0.0.1", ports[3])) as third:
                await third.call(MetadataRequest(version=1, topics=[]), 1)
                await cluster.nodes[3].kill()
                try:
                    assert await third.is_closed()
                    assert await client.list_partition_reassignments() == {}
                    async with connected(("127.0.0.1", ports[3])) as another:
                        await another.send(another.request(MetadataRequest(version=1, topics=[]), 1))
                        assert await another.is_closed()
                    await idle.call(MetadataRequest(version=1, topics=[]), 1)
                finally:
                    await cluster.nodes[3].start()

            async def is_back() -> bool:
                async with connected(("127.0.0.1", ports[3])) as again:
                    answer = await again.call(MetadataRequest(version=1, topics=[]), 1)
                    return {one.port for one in answer.brokers} == set(ports.values())

            await eventually(is_back)


async def test_kr_9_before_a_login_frames_are_small_time_is_short_and_nothing_is_served(cluster: StockCluster) -> None:
    limits = ServerLimits(slow_client_timeout_ms=1_500)
    alter = AlterPartitionReassignmentsRequest(timeout_ms=9_000, topics=[], queue=False)
    async with fronted(cluster, protocol=SASL, limits=limits) as front:
        for size in (MAX_RECEIVE_SIZE + 1, 2**31 - 1, -1):
            async with connected(front.at) as client:
                await client.send(size.to_bytes(4, "big", signed=True))
                assert await client.is_closed()
        async with connected(front.at) as client:
            await client.send(client.request(alter, 0))
            assert await client.is_closed()
        async with connected(front.at) as client:
            await client.send(b"\0\0\0\2\0\3")
            assert await client.is_closed()
        async with connected(front.at) as client:
            assert (await client.call(ApiVersionsRequest(version=0), 0)).error_code == 0
            assert await client.is_closed()  # it had its time
        assert front.handler.asked == []
        assert front.front.server.stats.connections_silent_closed == 1
        assert front.front.server.stats.handler_failures == 0


async def test_kr_9_what_the_front_does_not_have_ends_the_connection_and_a_newer_client_learns_what_it_has(
    cluster: StockCluster,
) -> None:
    async with fronted(cluster) as front:
        async with connected(front.at) as client:
            newer = bytearray(
                client.request(ApiVersionsRequest(version=4, client_software_name="a", client_software_version="1"), 4)
            )
            newer[6:8] = b"\0\5"
            await client.send(bytes(newer))
            answer = await client.frame()
            assert answer == b"\0\0\0\1" + b"\0\x23" + b"\0\0\0\1" + b"\0\x12\0\0\0\4"
            shown = {one.api_key for one in (await client.call(ApiVersionsRequest(version=0), 0)).api_keys}
            assert {ALTER, LIST, DESCRIBE_CLUSTER} <= shown
            assert not {0, 1, 11, 22} & shown
            await client.send(
                client.request(ProduceRequest(version=9, transactional_id=None, acks=1, timeout_ms=1, topic_data=[]), 9)
            )
            assert await client.is_closed()
        async with connected(front.at) as client:
            await client.send((MAX_REQUEST_BYTES + 1).to_bytes(4, "big"))
            assert await client.is_closed()
        async with connected(front.at) as client:
            asked = DescribeClusterRequest(version=0, include_cluster_authorized_operations=False)
            found = await client.call(asked, 0)
            assert {one.broker_id for one in found.brokers} == set(BROKERS)
            metadata = await client.call(MetadataRequest(version=1, topics=[]), 1)
            assert (metadata.controller_id, len(metadata.brokers)) == (NODE, len(BROKERS) + 1)


async def test_kr_9_over_tls_a_login_is_handed_on_and_a_certificate_alone_is_refused(
    cluster: StockCluster, tmp_path: Path
) -> None:
    ca = Authority("CN=ca")
    trust = ca.pem_truststore(tmp_path / "ca.pem")
    own = ca.issue("CN=front").pem_keystore(tmp_path / "front.pem")
    tls = tls_context("FRONT", TlsConfig.of({**own, **trust, "ssl.client.auth": "requested"}))
    without = TlsConfig.of(trust).load_client().context
    certified = TlsConfig.of({**trust, **ca.issue("CN=a").pem_keystore(tmp_path / "a.pem")}).load_client().context
    async with fronted(cluster, protocol="SASL_SSL", nodes=FrontNodes.PORTS, tls=tls) as front:
        admin = login_of("admin") | {"security_protocol": "SASL_SSL", "ssl_context": certified}
        async with AsyncReassignmentClient(bootstrap_servers=front.bootstrap, **admin) as client:
            await client.list_partition_reassignments()
            assert not any(
                isinstance(one, Exception) for one in (await client.describe_broker_configs(BROKERS)).values()
            )
        assert [key for key, _ in front.handler.asked] == [LIST]
    async with fronted(cluster, protocol="SSL", tls=tls) as front:
        anybody = {"security_protocol": "SSL", "bootstrap_servers": front.bootstrap, "bootstrap_timeout_ms": 1_000}
        async with AsyncReassignmentClient(**anybody, ssl_context=without) as client:
            await client.list_partition_reassignments()
        with pytest.raises(Unreachable):
            async with AsyncReassignmentClient(**anybody, ssl_context=certified):
                pass
        assert front.front.server.stats.connections_unauthenticated


async def test_kr_9_a_client_that_lives_on_stays_where_each_broker_has_a_name_of_ours_that_the_certificate_has(
    cluster: StockCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    host, last = "front.test", max(BROKERS)
    resolve = socket.getaddrinfo

    def here(name: str | None, *more: Any, **named: Any) -> Any:
        return resolve("127.0.0.1" if name == host or (name or "").endswith(f".{host}") else name, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", here)
    ca = Authority("CN=ca")
    trust = ca.pem_truststore(tmp_path / "ca.pem")
    names = (host, *(f"broker-{one}.{host}" for one in BROKERS if one != last))
    own = ca.issue("CN=front", hosts=names).pem_keystore(tmp_path / "front.pem")
    tls = tls_context("FRONT", TlsConfig.of(own), keeps_names=True)
    secured = {"security_protocol": "SASL_SSL", "ssl_context": TlsConfig.of(trust).load_client().context}
    async with fronted(cluster, protocol="SASL_SSL", nodes=FrontNodes.NAMES, host=host, tls=tls) as front:
        at = f"{host}:{front.at[1]}"
        login = login_of("admin") | secured | {"metadata_max_age_ms": 1}
        async with AsyncReassignmentClient(bootstrap_servers=at, **login) as client:
            await client.list_partition_reassignments()
            nodes = {one.id: Address(one.host, one.port) for one in await client.describe_cluster()}
            assert {one: place for one, place in nodes.items() if one != last} == {
                one: Address(f"broker-{one}.{host}", front.at[1]) for one in BROKERS if one != last
            }
            assert nodes[last] == Address("127.0.0.1", cluster.secured[last])
            assert f"broker {last} has no place of its own" in caplog.text
            assert f"the certificate has not the name broker-{last}.{host}" in caplog.text
            for one in BROKERS:
                if one != last:  # a broker refuses configs of another one, so the one that was named has answered
                    assert not isinstance((await client.describe_broker_configs([one]))[one], KafkaError)
            ca.issue("CN=front", hosts=(host, f"*.{host}")).pem_keystore(tmp_path / "front.pem")
            assert await tls.check()
            await client.list_partition_reassignments()  # its metadata is old
            places = {one.id: one.host for one in await client.describe_cluster()}
            assert places == {one: f"broker-{one}.{host}" for one in BROKERS}


async def test_kr_9_large_requests_come_through_with_all_outcomes(cluster: StockCluster) -> None:
    [topic] = await cluster.create({"large": [[1, 2]]})
    names = [TopicPartition(topic, one) for one in range(2_500)]
    async with fronted(cluster, protocol=SASL) as front:
        async with AsyncReassignmentClient(bootstrap_servers=front.bootstrap, **login_of("admin")) as client:
            found = await client.alter_partition_reassignments(dict.fromkeys(names, (2, 1)))
            assert [found[name] for name in names[:1]] == [None]
            assert {type(found[name]) for name in names[1:]} == {UnknownTopicOrPartition}
            configs = {(TOPIC, f"no-such-topic-{one}"): {"retention.ms": "1"} for one in range(500)}
            refused = await client.change_configs(configs)  # relayed
            assert {type(one) for one in refused.values()} == {UnknownTopicOrPartition}
        async with AsyncReassignmentClient(bootstrap_servers=front.bootstrap, **login_of("guest")) as guest:
            with pytest.raises(ClusterAuthorizationFailed):
                await guest.alter_partition_reassignments(dict.fromkeys(names, (2, 1)))
        assert [key for key, _ in front.handler.asked] == [ALTER]


async def test_kr_9_connections_of_one_address_are_counted(cluster: StockCluster) -> None:
    async with fronted(cluster, limits=ServerLimits(max_connections_per_ip=1)) as front, connected(front.at) as first:
        await first.call(MetadataRequest(version=1, topics=[]), 1)
        async with connected(front.at) as second:
            assert await second.is_closed()
        await first.call(MetadataRequest(version=1, topics=[]), 1)
