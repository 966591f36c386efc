"""An id that a server has taken is never a broker's: no route begins a move to it, or waits for it (hm-4)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.controller.controller_election import Takeover
from kafka_reassign_rpc.protocol.messages import CreatePartitionsRequest, CreateTopicsRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.bare_controller import batch, put_request, register
from tests.controller.cluster import Cluster, cluster
from tests.controller.test_broker_with_own_id import serving
from tests.vendor_requests import order
from tests.waiting import eventually

OWN, STANDBY, LATER = 1000, 2000, 3000
NAME = ("moved", 0)
INVALID_REPLICA_ASSIGNMENT, INVALID_REQUEST = 39, 42


def reason(server: int) -> str:
    return (
        f"No broker can have the id {server}: a reassignment server has taken it"
        f" (/admin/reassignment_server_ids/{server}), and servers hold no replicas."
    )


@pytest_asyncio.fixture
async def world(zk_connect: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect, event_log=tmp_path) as made, serving(zk_connect, STANDBY, takeover=Takeover.NEVER):
        await made.create_topic("moved", {0: (1, 2)})
        yield made


async def refusals(world: Cluster, why: str) -> int:
    """How many targets were refused with this reason."""
    found = [one for one in await world.events() if one["event"] in ("entry.refused", "move.refused")]
    return sum(why in one["reason"] for one in found)


@pytest.mark.parametrize("server", [OWN, STANDBY])
async def test_hm_4_every_route_refuses_the_id_of_a_server_with_its_reason(world: Cluster, server: int) -> None:
    target, why = (1, server), reason(server)

    assert await world.alter({NAME: target}) == {NAME: (INVALID_REPLICA_ASSIGNMENT, why)}
    assert await world.alter({NAME: target}, queue=True) == {NAME: (INVALID_REPLICA_ASSIGNMENT, why)}
    await world.submit({NAME: target})
    await eventually(world.batch_gone)
    await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({NAME: target}))
    await eventually(world.queue_gone)
    await put_request(world.zk, {NAME: target})
    await eventually(lambda: no_requests(world))

    assert await world.moving() == set()
    assert await refusals(world, why) >= 3
    assert (await world.zk.get(znode_paths.topic("moved")))[0].find(str(server).encode()) < 0


async def gone(world: Cluster, path: str) -> bool:
    return await world.zk.exists(path) is None


async def no_requests(world: Cluster) -> bool:
    return not await world.zk.children(znode_paths.REASSIGNMENT_REQUESTS)


@pytest.mark.parametrize("server", [OWN, STANDBY])
async def test_hm_4_no_topic_is_created_or_grown_onto_the_id_of_a_server(world: Cluster, server: int) -> None:
    new = CreateTopicsRequest.CreatableTopic
    placed = new.CreatableReplicaAssignment(partition_index=0, broker_ids=[1, server])
    wanted = new(name="new", num_partitions=-1, replication_factor=-1, assignments=[placed], configs=[])
    made = await world.ask(CreateTopicsRequest(topics=[wanted], timeout_ms=10_000, validate_only=False), 5)
    assert [(one.error_code, one.error_message) for one in made.topics] == [
        (INVALID_REPLICA_ASSIGNMENT, reason(server))
    ]

    more = CreatePartitionsRequest.CreatePartitionsTopic
    assignment = more.CreatePartitionsAssignment(broker_ids=[1, server])
    grown = await world.ask(
        CreatePartitionsRequest(
            topics=[more(name="moved", count=2, assignments=[assignment])], timeout_ms=10_000, validate_only=False
        ),
        1,
    )
    assert [(one.error_code, one.error_message) for one in grown.results] == [
        (INVALID_REPLICA_ASSIGNMENT, reason(server))
    ]


@pytest.mark.parametrize("dry_run", [False, True])
async def test_hm_4_a_server_is_no_broker_that_can_be_healed(world: Cluster, dry_run: bool) -> None:
    answer = await world.ask(order("heal", broker=STANDBY, dry_run=dry_run), 0)
    assert (answer.error_code, answer.error_message) == (INVALID_REQUEST, reason(STANDBY))


async def test_hm_4_what_waits_for_a_broker_is_refused_once_a_server_takes_its_id(
    world: Cluster, zk_connect: str
) -> None:
    await world.zk.create(znode_paths.REASSIGN_QUEUE, batch({NAME: (1, LATER)}))
    await eventually(lambda: world.waits(NAME))

    async with serving(zk_connect, LATER, takeover=Takeover.NEVER):
        await eventually(world.queue_gone)

    assert await refusals(world, reason(LATER)) == 1


async def test_hm_4_an_id_is_no_longer_a_servers_once_a_broker_has_registered_with_it(
    world: Cluster, zk_connect: str
) -> None:
    async with serving(zk_connect, LATER, takeover=Takeover.NEVER):
        pass
    assert await world.alter({NAME: (1, LATER)}) == {NAME: (INVALID_REPLICA_ASSIGNMENT, reason(LATER))}
    await register(world.zk, LATER)
    await eventually(lambda: gone(world, znode_paths.reassignment_server_id(LATER)))
    await world.zk.delete(znode_paths.broker(LATER))

    await eventually(lambda: waits_for_broker(world))


async def waits_for_broker(world: Cluster) -> bool:
    """Whether a target with the id is taken as that of a broker that may come back."""
    return await world.alter({NAME: (1, LATER)}, queue=True) == {NAME: (0, None)}


async def test_hm_4_a_replica_on_the_id_of_the_server_that_controlled_before_goes_to_a_broker(
    zk_connect: str,
) -> None:
    """A stock broker took that server for a broker when it created the topic."""
    async with cluster(zk_connect) as world:
        await world.create_topic("moved", {0: (1, 2)})
        await world.stop_server()
        data, stat = await world.zk.get(znode_paths.topic("moved"))
        await world.zk.set(znode_paths.topic("moved"), data.replace(b"[1,2]", b"[1,2,1000]"), stat.version)
        await world.start_server(STANDBY)

        async def has_moved() -> bool:
            found, _ = await world.zk.get(znode_paths.topic("moved"))
            return b"1000" not in found and found.count(b",") > 2

        await eventually(has_moved)
