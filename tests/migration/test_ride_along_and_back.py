"""Our server is in control until KRaft takes over, and again after the migration was rolled back: before a broker has
joined, and from the midst of the brokers' way to KRaft mode. Each time the cluster migrates again."""

import json
from pathlib import Path

import pytest

from kafka_reassign_rpc.protocol.messages import ApiVersionsRequest, CreateTopicsRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import queue_json
from tests.faults.cluster import address_of, ask, metadata
from tests.fork_server import CLI, KAFKA_REASSIGN, output_of
from tests.mixed_clusters.mixed_cluster import BROKERS, OUTLIVES_PAUSES, MixedCluster, behind_our_server, controller
from tests.stock.tools import Output
from tests.waiting import eventually
from tests.watch.watching import watching

from .clients import INTERNAL_TOPICS, Clients
from .hosts import DONE, KRAFT, Hosts
from .page import Shell, block, carry_out, section, shell, subsection

pytestmark = [pytest.mark.stock, pytest.mark.release, pytest.mark.timeout(900)]

CREATES_TOPICS = {1: {"auto.create.topics.enable": "true"}}
TARGETS = {("moves", 0): (2, 3), ("waits", 0): (2, 3)}
BACK = {("moves", 0): (1, 2)}
RATE = 20_000
"""Slow enough for a lease to be found, and fast enough for the move to end before the brokers have joined."""
HELD = "KRaft has controlled this cluster since "


async def api_keys(address: str) -> set[int]:
    """Of the APIs that a broker offers."""
    return {one.api_key for one in (await ask(address_of(address), ApiVersionsRequest(), 0)).api_keys}


async def kafka_reassign(bootstrap: str, *words: str) -> Output:
    return await output_of(KAFKA_REASSIGN, ["--bootstrap-server", bootstrap, *words])


async def throttled(zk: ZooKeeper) -> list[str]:
    """Brokers and topics with a throttle."""
    roots = [znode_paths.config_type(kind) for kind in ("brokers", "topics")]
    paths = [f"{root}/{name}" for root in roots for name in await zk.children(root)]
    return [path for path in paths if b"throttled" in (await zk.get(path))[0]]


async def create(address: tuple[str, int], topic: str) -> int:
    """The error code of a creation that this node is asked for, with one replica."""
    new = CreateTopicsRequest.CreatableTopic
    one = new(name=topic, num_partitions=1, replication_factor=1, assignments=[], configs=[])
    answer = await ask(address, CreateTopicsRequest(topics=[one], timeout_ms=20_000, validate_only=False), 5)
    return int(answer.topics[0].error_code)


async def is_as_it_was(mixed: MixedCluster) -> None:
    """Our server is the controller, and what waits in its queue is neither held nor started."""
    assert await controller(mixed.zk) == 1000
    assert await mixed.zk.exists(znode_paths.MIGRATION) is None
    waiting = (await queue_json(mixed.zk) or {}).values()
    assert [one.get("held") for one in waiting] == [None]
    status = await output_of(CLI, ["status", "--zookeeper-connect", mixed.cluster.connect])
    assert status.code == 0, status.err


async def controllers_again(hosts: Hosts, operator: Shell) -> None:
    """As the page says how to try again: they begin with nothing."""
    await carry_out(subsection(section("Go back"), "Try again"), operator, hosts.replaced, hosts.done)
    await carry_out(subsection(section("The way"), "3. Controllers"), operator, hosts.replaced, hosts.done)
    await hosts.kraft.start()


