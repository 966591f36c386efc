"""240-6: moves of real processes stall, and API, command and events say why."""

import asyncio
import json

import pytest

from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest
from tests.faults.cluster import Address, Cluster, Name, alter, ask
from tests.reassign_command.run_command import Command
from tests.vendor_requests import told, wanted
from tests.waiting import eventually
from tests.zookeeper.proxy import Proxy

pytestmark = pytest.mark.gate

OPTIONS = ("--reassignment-progress-interval-ms", "200", "--reassignment-stall-timeout-ms", "1000")
ELSEWHERE = "127.0.0.9"
"""The advertised address of the server. Only a proxy listens there."""
SIZE, DISK = 3_000_000, 1_000_000
SLOW = 1_000_000
"""Bytes per second of the replaced broker: its copy goes on for several samples."""
WHOLE, LARGE = ("whole", 0), ("large", 0)
NEVER_IN_SYNC = "full ISR never reached: broker 2 has everything, out of sync all the same"
OUT_OF_DISK = f"broker 4 is out of disk: 0 bytes are free where {SIZE - DISK} are to come"


async def create(cluster: Cluster, server: Address, topic: str, broker: int) -> None:
    await cluster.zk.ensure_path("/simulated_fleet")
    await cluster.zk.create(f"/simulated_fleet/{topic}", b"%d" % SIZE)
    made = CreateTopicsRequest.CreatableTopic
    assignments = [made.CreatableReplicaAssignment(partition_index=0, broker_ids=[broker])]
    asked = made(name=topic, num_partitions=-1, replication_factor=-1, assignments=assignments, configs=[])
    answer = await ask(server, CreateTopicsRequest(topics=[asked], timeout_ms=10_000, validate_only=False), 5)
    assert [one.error_code for one in answer.topics] == [0], answer


async def reasons(server: Address) -> dict[Name, str | None]:
    found = told(await ask(server, wanted("in_flight"), 0))
    return {(one["topic"], one["partition"]): one["stalled"] for one in found["moves"]}


async def test_240_6_moves_stalled_by_a_full_disk_or_never_in_sync_are_reported_and_resume(
    cluster: Cluster,
) -> None:
    """Brokers cannot reach the controller at first, but it reaches them: so no ISR grows."""
    await cluster.server("a", *OPTIONS, "--advertised-listeners", f"PLAINTEXT://{ELSEWHERE}:0")
    port = cluster.address("a")[1]
    server = ("127.0.0.1", port)
    await cluster.fleet("1,2")
    await cluster.fleet("4", options=("--disk", str(DISK)))
    await create(cluster, server, "whole", 1)
    await create(cluster, server, "large", 1)
    assert await alter(server, {WHOLE: [2], LARGE: [4]}) == {WHOLE: 0, LARGE: 0}

    async def both() -> bool:
        return await reasons(server) == {WHOLE: NEVER_IN_SYNC, LARGE: OUT_OF_DISK}

    await eventually(both)
    async with Proxy(f"127.0.0.1:{port}", at=(ELSEWHERE, port)):
        command = Command(f"127.0.0.1:{port}")

        async def one_is_left() -> bool:
            found = (await command.json("describe"))["reassignments"]
            return [one["topic"] for one in found] == ["large"]

        await eventually(one_is_left)
        described = " ".join(line.strip() for line in (await command("describe")).lines)
        assert described.endswith(f" large-0 is stalled: {OUT_OF_DISK}"), "its lines fit 80 columns"
        shown = asyncio.Event()
        watching = asyncio.create_task(command("watch", "--json", first_line=shown))
        await shown.wait()

        await cluster.fleets["4"].kill()
        await cluster.fleet("4", options=("--disk", str(2 * SIZE)), bandwidth=SLOW)
        await cluster.rests_at({WHOLE: [2], LARGE: [4]})
        documents = [json.loads(line) for line in (await watching).lines]
        assert [one["stalled"] for one in documents[0]["moves"]] == [OUT_OF_DISK]
        assert (documents[-1]["finished"], documents[-1]["stalled"]) == (1, 0)

        async def all_is_reported() -> list[tuple[str, str, str | None]]:
            of_topics = [one for one in await cluster.events("a") if "topic" in one]
            found = [(one["event"], one["topic"], one.get("reason")) for one in of_topics]
            return found if {("move.completed", topic, None) for topic in ("whole", "large")} <= {*found} else []

        reported = await eventually(all_is_reported)
        for topic, reason in (("whole", NEVER_IN_SYNC), ("large", OUT_OF_DISK)):
            assert reported.count(("move.stalled", topic, reason)) == 1
            assert reported.count(("move.completed", topic, None)) == 1
        resumed = reported.index(("move.resumed", "large", None))
        assert reported.index(("move.stalled", "large", OUT_OF_DISK)) < resumed
        assert resumed < reported.index(("move.completed", "large", None))
