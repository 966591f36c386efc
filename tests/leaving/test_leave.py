"""`kafka-reassign-rpc leave` on a real ZooKeeper, killed after each of its steps and run again."""

import asyncio
import json
import shlex
import signal
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.client import QUEUE, AsyncReassignmentClient, MoveTerms, TopicPartition
from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.leaving.leave import Choices, leave
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.zookeeper.access import Access, always
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.operations import AclEntry
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import batch
from tests.faults.cluster import simulated_cluster
from tests.fork_server import CLI, KAFKA_REASSIGN, output_of
from tests.mixed_clusters.zookeeper_users import zookeeper_users
from tests.waiting import eventually
from tests.zookeeper.proxy import Proxy, WriteCut

from .command import Leaving

RATE = "leader.replication.throttled.rate"
WORDS = ("leave", "--yes", "--zookeeper-connect")
ONLY_THE_BROKERS_CHANGE_IT = (AclEntry(31, "auth", ""), AclEntry(1, "world", "anyone"))
LEFT_IN_ADMIN = {"delete_topics"}
"""What Kafka has below /admin in a cluster that never had a server of ours."""


async def configs(zk: ZooKeeper, path: str) -> Mapping[str, str]:
    found: dict[str, str] = json.loads((await zk.get(path))[0])["config"]
    return found


async def foreign_controller(connect: str) -> ZooKeeper:
    """Somebody with a broker's id is elected as a broker is."""
    zk = ZooKeeper(connect)
    await zk.start()

    async def is_elected() -> bool:
        return await controller_election.campaign(zk, 1, (), now_ms) is not None

    await eventually(is_elected)
    return zk


@pytest.mark.gate
@pytest.mark.timeout(240)
async def test_mg_2_killed_after_each_step_and_run_again_nothing_of_ours_is_left_and_the_file_has_it(
    tmp_path: Path,
) -> None:
    async with simulated_cluster(tmp_path) as cluster:
        zk, file = cluster.zk, tmp_path / "left.json"
        before = await cluster.replicas()
        store = ConfigStore(zk)
        await store.alter(BROKERS, "1", lambda _: {RATE: "5000000", "log.cleaner.threads": "2"})
        await store.alter(BROKERS, DEFAULT, lambda _: {"self.healing.max.moves": "7", "log.cleaner.threads": "3"})
        await zk.ensure_path("/config/brokers/1000")
        await zk.set("/config/brokers/1000", b'{"version":1,"config":{"log.cleaner.threads":"1"}}')
        await cluster.configure("a", {"failure.interval.ms": "1800000", "partition.reassignments.max.per.cluster": "2"})
        targets = {name: [({1, 2, 3} - set(found)).pop(), found[0]] for name, found in before.items()}
        assert set((await cluster.alter("a", targets, throttle=1_000)).values()) == {0}

        async def is_throttled() -> bool:
            return "brokers/1" in await cluster.throttles() and "topics/t" in await cluster.throttles()

        await eventually(is_throttled)
        moving = await cluster.records()
        waiting = set(before) - moving
        assert len(moving) == 2
        held = max(waiting)
        address = cluster.servers["a"].ready_value("bootstrap")
        async with AsyncReassignmentClient(bootstrap_servers=address) as client:
            assert set((await client.alter_partition_reassignments({TopicPartition(*held): None})).values()) == {None}
            await client.alter_partition_reassignments(
                {TopicPartition(*held): MoveTerms(tuple(targets[held]), QUEUE, "later")}
            )
            assert (await client.hold(requests=["later"], reason="not now")).changed == 1
        leaving = Leaving("--zookeeper-connect", cluster.connect, "--export", str(file), "--hand-over")

        await leaving.until("[y/N]", agrees=False)
        assert await zk.exists("/admin/reassign_cancel") is None, "nobody has agreed yet"
        await leaving.until("servers: waits")
        assert "1000 (127.0.0.1:" in leaving.out
        await zk.create("/admin/reassign_partitions", batch({min(waiting): (1, 3)}))
        await leaving.until("servers: waits")
        assert await zk.exists("/admin/reassign_partitions") is None
        assert await cluster.servers["a"].stop() == 0
        await leaving.until("controller: waits")
        assert await zk.exists("/admin/reassign_partitions_queue") is not None, "nobody else controls the cluster yet"
        topic = await cluster.topic("t")
        await zk.set("/brokers/topics/t", json.dumps({**topic, "missing_replicas": {"0": 1}, "other": [1]}).encode())
        broker = await foreign_controller(cluster.connect)
        steps = []
        for _ in range(4):
            await leaving.until(": done")
            steps += [line.partition(":")[0] for line in leaving.out.splitlines() if line.endswith(": done")]
        last = await output_of(CLI, ["leave", "--zookeeper-connect", cluster.connect, "--yes", "--export", str(file)])
        again = await output_of(CLI, ["leave", "--zookeeper-connect", cluster.connect])
        ready = await output_of(CLI, ["check", "--for-kraft", "--json", "--zookeeper-connect", cluster.connect])

        assert steps == ["queue", "leases", "settings", "topics"]
        assert (last.code, last.err) == (0, "")
        assert "znodes: done" in last.out
        assert (again.code, again.out) == (0, "Nothing of kafka-reassign-rpc is left in this cluster.\n")
        subjects = {one["subject"] for one in json.loads(ready.out)["findings"] if one["level"] != "OK"}
        assert not subjects & {"own-znodes", "settings", "leases", "waiting-moves", "requests"}
        assert set(await zk.children("/admin")) == LEFT_IN_ADMIN
        assert await configs(zk, "/config/brokers/1") == {RATE: "5000000", "log.cleaner.threads": "2"}
        assert await configs(zk, "/config/brokers/<default>") == {"log.cleaner.threads": "3"}
        assert {*await zk.children("/config/brokers")} == {"1", "<default>"}, "none that leases have made stays, empty"
        assert await cluster.throttles() == {"brokers/1": {RATE: "5000000"}}
        assert await cluster.topic("t") == {**topic, "other": [1]}, "moves in flight are a stock controller's now"
        kept = json.loads(file.read_bytes())
        assert {(one["topic"], one["partition"]) for one in kept["partitions"]} == waiting - {held}, (
            "the command starts it"
        )
        assert {(one["topic"], one["partition"]) for one in kept["queue"]["partitions"]} == waiting
        assert {(one["topic"], one["partition"]): one["replicas"] for one in kept["originals"]["partitions"]} == {
            name: before[name] for name in moving
        }
        assert kept["settings"]["failure.interval.ms"] == "1800000"
        assert kept["settings"]["self.healing.max.moves"] == "7"
        assert [span["step_ms"] for span in kept["history"]] == [10_000, 300_000]
        await broker.close()

        await zk.create("/admin/reassign_partitions_queue", json.dumps(kept["queue"]).encode())
        await cluster.server(
            "b"
        )  # who comes back finds in the queue what was there, and the file is one for the command
        address = cluster.servers["b"].ready_value("bootstrap")
        async with AsyncReassignmentClient(bootstrap_servers=address) as client:
            listed = await client.list_partition_reassignments()
            found = listed[TopicPartition(*held)]
            assert (found.reason, sorted(found.target)) == ("later", sorted(targets[held]))
            assert "not now" in found.held
        words = ["--bootstrap-server", address]
        words += ["--execute-queue", "--reassignment-json-file", str(file)]
        assert (await output_of(KAFKA_REASSIGN, words)).code == 0


