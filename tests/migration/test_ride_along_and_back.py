"""Our server is in control until KRaft takes over, and again after the migration was rolled back from the
midst of the brokers' way to KRaft mode."""

from pathlib import Path

import pytest

from kafka_reassign_rpc.protocol.messages import ApiVersionsRequest, CreateTopicsRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import queue_json
from tests.faults.cluster import address_of, ask, metadata
from tests.fork_server import KAFKA_REASSIGN, output_of
from tests.mixed_clusters.mixed_cluster import BROKERS, OUTLIVES_PAUSES, behind_our_server, controller
from tests.stock.tools import Output
from tests.waiting import eventually

from .clients import INTERNAL_TOPICS, Clients
from .hosts import DONE, KRAFT, Hosts
from .page import block, carry_out, section, shell

pytestmark = [pytest.mark.stock, pytest.mark.stock_live, pytest.mark.timeout(900)]

CREATES_TOPICS = {1: {"auto.create.topics.enable": "true"}}
TARGETS = {("moves", 0): (2, 3), ("waits", 0): (2, 3)}
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
        way = section("The way")
        out_of_kraft, back = section("Go back").split("\nStop the controllers")
        try:
            async with Clients(mixed, tmp_path), shell(tmp_path, hosts.programs) as operator:
                await operator.run(block(way, "export ZOOKEEPER", hosts.replaced))
                await hosts.kraft.start()
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

                for broker in (1, 2):
                    await hosts.broker(broker, block(way, "process.roles=broker", hosts.replaced, "on each broker"))
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
                await carry_out(out_of_kraft, operator, hosts.replaced, hosts.done)
                await hosts.kraft.kill()
                await carry_out(back, operator, hosts.replaced, hosts.done)
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
        finally:
            await hosts.kraft.kill()
