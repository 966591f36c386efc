"""kr-5 to kr-9: servers as processes in front of a stock cluster in KRaft mode, asked by stock tools and clients."""

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError
from kafka_reassign_rpc.client.config_calls import BROKER
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.core.settings.healing_settings import INTERVAL
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED
from kafka_reassign_rpc.core.state.partition import QUEUE, CancelMove, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.leave_cluster import IF_LOST
from kafka_reassign_rpc.protocol.messages import (
    DescribeConfigsRequest,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
)
from kafka_reassign_rpc.security.tls import TlsConfig
from tests.certificates import Authority
from tests.fork_server import CLI, output_of
from tests.http_client import get
from tests.kraft.service import LEAD_S, STATE_TOPIC, Service, client_of
from tests.kraft.stock_cluster import BROKERS
from tests.processes import NotReady
from tests.raw_client import Client, connected
from tests.stock.kraft import VERSION
from tests.stock.ports import kept_ports
from tests.stock.tools import Tools
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.gate]


async def test_kr_9_the_stock_tool_moves_lists_verifies_and_cancels_and_a_cancel_restores_the_order(
    service: Service,
) -> None:
    [slow, quick] = [
        *await service.cluster.create({"slow": [[2, 1]]}, records=200, slow=True),
        *await service.cluster.create({"quick": [[1, 2]]}, records=20),
    ]
    server = await service.start()
    plan, base = service.folder / "plan.json", ["--bootstrap-server", server.ready_value("bootstrap")]
    of_plan = ["--reassignment-json-file", str(plan)]
    with Tools(VERSION) as tools:

        async def run(*args: str) -> str:
            found = await tools.run("reassign-partitions", *base, *args)
            assert found.code == 0, found
            return found.out

        plan.write_text(json.dumps({"version": 1, "partitions": [_entry(slow, 0, [1, 3])]}))
        assert f"Successfully started partition reassignment for {slow}-0" in await run("--execute", *of_plan)
        assert await service.moving() == {TopicPartition(slow, 0)}, "it is answered when the cluster has been told"
        assert f"{slow}-0: replicas: 1,3,2. adding: 3. removing: 2." in await run("--list")
        assert f"Reassignment of partition {slow}-0 is still in progress." in await run("--verify", *of_plan)
        assert f"Successfully cancelled partition reassignment for: {slow}-0" in await run(
            "--cancel", *of_plan, "--preserve-throttles"
        )
        await eventually(lambda: service.named(catalogue.MOVE_CANCELLED) == {TopicPartition(slow, 0): 1})
        assert await service.replicas(slow) == {0: (2, 1)}, "KRaft's own cancel leaves [1, 2]"
        assert "No partition reassignments found." in await run("--list")

        plan.write_text(json.dumps({"version": 1, "partitions": [_entry(quick, 0, [3, 1])]}))
        await run("--execute", *of_plan)
        await eventually(lambda: service.named(catalogue.MOVE_COMPLETED) == {TopicPartition(quick, 0): 1})
        assert f"Reassignment of partition {quick}-0 is completed." in await run("--verify", *of_plan)
    assert await service.replicas(quick) == {0: (3, 1)}


def _entry(topic: str, partition: int, replicas: Sequence[int]) -> dict[str, object]:
    return {"topic": topic, "partition": partition, "replicas": replicas}


async def test_kr_7_moves_wait_for_a_cap_have_a_leased_throttle_and_leave_none_behind(service: Service) -> None:
    [topic] = await service.cluster.create({"queued": [[1, 2]] * 3}, records=100)
    server = await service.start(1_000, "--partition-reassignments-max-per-cluster", "1")
    names = [TopicPartition(topic, index) for index in range(3)]
    terms = MoveTerms((3, 2), route=QUEUE, reason="a new broker", throttle=50_000)
    async with client_of(server) as client:
        assert await client.alter_partition_reassignments(dict.fromkeys(names, terms)) == dict.fromkeys(names)
        most = 0

        async def has_ended() -> bool:
            nonlocal most
            now = await service.moving()
            most = max(most, len(now))
            if now:
                assert await service.throttles(topic)
            return len(service.named(catalogue.MOVE_COMPLETED)) == len(names)

        await eventually(has_ended)
        assert most == 1
        listed = [one async for one in client.reassignment_events()]
    assert {one["reason"] for one in listed if one["event"] == catalogue.MOVE_STARTED} == {"a new broker"}
    assert await service.replicas(topic) == dict.fromkeys(range(3), (3, 2))

    async def unthrottled() -> bool:
        return not await service.throttles(topic)

    await eventually(unthrottled)


