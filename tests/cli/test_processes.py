"""Commands as processes: the ready line, port 0, Ctrl-C, no process left behind, data kept between starts."""

import asyncio
import json
import signal
import socket
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from kafka_reassign_rpc.cli.own_cluster import ChildFailed, fleet_process
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.znode_contents import encode_broker
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.faults.cluster import address_of, alter, listed, metadata
from tests.fork_server import CLI, output_of
from tests.http_client import get
from tests.processes import Processes, children_of, ended, exists
from tests.waiting import eventually

MIGRATION = (
    b'{"version":0,"kraft_controller_id":3000,"kraft_controller_epoch":1,"kraft_metadata_offset":100,'
    b'"kraft_metadata_epoch":1}'
)
"""As a KRaft controller of Kafka 3.9 writes it (ZkData.MigrationZNode)."""
PORT_0 = ("--listeners", "PLAINTEXT://127.0.0.1:0")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_sv_1_zookeeper_says_where_it_is_ends_on_a_signal_and_keeps_its_data(
    commands: Processes, tmp_data: Path, number: int
) -> None:
    arguments = ("zookeeper", "--port", "0", "--data-dir", str(tmp_data))
    command = await commands.start("zookeeper", *arguments)
    assert command.ready_line == f"ready zookeeper={command.ready_value('zookeeper')}"
    async with ZooKeeper(command.ready_value("zookeeper")) as zk:
        await zk.create("/kept", b"data")
    children = children_of(command.pid)
    assert children

    assert await command.stop(number) == 0

    assert await command.rest_of_output() == b""
    assert "Traceback" not in command.log
    assert not [child for child in children if exists(child)]
    again = await commands.start("zookeeper", *arguments)
    async with ZooKeeper(again.ready_value("zookeeper")) as zk:
        assert (await zk.get("/kept"))[0] == b"data"


async def test_sv_1_a_killed_zookeeper_command_leaves_no_server_behind(commands: Processes, tmp_data: Path) -> None:
    command = await commands.start("zookeeper", "zookeeper", "--port", "0", "--data-dir", str(tmp_data))
    children = children_of(command.pid)
    assert children

    await command.kill()

    await eventually(lambda: not any(map(exists, children)))


async def test_sv_1_serve_says_where_it_is_and_which_brokers_there_are(
    commands: Processes, zk_connect: str, tmp_data: Path
) -> None:
    alone = await commands.start("alone", "serve", "--zookeeper-connect", zk_connect, *PORT_0)
    assert alone.ready_value("brokers") == "none"
    assert alone.ready_value("zookeeper") == zk_connect
    assert (await listed(address_of(alone.ready_value("bootstrap")))).error_code == 0
    fleet = await commands.start(
        "fleet", "fleet", "--zookeeper-connect", zk_connect, "--broker-ids", "4,5", "--data-dir", str(tmp_data)
    )
    assert fleet.ready_line == "ready brokers=4,5"
    second = await commands.start("two", "serve", "--zookeeper-connect", zk_connect, *PORT_0, "--broker-id", "1001")
    assert second.ready_value("brokers") == "4,5"

    for process in (second, fleet, alone):
        assert await process.stop(signal.SIGINT) == 0
        assert await process.rest_of_output() == b""
        assert "Traceback" not in process.log


async def test_sv_1_serve_reads_its_file_and_listens_where_it_says(
    commands: Processes, zk_connect: str, tmp_path: Path
) -> None:
    file = tmp_path / "server.toml"
    file.write_text(f'"zookeeper.connect" = "{zk_connect}"\nlisteners = "PLAINTEXT://127.0.0.1:0"\n[broker]\nid = 77\n')

    command = await commands.start("serve", "serve", "--config", str(file))

    seen = await metadata(address_of(command.ready_value("bootstrap")))
    assert seen.controller_id == 77


LONGEST_STRING = 2**15 - 1
"""Bytes."""