async def migrates_again(mixed: MixedCluster, hosts: Hosts, operator: Shell) -> None:
    """Our server is stopped before, and a lease stays. Then the first broker goes on to KRaft mode: it knows a topic of
    the time between the attempts, so it goes by what this attempt has copied."""
    cluster = mixed.cluster
    assert set((await cluster.alter("b", BACK, throttle=RATE)).values()) == {0}
    await eventually(lambda: throttled(mixed.zk))
    assert await cluster.servers["b"].stop() == 0
    await eventually(mixed.stock_controls, within=60)
    way = section("The way")
    await controllers_again(hosts, operator)
    await carry_out(subsection(way, "4. Brokers join"), operator, hosts.replaced, hosts.done)
    await hosts.broker(1, block(way, "process.roles=broker", hosts.replaced, "on each broker"))
    first = address_of(mixed.stock.brokers[1].address)

    async def knows() -> bool:
        [topic] = (await metadata(first, "after")).topics
        return bool(topic.error_code == 0 and topic.partitions)

    await eventually(knows, within=60)


async def status(bootstrap: str) -> str:
    """Without its line breaks."""
    return " ".join((await kafka_reassign(bootstrap, "status")).out.split())


async def a_lease_that_stayed_is_told_and_cleared(mixed: MixedCluster, folder: Path) -> None:
    bootstrap, connect = mixed.stock.bootstrap, mixed.cluster.connect

    async def rests() -> bool:
        return "No partition reassignments found." in (await kafka_reassign(bootstrap, "--list")).out

    await eventually(rests, within=90)
    assert "/config/brokers/1" in await throttled(mixed.zk)
    needless = "throttled by a config that no move needs"
    async with watching(bootstrap, folder / "events") as watch:

        async def is_told() -> bool:
            return any(needless in text for text in await watch.problems())

        await eventually(is_told, within=60)
    assert needless in await status(bootstrap)
    checked = await output_of(CLI, ["check", "--for-kraft", "--json", "--zookeeper-connect", connect])
    [told] = [one for one in json.loads(checked.out)["findings"] if one["subject"] == "leases"]
    assert "brokers/1 (" in told["text"]
    assert [one["commands"] for one in json.loads(checked.out)["findings"] if one["commands"]] == []
    plan = folder / "back.json"
    moves = [{"topic": topic, "partition": index, "replicas": to} for (topic, index), to in BACK.items()]
    plan.write_text(json.dumps({"partitions": moves}))

    async def is_cleared() -> bool:
        verified = await kafka_reassign(bootstrap, "--verify", "--reassignment-json-file", str(plan))
        assert verified.code == 0, verified.err
        return await throttled(mixed.zk) == []

    await eventually(is_cleared, within=60)
    assert needless not in await status(bootstrap)