async def test_kr_8_what_others_start_at_the_cluster_is_shown_and_left_alone(service: Service) -> None:
    [topic] = await service.cluster.create({"foreign": [[1, 2]]}, records=200, slow=True)
    name = TopicPartition(topic, 0)
    server = await service.start()
    async with service.cluster.client() as direct, client_of(server) as client:
        assert await direct.alter_partition_reassignments({name: (3, 2)}) == {name: None}

        async def is_listed() -> bool:
            return name in await client.list_partition_reassignments()

        await eventually(is_listed)
        assert service.named(catalogue.MOVE_STARTED) == {}
        assert await direct.cancel_partition_reassignments([name]) == {name: None}

        async def is_gone() -> bool:
            return not await is_listed()

        await eventually(is_gone)
    assert {one["event"] for one in service.events()} == {catalogue.CONTROLLER_ELECTED}


async def test_kr_5_after_a_kill_another_server_takes_over_and_each_acknowledged_move_ends_once(
    service: Service,
) -> None:
    [topic] = await service.cluster.create({"kept": [[1, 2]] * 4}, records=50)
    names = [TopicPartition(topic, index) for index in range(4)]
    cap = ("--partition-reassignments-max-per-cluster", "2")
    first = await service.start(1_002, *cap)
    second = await service.start(1_005, *cap)
    terms = MoveTerms((3, 2), route=QUEUE, throttle=20_000)
    async with client_of(second) as client:  # it is shown the one that leads
        assert await client.alter_partition_reassignments(dict.fromkeys(names, terms)) == dict.fromkeys(names)

    async def moves() -> bool:
        return bool(await service.moving())

    await eventually(moves)
    await first.kill()
    host, port = second.ready_value("bootstrap").split(":")
    async with connected((host, int(port))) as wire:
        while (await wire.call(MetadataRequest(version=1, topics=[]), 1)).controller_id != 1_005:
            await asyncio.sleep(0.02)
        listed = await wire.call(ListPartitionReassignmentsRequest(version=0, timeout_ms=10_000, topics=None), 0)
    assert listed.error_code == 0, "while no server leads, a request waits: its sender would go on to the brokers"

    def has_led() -> bool:
        return 1_005 in [one["server"] for one in service.events() if one["event"] == catalogue.CONTROLLER_ELECTED]

    await eventually(has_led)
    await eventually(lambda: service.named(catalogue.MOVE_COMPLETED) == dict.fromkeys(names, 1), within=90)
    assert await service.replicas(topic) == dict.fromkeys(range(4), (3, 2))
    assert service.named(catalogue.MOVE_GONE) == service.named(catalogue.MOVE_CANCELLED) == {}

    async def unthrottled() -> bool:
        return not await service.throttles(topic)

    await eventually(unthrottled)