async def refused(connect: str, *options: str) -> Any:
    ended = await output_of(CLI, ["leave", "--zookeeper-connect", connect, "--yes", *options])
    assert ended.code == 1, ended.out
    return ended.err


@pytest.mark.timeout(120)
async def test_mg_2_what_is_not_ours_or_cannot_be_understood_stays_and_is_named(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(tmp_path / "zookeeper"))
        zk = await stack.enter_async_context(ZooKeeper(zookeeper.address))
        for path in ("/brokers/ids", "/brokers/topics", "/admin/reassignment_requests", "/admin/failed_brokers/7"):
            await zk.ensure_path(path)
        await zk.create("/admin/reassign_partitions_queue", b"{")
        await zk.ensure_path("/admin/reassignment_throttles/brokers")
        await zk.create("/admin/reassignment_throttles/brokers/1", b"[]")
        await zk.create("/admin/reassignment_requests/notes", b"of somebody")

        early = tmp_path / "early.json"
        text = await refused(zookeeper.address, "--export", str(early))
        assert not early.exists(), "moves that are not held yet may still start, and what a file has stays in it"
        assert "/admin/reassign_partitions_queue" in text
        assert "/admin/reassignment_throttles/brokers/1" in text
        assert await zk.exists("/admin/failed_brokers/7") is not None
        await zk.delete("/admin/reassign_partitions_queue")
        await zk.set("/admin/reassignment_throttles/brokers/1", b'{"version":1}')
        await zk.ensure_path("/admin/reassignment_servers")
        await zk.create("/admin/reassignment_servers/1000", b"{}", ephemeral=True)
        text = await refused(zookeeper.address, "--wait-seconds", "0")
        assert "1 server runs: 1000" in text
        assert "What to do: stop them" in text
        await zk.delete("/admin/reassignment_servers/1000")
        file = tmp_path / "left.json"
        file.write_text('{"cluster":"another","version":1}')
        assert "left.json is of cluster another" in await refused(zookeeper.address, "--export", str(file))
        assert await zk.exists("/admin/failed_brokers/7") is not None
        text = await refused(zookeeper.address)
        assert "/admin/reassignment_requests/notes" in text
        assert await zk.children("/admin") == ["reassignment_requests"]
        await zk.delete("/admin/reassignment_requests/notes")
        ended = await output_of(CLI, ["leave", "--zookeeper-connect", zookeeper.address, "--yes"])
        assert ended.code == 0
        assert await zk.children("/admin") == []
        declined = await output_of(CLI, ["leave", "--zookeeper-connect", f"{zookeeper.address}/none", "--yes"])
        assert declined.code == 1
        assert "there is no Kafka cluster at" in declined.err
        await zk.delete("/brokers/ids")
        assert "there is no Kafka cluster at" in await refused(zookeeper.address), "a chroot was forgotten"
        assert "no folder" in (await output_of(CLI, [*WORDS, zookeeper.address, "--export", "/none/left.json"])).err