async def test_sv_7_a_request_with_the_longest_name_is_a_short_line(
    commands: Processes, zk_connect: str, tmp_data: Path
) -> None:
    command = await commands.start(
        "serve", "serve", "--zookeeper-connect", zk_connect, *PORT_0, "--data-dir", str(tmp_data)
    )
    names = [(letter * (LONGEST_STRING // len(letter.encode())), 0) for letter in "\x01é"]
    for name in names:
        assert await alter(address_of(command.ready_value("bootstrap")), {name: None}) == {name: 85}
    assert await command.stop() == 0
    assert command.log.count("move.refused") == len(names)
    assert len(command.log) < 10_000
    (file,) = (tmp_data / "events-1000").glob("refusals-*.jsonl")
    assert file.stat().st_size < 10_000
    (file,) = (tmp_data / "events-1000").glob("events-*.jsonl")
    assert file.stat().st_size < 1_000


async def test_sv_7_serve_shows_what_it_does_and_records_it_where_it_is_set_to(
    commands: Processes, zk_connect: str, tmp_path: Path, tmp_data: Path
) -> None:
    arguments = ("serve", "--zookeeper-connect", zk_connect, *PORT_0)
    command = await commands.start(
        "serve", *arguments, "--metrics-listener", "127.0.0.1:0", "--data-dir", str(tmp_data)
    )
    at = command.ready_value("metrics")
    assert command.ready_value("page") == f"http://{at}/"
    assert (await get(at, "/")).status == 200
    assert [(await get(at, path)).status for path in ("/health", "/ready", "/metrics")] == [200, 200, 200]
    assert await alter(address_of(command.ready_value("bootstrap")), {("nope", 0): None}) == {("nope", 0): 85}

    def recorded(directory: Path) -> list[str]:
        whole = [line for file in directory.glob("*.jsonl") for line in file.read_text().split("\n")[:-1]]
        return [event["event"] for event in sorted(map(json.loads, whole), key=lambda event: event["seq"])]

    await eventually(lambda: "move.refused" in recorded(tmp_data / "events-1000"))
    assert "move.refused nope-0: NO_REASSIGNMENT_IN_PROGRESS" in command.log
    assert await command.stop() == 0
    assert recorded(tmp_data / "events-1000") == ["controller.elected", "move.refused", "controller.resigned"]
    assert "Traceback" not in command.log

    silent = await commands.start("silent", *arguments, "--event-log-dir", "", "--data-dir", str(tmp_path / "silent"))
    for missing in ("metrics", "page"):
        with pytest.raises(KeyError):
            silent.ready_value(missing)
    assert not (tmp_path / "silent").exists()
    elsewhere = await commands.start("else", *arguments, "--event-log-dir", str(tmp_path / "there"), "--broker-id", "7")
    assert await silent.stop() == 0
    await eventually(lambda: "controller.elected" in recorded(tmp_path / "there"), within=40)
    assert await elsewhere.stop() == 0


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_sv_1_serve_runs_on_either_event_loop(commands: Processes, zk_connect: str, loop: str) -> None:
    command = await commands.start("serve", "serve", "--zookeeper-connect", zk_connect, *PORT_0, "--loop", loop)

    assert (await listed(address_of(command.ready_value("bootstrap")))).error_code == 0
    assert await command.stop() == 0
    assert "Traceback" not in command.log


async def test_sv_1_serve_alone_is_a_whole_cluster_that_leaves_nothing_behind_and_keeps_its_topics(
    commands: Processes, tmp_data: Path
) -> None:
    arguments = ("serve", *PORT_0, "--data-dir", str(tmp_data))
    command = await commands.start("serve", *arguments)
    assert command.ready_value("brokers") == "1,2,3,4,5,6"
    bootstrap = address_of(command.ready_value("bootstrap"))
    topics = {topic.name: len(topic.partitions) for topic in (await metadata(bootstrap, "orders", "clicks")).topics}
    assert topics == {"orders": 12, "clicks": 24}
    (shown,) = (await metadata(bootstrap, "orders")).topics
    standing = next(p.replica_nodes for p in shown.partitions if p.partition_index == 0)
    target = [broker for broker in (1, 2, 3, 4, 5, 6) if broker not in standing]
    assert await alter(bootstrap, {("orders", 0): target}) == {("orders", 0): 0}
    await eventually(lambda: nothing_moves(command.ready_value("bootstrap")), within=40)
    children = children_of(command.pid)
    assert len(children) >= 2, "a ZooKeeper and a fleet"

    assert await command.stop(signal.SIGINT) == 0

    assert await command.rest_of_output() == b""
    assert "Traceback" not in command.log
    assert not [child for child in children if exists(child)]

    again = await commands.start("again", *arguments)
    async with ZooKeeper(again.ready_value("zookeeper")) as zk:
        data, _ = await zk.get(znode_paths.topic("orders"))
        assert json.loads(data)["partitions"]["0"] == target

    async def in_sync() -> bool:
        (found,) = (await metadata(address_of(again.ready_value("bootstrap")), "orders")).topics
        return all(len(p.isr_nodes) == 3 and p.leader_id > 0 for p in found.partitions)

    await eventually(in_sync)
    children = children_of(again.pid)
    await again.kill()
    await eventually(lambda: not any(map(exists, children)))


async def nothing_moves(bootstrap: str) -> bool:
    return not (await listed(address_of(bootstrap))).topics


async def test_sv_1_a_server_that_waits_for_a_controller_ends_on_a_signal(zk: ZooKeeper, zk_connect: str) -> None:
    await zk.ensure_path("/brokers/topics/t")
    arguments = ("--zookeeper-connect", zk_connect, *PORT_0, "--controller-takeover", "never", "--event-log-dir", "")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kafka_reassign_rpc.cli.main", "serve", *arguments, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(40):
            while b"never takes over" not in await process.stderr.readline():
                assert not process.stderr.at_eof()
            process.terminate()
            assert await process.wait() == 0
            assert b"Traceback" not in await process.stderr.read()
    finally:
        await ended(process)


async def test_sv_1_a_port_that_is_taken_is_one_line_and_exit_code_1(commands: Processes, zk_connect: str) -> None:
    first = await commands.start("first", "serve", "--zookeeper-connect", zk_connect, *PORT_0)
    taken = f"PLAINTEXT://{first.ready_value('bootstrap')}"

    arguments = ("--zookeeper-connect", zk_connect, "--listeners", taken, "--broker-id", "1001", "--log-level", "ERROR")
    ended = await end_of("serve", *arguments)

    where = first.ready_value("bootstrap")
    why = f"listeners={taken}: cannot listen on {where}: address already in use"
    assert ended == (1, f"kafka-reassign-rpc: {why}\n")


async def test_sv_1_a_port_of_metrics_that_is_taken_is_one_line_and_exit_code_1_and_zookeeper_stays_as_it_is(
    zk: ZooKeeper, zk_connect: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        arguments = ("--zookeeper-connect", zk_connect, *PORT_0, "--metrics-listener", where, "--event-log-dir", "")

        ended = await end_of("serve", *arguments)

    why = f"metrics.listener={where}: cannot listen on {where}: address already in use"
    assert ended == (1, f"kafka-reassign-rpc: {why}\n")
    assert await zk.children("/") == []


async def test_sv_1_an_id_that_is_a_brokers_is_one_line_and_exit_code_1(zk: ZooKeeper, zk_connect: str) -> None:
    await zk.ensure_path("/brokers/ids")
    here = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092)
    await zk.create("/brokers/ids/1000", encode_broker([here], 0), ephemeral=True)

    ended = await end_of("serve", "--zookeeper-connect", zk_connect, *PORT_0, "--log-level", "ERROR")

    assert ended[0] == 1
    assert "choose another --broker-id" in ended[1]
    assert len(ended[1].strip().splitlines()) == 1


async def test_sv_1_an_id_that_is_another_servers_is_one_line_and_exit_code_1(
    commands: Processes, zk_connect: str
) -> None:
    first = await commands.start("first", "serve", "--zookeeper-connect", zk_connect, *PORT_0)

    ended = await end_of("serve", "--zookeeper-connect", zk_connect, *PORT_0, "--log-level", "ERROR")

    assert ended[0] == 1
    assert f"another server at {first.ready_value('bootstrap')} has broker.id 1000" in ended[1]
    assert len(ended[1].strip().splitlines()) == 1


async def test_sv_3_serve_ends_with_one_line_and_exit_code_1_when_a_broker_registers_with_its_id(
    commands: Processes, zk: ZooKeeper, zk_connect: str
) -> None:
    server = await commands.start("serve", "serve", "--zookeeper-connect", zk_connect, *PORT_0, "--log-level", "ERROR")
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092)
    await zk.create(znode_paths.broker(1000), encode_broker([endpoint], 0))

    assert await server.ended() == 1
    (line,) = server.log.strip().splitlines()
    assert "broker 1000 is registered in this cluster, and this server has the same id: choose another" in line


@pytest.mark.parametrize("takeover", ["never", "vacant"])
async def test_sv_1_a_mistyped_chroot_is_one_line_and_exit_code_1_and_stays_as_it_is(
    zk: ZooKeeper, zk_connect: str, takeover: str
) -> None:
    mistyped = f"{zk_connect}/kfaka"

    ended = await end_of("serve", "--zookeeper-connect", mistyped, *PORT_0, "--controller-takeover", takeover)

    assert ended[0] == 1
    assert f"no broker is registered and no topic exists in ZooKeeper at {mistyped}: is the chroot" in ended[1]
    assert "Traceback" not in ended[1]
    assert await zk.exists("/kfaka") is None


async def test_sv_1_a_server_that_takes_an_empty_zookeeper_over_warns_of_a_mistyped_chroot(
    commands: Processes, zk: ZooKeeper, zk_connect: str
) -> None:
    alone = await commands.start("alone", "serve", "--zookeeper-connect", zk_connect, *PORT_0)
    assert alone.log.count("is the chroot of zookeeper.connect that of the brokers?") == 1
    assert await alone.stop() == 0
    await zk.ensure_path("/brokers/topics/t")
    again = await commands.start("again", "serve", "--zookeeper-connect", zk_connect, *PORT_0)
    assert "is the chroot" not in again.log


async def test_sv_4_a_cluster_in_migration_to_kraft_is_one_line_and_exit_code_1_and_stays_as_it_is(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await zk.create(znode_paths.MIGRATION, MIGRATION)

    ended = await end_of("serve", "--zookeeper-connect", zk_connect, *PORT_0, "--log-level", "ERROR")

    assert ended[0] == 1
    assert "/migration exists in ZooKeeper: the cluster is in migration to KRaft" in ended[1]
    assert len(ended[1].strip().splitlines()) == 1
    assert await zk.children("/") == ["migration"]


async def test_sv_1_a_zookeeper_that_cannot_be_reached_is_one_line_and_exit_code_1() -> None:
    arguments = ("serve", *PORT_0, "--zookeeper-connection-timeout-ms", "300", "--zookeeper-connect", "127.0.0.1:1")

    ended = await end_of(*arguments, "--log-level", "ERROR")

    assert ended[0] == 1
    assert "127.0.0.1:1" in ended[1]
    assert len(ended[1].strip().splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [("zookeeper", "--port", "0"), ("fleet", "--zookeeper-connect", "127.0.0.1:1", "--broker-ids", "1")],
    ids=lambda value: value[0],
)
async def test_sv_1_a_data_directory_that_cannot_be_used_is_one_line_and_exit_code_1(
    arguments: tuple[str, ...], tmp_path: Path, zk_connect: str
) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("no directory")
    given = [zk_connect if one == "127.0.0.1:1" else one for one in arguments]

    ended = await end_of(*given, "--data-dir", str(in_the_way), "--log-level", "ERROR")

    assert ended[0] == 1
    assert len(ended[1].strip().splitlines()) == 1
    assert str(in_the_way) in ended[1]


async def test_sv_7_every_line_of_the_log_is_a_json_object_where_that_is_asked_for(
    commands: Processes, zk: ZooKeeper, zk_connect: str
) -> None:
    server = await commands.start("json", "serve", "--zookeeper-connect", zk_connect, *PORT_0, "--log-format", "json")
    await zk.ensure_path("/admin")
    await zk.create("/admin/reassign_partitions", b"\xff\n no JSON")
    await eventually(lambda: "/admin/reassign_partitions" in server.log)
    assert await server.stop(signal.SIGTERM) == 0
    lines = [json.loads(line) for line in server.log.splitlines()]
    assert len(lines) > 3
    assert all(line.keys() - {"exception"} == {"ts", "level", "logger", "message"} for line in lines)
    assert "kafka_reassign_rpc" in lines[0]["logger"]


async def test_sv_7_the_error_that_ends_a_server_is_a_json_line_too(zk: ZooKeeper, zk_connect: str) -> None:
    await zk.ensure_path("/brokers/ids")
    here = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092)
    await zk.create("/brokers/ids/1000", encode_broker([here], 0), ephemeral=True)

    arguments = ("--zookeeper-connect", zk_connect, *PORT_0, "--log-level", "ERROR", "--log-format", "json")
    code, errors = await end_of("serve", *arguments)

    assert code == 1
    (line,) = errors.splitlines()
    assert json.loads(line)["level"] == "CRITICAL"
    assert "choose another --broker-id" in json.loads(line)["message"]


async def end_of(*arguments: str) -> tuple[int, str]:
    """The exit code and standard error of a command that ends by itself and prints nothing on standard output."""
    ended = await output_of(CLI, arguments)
    assert ended.out == ""
    return ended.code, ended.err


async def test_sv_1_simulated_brokers_run_no_file_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m` looks there first for the modules of a program."""
    for name in ("http", "argparse", "msgspec", "socket", "kafka_reassign_rpc"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'was_run')!r}, 'a').write(__name__ + ' ')\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ChildFailed, match="exit code 2"):
        async with fleet_process(["--no-such-flag"]):
            pass
    assert not (tmp_path / "was_run").exists()


def own_address() -> str:
    """That of IPv6, where this host has it."""
    try:
        with socket.socket(socket.AF_INET6) as here:
            here.bind(("::1", 0))
    except OSError:
        return "127.0.0.1"
    return "[::1]"


async def test_sv_1_addresses_of_ipv6_can_be_used_as_they_are_printed(
    commands: Processes, zk_connect: str, tmp_path: Path
) -> None:
    host = own_address()
    local = ("--listeners", f"PLAINTEXT://{host}:0", "--metrics-listener", f"{host}:0", "--status-page", "full")
    server = await commands.start(
        "server", "serve", "--zookeeper-connect", zk_connect, *local, "--data-dir", str(tmp_path)
    )

    page = server.ready_value("page")

    assert page == f"http://{server.ready_value('metrics')}/"
    assert [server.ready_value(name).rpartition(":")[0] for name in ("bootstrap", "metrics")] == [host] * 2
    assert b"<!doctype html>" in await asyncio.to_thread(lambda: urlopen(page, timeout=60).read())
    shown = await output_of(CLI, ("status", "--zookeeper-connect", zk_connect))
    assert f"at {server.ready_value('bootstrap')}" in shown.out