async def test_kr_5_once_the_state_topic_is_deleted_nothing_is_told_until_somebody_creates_it(service: Service) -> None:
    [topic] = await service.cluster.create({"lost": [[1, 2]]})
    server = await service.start(1_000, "--metrics-listener", "127.0.0.1:0")
    log, has_begun = ("log", "--bootstrap-server", service.cluster.bootstrap), asyncio.Event()
    following = asyncio.create_task(output_of(CLI, (*log, "--follow"), first_line=has_begun))
    await has_begun.wait()
    await service.cluster.delete(STATE_TOPIC)
    await eventually(lambda: "until it is started again, this server decides nothing" in server.log)
    assert f"the topic {STATE_TOPIC} was deleted" in server.log

    async def is_shown() -> bool:
        found = await get(server.ready_value("metrics"), "/metrics")
        return b"\nkafka_reassign_zookeeper_connected 0.0\n" in found.body

    await eventually(is_shown)
    ready, health = [await get(server.ready_value("metrics"), path) for path in ("/ready", "/health")]
    assert (ready.status, f"the topic {STATE_TOPIC} was deleted" in ready.body.decode()) == (503, True)
    assert health.status == 200, "a supervisor that starts it again would decide what is for a person to decide"
    async with AsyncReassignmentClient(
        bootstrap_servers=server.ready_value("bootstrap"), request_timeout_ms=1_000
    ) as client:
        with pytest.raises(KafkaError):
            await client.alter_partition_reassignments({TopicPartition(topic, 0): (2, 1)})
    assert await service.replicas(topic) == {0: (1, 2)}
    followed, afterwards = await following, await output_of(CLI, log)
    assert (followed.code, afterwards.code) == (1, 1)
    assert f"kafka-reassign-rpc log: the topic {STATE_TOPIC} was deleted" in followed.err.splitlines()[-1]
    assert afterwards.err == f"kafka-reassign-rpc log: there is no topic {STATE_TOPIC}\n"
    assert await server.stop() == 0
    with pytest.raises(NotReady, match=f"the topic {STATE_TOPIC} is gone, and servers have led by it") as refused:
        await service.start(1_003)
    await _create_as_told(service, str(refused.value))
    again = await service.start(1_004)
    async with client_of(again) as client:
        assert await client.alter_partition_reassignments({TopicPartition(topic, 0): (2, 1)}) == {(topic, 0): None}


async def _create_as_told(service: Service, text: str) -> None:
    command = re.search("kafka-topics.sh (.*)", text)
    assert command is not None
    with Tools(VERSION) as tools:
        made = await tools.run("topics", *command[1].replace("HOST:PORT", service.cluster.bootstrap).split())
        assert made.code == 0, made


async def test_kr_11_leave_ends_what_moves_withdraws_what_waits_gives_throttles_back_and_deletes_the_log_when_told(
    service: Service,
) -> None:
    [topic] = await service.cluster.create({"left": [[1, 2]] * 3}, records=100)
    names = [TopicPartition(topic, index) for index in range(3)]
    terms = MoveTerms((3, 2), route=QUEUE, reason="a new broker", throttle=5_000)
    server = await service.start(1_000, "--partition-reassignments-max-per-cluster", "1")
    async with client_of(server) as client:
        assert await client.alter_partition_reassignments(dict.fromkeys(names, terms)) == dict.fromkeys(names)

    async def is_throttled() -> bool:
        return bool(await service.moving()) and bool(await service.throttles(topic))

    await eventually(is_throttled)
    to = ("--bootstrap-server", service.cluster.bootstrap)
    status = await output_of(CLI, ("status", *to, "--json"))
    assert (status.code, status.err) == (0, "")
    assert status.document["controller"]["id"] == 1_000
    assert {one["partition"] for one in status.document["moves"] if one["topic"] == topic} == {0, 1, 2}
    assert status.document["waiting"] >= 2
    cap = ("--partition-reassignments-max-per-cluster", "0")
    checked = await output_of(CLI, ("check", *to, "--broker-id", "1001", *cap, "--json"))
    assert (checked.code, checked.document["safe"]) == (0, True), checked
    said = [one["text"].partition(":")[0] for one in checked.document["findings"] if one["subject"] == "settings"]
    assert said == ["no setting is set for all servers", "partition.reassignments.max.per.cluster=0"]
    file = service.folder / "left.json"
    leave = ("leave", *to, "--state-log-lead-ms", str(round(LEAD_S * 1_000)), "--yes")
    ended = await output_of(CLI, (*leave, "--export", str(file), "--delete-topic"))
    assert (ended.code, ended.err) == (0, ""), ended
    assert ended.lines[-1] == "Nothing of kafka-reassign-rpc is left in this cluster."
    assert await service.throttles(topic) == []
    assert not {name for name in await service.moving() if name.topic == topic}
    left = [index for index, replicas in (await service.replicas(topic)).items() if replicas == (1, 2)]
    kept = [one["partition"] for one in json.loads(file.read_text())["partitions"] if one["topic"] == topic]
    assert left, "what waited has not begun"
    assert kept == left, "what moved has ended"
    again = await output_of(CLI, leave)
    assert (again.code, again.lines) == (0, [f"{ended.lines[-1]} {IF_LOST}"])
    await eventually(lambda: "until it is started again, this server decides nothing" in server.log)
    assert await server.stop() == 0

    unfit = await output_of(CLI, ("check", *to, "--broker-id", "1001"))
    assert unfit.code == 1
    await _create_as_told(service, unfit.out)
    await service.start(1_002, "--import", str(file))

    async def has_moved() -> bool:
        return await service.replicas(topic) == dict.fromkeys(range(3), (3, 2))

    await eventually(has_moved, within=90)


