"""Our server is in control until KRaft takes over, and again after the migration was rolled back from dual write."""

from pathlib import Path

import pytest

from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.faults.cluster import address_of, ask, metadata
from tests.mixed_clusters.mixed_cluster import BROKERS, OUTLIVES_PAUSES, behind_our_server, controller
from tests.mixed_clusters.test_migration_to_kraft import DONE, KRAFT
from tests.waiting import eventually

from .hosts import Hosts
from .page import block, carry_out, section, shell

pytestmark = [pytest.mark.stock, pytest.mark.stock_live, pytest.mark.timeout(600)]


async def create(address: tuple[str, int], topic: str) -> int:
    """The error code of a creation that this node is asked for, with one replica."""
    new = CreateTopicsRequest.CreatableTopic
    one = new(name=topic, num_partitions=1, replication_factor=1, assignments=[], configs=[])
    answer = await ask(address, CreateTopicsRequest(topics=[one], timeout_ms=20_000, validate_only=False), 5)
    return int(answer.topics[0].error_code)


async def test_mg_3_a_migration_under_load_finds_our_server_in_control_and_its_way_back_gives_it_the_cluster_again(
    tmp_path: Path,
) -> None:
    async with behind_our_server(tmp_path, BROKERS) as mixed:
        cluster, stock = mixed.cluster, mixed.stock
        hosts = await Hosts.of(mixed, tmp_path)
        await mixed.create("load", {0: (1, 2, 3), 1: (2, 3, 1)})
        await mixed.create("moves", {0: (1, 2)})
        assert set((await cluster.alter("a", {("moves", 0): (2, 3)}, throttle=20_000)).values()) == {0}
        way, back = (section(name) for name in ("The way", "Go back"))
        try:
            async with mixed.load("load", 2), shell(tmp_path, hosts.programs) as operator:
                await operator.run(block(way, "export ZOOKEEPER", hosts.replaced))
                await hosts.kraft.start()
                join = block(way, "migration.enable=true\ncontroller.quorum", hosts.replaced, "on each broker")
                await hosts.broker(1, join)

                async def is_forwarded() -> bool:
                    return await create(address_of(stock.brokers[1].address), "forwarded") == 0

                await eventually(is_forwarded, within=60)  # broker 1 asks our server in an Envelope
                assert await mixed.zk.exists(znode_paths.topic("forwarded")) is not None
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
        finally:
            await hosts.kraft.kill()