async def test_mg_3_a_migration_under_load_finds_our_server_in_control_and_its_way_back_gives_it_the_cluster_again(
    tmp_path: Path,
) -> None:
    async with behind_our_server(tmp_path, BROKERS, overrides=INTERNAL_TOPICS, per_broker=CREATES_TOPICS) as mixed:
        cluster, stock = mixed.cluster, mixed.stock
        hosts = await Hosts.of(mixed, tmp_path)
        await mixed.create("moves", {0: (1, 2)})
        await mixed.create("waits", {0: (1, 2)})
        await mixed.create("hybrid", {0: (1, 2)})
        await cluster.configure("a", {"partition.reassignments.max.per.cluster": "1"})
        assert set((await cluster.alter("a", TARGETS, throttle=20_000)).values()) == {0}
        await cluster.configure("a", {"partition.reassignments.enabled": "false"})  # so one of them waits
        way, ways_back = section("The way"), section("Go back")
        try:
            async with Clients(mixed, tmp_path), shell(tmp_path, hosts.programs) as operator:
                await operator.run(block(way, "export ZOOKEEPER", hosts.replaced))
                await hosts.kraft.start()
                await eventually(lambda: mixed.zk.exists(znode_paths.MIGRATION))
                await hosts.kraft.kill()
                await carry_out(subsection(ways_back, "From step 3"), operator, hosts.replaced, hosts.done)
                await is_as_it_was(mixed)
                await controllers_again(hosts, operator)
                served = await api_keys(stock.brokers[1].address)
                join = block(way, "migration.enable=true\ncontroller.quorum", hosts.replaced, "on each broker")
                await hosts.broker(1, join)

                async def is_forwarded() -> bool:
                    return await create(address_of(stock.brokers[1].address), "forwarded") == 0

                await eventually(is_forwarded, within=60)  # broker 1 asks our server in an Envelope
                assert served <= await api_keys(stock.brokers[1].address), "its clients lose no API"
                assert await mixed.zk.exists(znode_paths.topic("forwarded")) is not None

                async def is_made_for_a_client() -> bool:
                    await metadata(address_of(stock.brokers[1].address), "wanted")
                    return await mixed.zk.exists(znode_paths.topic("wanted")) is not None

                await eventually(is_made_for_a_client, within=60)
                await cluster.servers["a"].kill()
                await cluster.server("b", *OUTLIVES_PAUSES)
                await cluster.controlled_by("b")
                for broker in (2, 3):
                    await hosts.broker(broker, join)
                await hosts.kraft.wait_for_line(DONE, 120)
                assert await controller(mixed.zk) == KRAFT

                async def names_a_broker() -> bool:
                    return (await metadata(cluster.address("b"))).controller_id in BROKERS

                await eventually(names_a_broker, within=60)

                async def names_all_brokers() -> bool:
                    """Also those that no longer register in ZooKeeper."""
                    assert set(await mixed.zk.children(znode_paths.BROKER_IDS)) == {"3"}
                    return {one.node_id for one in (await metadata(cluster.address("b"))).brokers} == {1000, *BROKERS}

                for broker in (1, 2):
                    await hosts.broker(broker, block(way, "process.roles=broker", hosts.replaced, "on each broker"))
                await eventually(names_all_brokers, within=60)
                listed = await kafka_reassign(cluster.servers["b"].ready_value("bootstrap"), "--list")
                assert listed.code == 0, listed.err
                plan = tmp_path / "hybrid.json"
                plan.write_text('{"partitions": [{"topic": "hybrid", "partition": 0, "replicas": [3, 1]}]}')
                of_plan = ("--reassignment-json-file", str(plan))
                moved = await kafka_reassign(stock.bootstrap, "--execute", *of_plan, "--throttle", "20000000")
                assert moved.code == 0, moved.err
                await eventually(lambda: throttled(mixed.zk))

                async def is_cleared() -> bool:
                    """No server of ours is left that would take a throttle away."""
                    done = await kafka_reassign(stock.bootstrap, "--verify", *of_plan)
                    assert "Reassignment of partition hybrid-0 is completed." in done.out, done.out
                    return await throttled(mixed.zk) == []

                await eventually(is_cleared, within=90)
                await carry_out(subsection(ways_back, "From KRaft mode"), operator, hosts.replaced, hosts.done)
                await hosts.kraft.kill()
                await carry_out(subsection(ways_back, "From step 4"), operator, hosts.replaced, hosts.done)
                assert await controller(mixed.zk) in (1000, *BROKERS), "the server that stood by, or a stock broker"

                async def is_elected() -> bool:
                    """A stock broker may have been faster."""
                    if await controller(mixed.zk) in BROKERS:
                        await mixed.zk.delete(znode_paths.CONTROLLER)
                    return await controller(mixed.zk) == 1000

                await eventually(is_elected, within=60)

                async def can_create() -> bool:
                    return await create(cluster.address("b"), "after") == 0

                await eventually(can_create, within=60)

                async def is_held() -> bool:
                    entries = (await queue_json(mixed.zk) or {}).values()
                    return [one["held"]["reason"].startswith(HELD) for one in entries] == [True]

                await eventually(is_held, within=60)
                await cluster.configure("b", {"partition.reassignments.enabled": "true"})
                assert await is_held()
                released = await kafka_reassign(cluster.servers["b"].ready_value("bootstrap"), "release", "--all")
                assert released.code == 0, released.err
                await cluster.rests_at({**TARGETS, ("hybrid", 0): (3, 1)}, within=90)
                assert await throttled(mixed.zk) == []
                await migrates_again(mixed, hosts, operator)
                await a_lease_that_stayed_is_told_and_cleared(mixed, tmp_path)
        finally:
            await hosts.kraft.kill()