async def test_kr_11_servers_go_on_as_before_where_leave_has_waited_long_enough(service: Service) -> None:
    [topic] = await service.cluster.create({"stays": [[1, 2]]}, records=100)
    server = await service.start(1_003)
    async with client_of(server) as client:
        await client.change_settings({INTERVAL: "600000"})
        name, terms = TopicPartition(topic, 0), MoveTerms((3, 2), throttle=5_000)
        assert await client.alter_partition_reassignments({name: terms}) == {name: None}
        to = ("--bootstrap-server", service.cluster.bootstrap, "--state-log-lead-ms", str(round(LEAD_S * 1_000)))
        ended = await output_of(CLI, ("leave", *to, "--yes", "--wait-seconds", "1"))
        assert (ended.code, "servers go on with it" in ended.err) == (1, True), ended

        async def leads_again() -> bool:
            try:
                found = {one.name: one.value for one in await client.settings()}
            except KafkaError:
                return False
            return (found[INTERVAL], found[ENABLED]) == ("600000", "true")

        await eventually(leads_again, within=30)
        await client.change_settings({INTERVAL: None})
        assert await client.alter_partition_reassignments({name: CancelMove()}) == {name: None}


async def test_kr_11_of_two_servers_with_one_id_the_second_says_so_and_leads_once_the_first_has_ended(
    service: Service,
) -> None:
    first = await service.start(1_005)
    second = await service.start(1_005, "--data-dir", str(service.folder / "second"))
    said = f"another server has its id, 1005, and leads at {first.ready_value('bootstrap')}"
    await eventually(lambda: said in second.log)
    assert second.log.count("another server has its id") == 1
    await first.kill()

    async with client_of(second) as client:
        # To clients it has the controller's id at all times: nothing but its answer shows whether it leads.
        await eventually(lambda: _changes_settings(client))
        await client.change_settings({INTERVAL: None})
    await second.kill()
    again = await service.start(1_005)
    async with client_of(again) as client:
        await client.change_settings({INTERVAL: "600000"})
        await client.change_settings({INTERVAL: None})
    # All three have one log: that of the one that was started again has no such line.
    assert again.log.count("another server has its id") == 1, "one that was killed is no other server"


async def _changes_settings(client: AsyncReassignmentClient) -> bool:
    try:
        await client.change_settings({INTERVAL: "600000"})
    except NotController:
        return False
    return True


async def test_kr_11_check_says_which_rights_a_login_lacks(service: Service) -> None:
    config = _login_of_guest(service)
    to = ("--bootstrap-server", f"127.0.0.1:{service.cluster.secured[1]}", "--command-config", config)
    checked = await output_of(CLI, ("check", *to, "--listeners", "SASL_PLAINTEXT://127.0.0.1:0"))
    assert checked.code == 1
    assert "lacks ALTER, ALTER_CONFIGS, DESCRIBE, DESCRIBE_CONFIGS on the cluster" in checked.out
    assert checked.lines[-1] == "It is NOT safe for a kafka-reassign-rpc server to be put in front of this cluster."