@pytest.mark.timeout(60)
async def test_mg_2_ctrl_c_at_a_question_ends_the_command_and_what_the_acl_forbids_says_what_to_do(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(tmp_path / "zookeeper"))
        closed = Access(auth=[("digest", b"kafka:secret")], acl_of=always(ONLY_THE_BROKERS_CHANGE_IT))
        zk = await stack.enter_async_context(ZooKeeper(zookeeper.address, access=closed))
        for path in ("/brokers/ids", "/brokers/topics", "/admin/failed_brokers/7"):
            await zk.ensure_path(path)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", CLI, "leave", "--zookeeper-connect", zookeeper.address),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        await process.stdout.readuntil(b"[y/N] ")
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(20):
            _, err = await process.communicate()
        assert process.returncode == 130
        assert "interrupted" in err.decode()
        text = await refused(zookeeper.address)
        assert "not permitted by the znode's ACL" in text
        assert "--kafka-config" in text


@pytest.mark.timeout(120)
async def test_mg_2_it_logs_in_to_a_secured_zookeeper_as_serve_does_by_the_command_that_check_prints(
    tmp_path: Path,
) -> None:
    known = zookeeper_users(tmp_path)
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(
            EmbeddedZooKeeper(tmp_path / "zookeeper", jvm=known.jvm, settings=known.settings)
        )
        zk = await stack.enter_async_context(ZooKeeper(zookeeper.address, access=known.access))
        for path in ("/brokers/ids", "/brokers/topics", "/config/brokers/1000", "/admin/failed_brokers/7"):
            await zk.ensure_path(path)
        assert "--kafka-config" in await refused(zookeeper.address), "who does not log in may not even read"
        login = ("--java-security-auth-login-config", str(known.file))
        words = ["check", "--for-kraft", "--json", "--zookeeper-connect", zookeeper.address, *login]
        findings = json.loads((await output_of(CLI, words)).out)["findings"]
        [printed] = [one["commands"] for one in findings if one["subject"] == "own-znodes"]
        [command] = printed
        _, *words = shlex.split(command.replace("left.json", str(tmp_path / "left.json")))
        assert set(login) <= set(words)
        ended = await output_of(CLI, words)
        assert (ended.code, ended.err) == (0, "")
        assert await zk.children("/admin") == []


@pytest.mark.timeout(60)
async def test_mg_2_a_connection_that_is_cut_at_a_write_costs_another_look_and_nothing_else(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(EmbeddedZooKeeper(tmp_path / "zookeeper"))
        outside = await stack.enter_async_context(ZooKeeper(zookeeper.address))
        proxy = await stack.enter_async_context(Proxy(zookeeper.address))
        zk = await stack.enter_async_context(ZooKeeper(proxy.address))
        ours = ("reassignments", "reassignment_servers", "reassignment_server_ids/1000", "reassignment_receipts")
        for path in ("/brokers/ids", "/brokers/topics", *(f"/admin/{name}" for name in ours)):
            await outside.ensure_path(path)
        said: list[str] = []

        async def agree(_: str) -> bool:
            return True

        for cut in (WriteCut(before=True, fin=False), WriteCut(before=False, fin=True)):
            said.clear()
            await outside.ensure_path("/admin/failed_brokers/7")
            await outside.ensure_path("/admin/reassignments")
            await outside.ensure_path("/admin/reassignment_requests")
            await outside.ensure_path("/admin/reassignment_servers")
            proxy.cut_writes([cut])
            await leave(zk, Choices(said.append, agree))
            assert proxy.cuts == 1
            assert [line for line in said if line.startswith("znodes: looks again")], said
            assert said[-1] == "Nothing of kafka-reassign-rpc is left in this cluster."
            assert await outside.children("/admin") == []