async def test_kr_11_what_leave_kept_in_zookeeper_mode_is_taken_in_once(service: Service) -> None:
    [topic] = await service.cluster.create({"imported": [[1, 2]]}, records=20)
    name, file = TopicPartition(topic, 0), service.folder / "left.json"
    queue = {"version": 1, "partitions": [_entry(topic, 0, [3, 2])]}
    file.write_text(json.dumps({"cluster": "another", "queue": queue}))
    with pytest.raises(NotReady, match="is of cluster another, this one is") as refused:
        await service.start(1_000, "--import", str(file))
    assert "Traceback" not in str(refused.value)
    file.write_text(json.dumps({"cluster": service.cluster.nodes[1].cluster_id, "queue": queue}))
    first = await service.start(1_001, "--import", str(file))
    await eventually(lambda: service.named(catalogue.MOVE_COMPLETED) == {name: 1})
    assert f"{file}: 1 move waits" in first.log
    assert await first.stop() == 0
    async with service.cluster.client() as direct:
        assert await direct.alter_partition_reassignments({name: (1, 2)}) == {name: None}

    async def is_back() -> bool:
        return (await service.replicas(topic), await service.moving()) == ({0: (1, 2)}, set())

    await eventually(is_back)
    second = await service.start(1_002, "--import", str(file))
    assert f"{file} was taken in before, and changes nothing" in second.log
    assert await is_back()
    assert service.named(catalogue.MOVE_STARTED) == {name: 1}


async def test_kr_9_a_client_of_ours_that_lives_on_holds_to_the_server_whichever_broker_it_asks(
    service: Service,
) -> None:
    server = await service.start(1_003)
    async with AsyncReassignmentClient(
        bootstrap_servers=server.ready_value("bootstrap"), metadata_max_age_ms=0
    ) as client:
        for _ in range(20):  # each asks for the nodes again, and any of them
            assert {*await client.describe_broker_configs(BROKERS)} == {*BROKERS}
            await client.describe_cluster()
            assert await client.can_compare_replicas()


async def test_kr_9_a_login_without_the_rights_of_the_service_ends_its_start_with_one_line(service: Service) -> None:
    config = _login_of_guest(service)
    with pytest.raises(NotReady, match="lacks ALTER, ALTER_CONFIGS, DESCRIBE, DESCRIBE_CONFIGS on the cluster"):
        await service.started.start(
            "guest",
            *("serve", "--bootstrap-server", f"127.0.0.1:{service.cluster.secured[1]}"),
            *("--command-config", config, "--listeners", "SASL_PLAINTEXT://127.0.0.1:0"),
            *("--data-dir", str(service.folder)),
        )


def _login_of_guest(service: Service) -> str:
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="guest" password="guest-secret";'
    config = service.folder / "guest.properties"
    config.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={login}\n")
    return str(config)


async def test_kr_9_a_client_that_lives_on_finds_each_broker_by_its_name_here_although_the_server_began_again(
    service: Service, tmp_path: Path
) -> None:
    """It asks for the names that it knows, and nobody has bootstrapped yet."""
    ca, host, port = Authority("CN=ca"), "front.test", kept_ports(1)[0]
    store = ca.issue("CN=front", hosts=(host, f"*.{host}")).pem_keystore(tmp_path / "front.pem")
    keystore = [part for name, value in store.items() for part in (f"--{name.replace('.', '-')}", value)]
    listeners = ("--listeners", f"SSL://127.0.0.1:{port}", "--advertised-listeners", f"SSL://{host}:{port}")
    await service.start(1_000, "--front-nodes", "names", *listeners, *keystore)
    tls = TlsConfig.of(ca.pem_truststore(tmp_path / "ca.pem")).load_client().context
    for broker in BROKERS:
        name = f"broker-{broker}.{host}"
        client = Client(*await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname=name))
        own = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=BROKER, resource_name=str(broker), configuration_keys=["node.id"]
        )
        asked = DescribeConfigsRequest(resources=[own], include_synonyms=False, include_documentation=False)
        [found] = (await client.call(asked, 1)).results
        assert found.error_code == 0, "no other broker tells the configs of this one"
        await client.close()
