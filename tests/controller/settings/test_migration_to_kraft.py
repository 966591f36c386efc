"""This server does not take over a cluster that is in migration to KRaft (sv-4)."""

import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.core.failover import LastControl
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.protocol.messages import (
    RESPONSES,
    DescribeClusterRequest,
    MetadataRequest,
    MetadataResponse,
)
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.zookeeper import own_server_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.access import Access, always
from kafka_reassign_rpc.zookeeper.operations import AclEntry, Create, Delete, SetData
from kafka_reassign_rpc.zookeeper.reassignments_znodes import encode_move_record
from kafka_reassign_rpc.zookeeper.znode_contents import encode_broker, encode_controller
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.cli.test_processes import MIGRATION
from tests.controller.acls.test_served_acls import server as served
from tests.controller.bare_controller import (
    batch,
    elected_controller,
    put_request,
    put_topic,
    queue_json,
    records,
    register,
    topic_json,
)
from tests.controller.cluster import LISTENERS, Cluster
from tests.controller_channel.scripted_broker import NEWEST, ScriptedBroker
from tests.vendor_requests import order
from tests.waiting import eventually
from tests.zookeeper.proxy import Proxy

WAITS = MIGRATION.replace(b'"kraft_metadata_offset":100', b'"kraft_metadata_offset":-1')


def server(connect: str, server_id: int) -> ControllerProcess:
    return ControllerProcess(ServerConfig(zookeeper_connect=connect, listeners=LISTENERS, server_id=server_id))


async def is_controlled_by(zk: ZooKeeper, server_id: int) -> bool:
    found = await controller_election.owner(zk)
    return found is not None and found.id == server_id


async def test_sv_4_a_standby_does_not_take_over_during_a_migration_and_does_so_when_it_was_reverted(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with AsyncExitStack() as first:
        await (await first.enter_async_context(server(zk_connect, 1000))).ready()
        async with server(zk_connect, 1001) as standby:
            await standby.ready()
            await zk.create(znode_paths.MIGRATION, MIGRATION)
            epoch = await zk.get(znode_paths.CONTROLLER_EPOCH)
            with caplog.at_level(logging.ERROR):
                await first.aclose()
                await eventually(lambda: "standing by: /migration exists" in caplog.text)
            assert await controller_election.owner(zk) is None
            assert await zk.get(znode_paths.CONTROLLER_EPOCH) == epoch
            await zk.delete(znode_paths.MIGRATION)
            await eventually(lambda: is_controlled_by(zk, 1001))


async def test_sv_4_the_controller_goes_on_until_the_kraft_controller_takes_over_also_after_a_lost_connection(
    zk: ZooKeeper, zk_connect: str, zookeeper: EmbeddedZooKeeper
) -> None:
    chroot = zk_connect.partition("/")[2]
    async with Proxy(zookeeper.address) as proxy, server(f"{proxy.address}/{chroot}", 1000) as here:
        await here.ready()
        await zk.create(znode_paths.MIGRATION, MIGRATION)
        epoch = await zk.get(znode_paths.CONTROLLER_EPOCH)
        proxy.fin()
        await register(zk, 1)
        await eventually(lambda: here.live_brokers() == [1])
        assert await is_controlled_by(zk, 1000)
        assert await zk.get(znode_paths.CONTROLLER_EPOCH) == epoch


async def test_sv_4_a_server_does_not_start_during_a_migration(zk: ZooKeeper, zk_connect: str) -> None:
    await zk.create(znode_paths.MIGRATION, MIGRATION)
    with pytest.raises(controller_election.MigrationToKRaft, match="delete that znode"):
        async with server(zk_connect, 1000):
            pass
    assert await zk.exists(znode_paths.CONTROLLER) is None


async def test_mg_3_a_quorum_that_only_waits_for_the_brokers_keeps_no_server_from_anything(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    await zk.create(znode_paths.MIGRATION, WAITS)
    async with AsyncExitStack() as first:
        await (await first.enter_async_context(server(zk_connect, 1000))).ready()
        assert "KRaft controllers wait for this cluster" in caplog.text
        async with server(zk_connect, 1001) as standby:
            await standby.ready()
            await first.aclose()
            await eventually(lambda: is_controlled_by(zk, 1001))


async def test_mg_3_once_the_metadata_is_copied_a_server_that_was_there_before_stands_by(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    await zk.create(znode_paths.MIGRATION, WAITS)
    await zk.create(znode_paths.CONTROLLER, encode_controller(9, 0), ephemeral=True)
    async with server(zk_connect, 1000) as here:
        await here.ready()
        await zk.set(znode_paths.MIGRATION, MIGRATION, 0)
        await zk.delete(znode_paths.CONTROLLER)
        await eventually(lambda: "standing by: /migration exists" in caplog.text)
        assert await controller_election.owner(zk) is None


KRAFT = b'{"version":2,"brokerid":3000,"timestamp":"17","kraftControllerEpoch":4,"new":{"a":[1]}}'


async def names(here: Cluster, broker: int) -> bool:
    """Whether this server names that broker as the controller, and no other."""
    metadata = await here.ask(MetadataRequest(topics=None), 9)
    described = await here.ask(DescribeClusterRequest(include_cluster_authorized_operations=False), 0)
    return bool(metadata.controller_id == described.controller_id == broker)


async def test_mg_3_when_kraft_takes_the_controllership_the_server_resigns_and_names_a_live_broker(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with served(zk_connect, None) as here:
        assert await names(here, 1000)
        await register(zk, 1)
        await zk.create(znode_paths.MIGRATION, b"garbage")
        _, epoch = await zk.get(znode_paths.CONTROLLER_EPOCH)
        _, controller = await zk.get(znode_paths.CONTROLLER)
        await zk.multi(
            [
                SetData(znode_paths.CONTROLLER_EPOCH, b"9", epoch.version),
                Delete(znode_paths.CONTROLLER, controller.version),
                Create(znode_paths.CONTROLLER, KRAFT),
            ]
        )
        await eventually(lambda: names(here, 1))
        await zk.delete(znode_paths.broker(1))
        await register(zk, 2)
        await eventually(lambda: names(here, 2))
        assert (await zk.get(znode_paths.CONTROLLER))[0] == KRAFT
        assert (await zk.get(znode_paths.CONTROLLER_EPOCH))[0] == b"9"


async def test_mg_3_a_standby_remembers_the_brokers_that_no_longer_register_in_kraft_mode_and_names_the_live_ones(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Broker 1 says that 2 is gone, and that 4 has come, and still takes this server for a broker: that is none."""
    broker = ScriptedBroker({**NEWEST, ApiKey.METADATA: 8})
    await broker.start()
    there = {1: ("127.0.0.1", broker.port), 4: ("there", 9094)}

    def answer(body: Any) -> Any:
        if not isinstance(body, MetadataRequest):
            return RESPONSES[body.API_KEY]
        node = MetadataResponse.MetadataResponseBroker
        named = {**there, 1000: ("127.0.0.1", 9)}
        nodes = [node(version=8, node_id=id_, host=host, port=port, rack=None) for id_, (host, port) in named.items()]
        return MetadataResponse(version=8, brokers=nodes, cluster_id="", controller_id=1, topics=[])

    broker.answer = answer
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", broker.port)
    async with served(zk_connect, None) as here:

        async def named() -> tuple[bool, dict[int, tuple[str, int]]]:
            """Whether a broker is named in place of the controller, and which one."""
            found = await here.ask(MetadataRequest(topics=None), 9)
            nodes = {one.node_id: (one.host, one.port) for one in found.brokers}
            return found.controller_id in nodes.keys() - {1000}, {id_: at for id_, at in nodes.items() if id_ != 1000}

        await zk.create(znode_paths.broker(1), encode_broker([endpoint], 0), ephemeral=True)
        await register(zk, 2)
        _, controller = await zk.get(znode_paths.CONTROLLER)
        await zk.multi([Delete(znode_paths.CONTROLLER, controller.version), Create(znode_paths.CONTROLLER, KRAFT)])
        await eventually(lambda: is_named(named, {1, 2, 4}))
        for gone in (1, 2):
            await zk.delete(znode_paths.broker(gone))
        await eventually(lambda: is_named(named, {1, 4}))
        assert await named() == (True, there)
        await broker.stop()
        await zk.create(znode_paths.broker(3), encode_broker([endpoint], 0), ephemeral=True)
        await eventually(lambda: is_named(named, {1, 2, 3, 4}))  # no broker answers: all that were seen


async def is_named(named: Callable[[], Awaitable[tuple[bool, dict[int, tuple[str, int]]]]], ids: set[int]) -> bool:
    by_a_broker, nodes = await named()
    return by_a_broker and nodes.keys() == ids


WAITING = {("t", 0): (1, 3), ("t", 1): (1, 3)}


async def has_marked(zk: ZooKeeper, epoch: int) -> bool:
    found = await own_server_znodes.read_last_control(zk)
    return isinstance(found, LastControl) and found.epoch == epoch


async def queued(zk: ZooKeeper, connect: str) -> None:
    """Moves that wait since a server controlled the cluster."""
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2), 1: (1, 2)})
    async with server(connect, 1000) as before:
        await before.ready()
        await eventually(lambda: has_marked(zk, 1))
        await zk.create(znode_paths.REASSIGN_CANCEL, b"")
    async with elected_controller(connect) as controller:
        await controller.alter(WAITING, queue=True)
    await zk.delete(znode_paths.REASSIGN_CANCEL)


async def others_elected(zk: ZooKeeper, data: bytes, *, ephemeral: bool) -> None:
    epoch, stat = await zk.get(znode_paths.CONTROLLER_EPOCH)
    create = Create(znode_paths.CONTROLLER, data, ephemeral=ephemeral)
    await zk.multi([SetData(znode_paths.CONTROLLER_EPOCH, b"%d" % (int(epoch) + 1), stat.version), create])


async def reasons_of_holds(zk: ZooKeeper) -> set[str | None]:
    found = (await queue_json(zk) or {}).values()
    return {one.get("held", {}).get("reason") for one in found}


async def is_moving(zk: ZooKeeper) -> bool:
    adding = (await topic_json(zk, "t"))["adding_replicas"]
    return set(adding) == {"0", "1"}


async def moves_to(zk: ZooKeeper, partition: int, target: list[int]) -> bool:
    found = await topic_json(zk, "u")
    return bool(found["partitions"][str(partition)][: len(target)] == target)


async def test_mg_4_after_a_rollback_the_servers_take_part_again_and_nothing_that_waited_starts_by_itself(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    await queued(zk, zk_connect)
    await put_topic(zk, "u", {0: (1, 2), 1: (1, 2)}, topic_id=None)
    await zk.create(znode_paths.REASSIGN_PARTITIONS, batch({("u", 0): (1, 3)}))
    await put_request(zk, {("u", 1): (1, 3)})
    await zk.create(znode_paths.MIGRATION, WAITS)
    await others_elected(zk, KRAFT, ephemeral=False)
    async with served(zk_connect, None) as here:
        await eventually(lambda: "is of the KRaft controller 3000" in caplog.text)
        await zk.set(znode_paths.MIGRATION, MIGRATION)
        await zk.delete(znode_paths.CONTROLLER)
        await eventually(lambda: "standing by: /migration exists" in caplog.text)
        assert not await is_moving(zk)
        await zk.delete(znode_paths.MIGRATION)
        await eventually(lambda: is_controlled_by(zk, 1000))
        await eventually(lambda: has_marked(zk, 4))
        (why,) = await reasons_of_holds(zk)
        assert (why or "").startswith("KRaft has controlled this cluster since ")
        assert (
            "4 waiting moves are held until `kafka-reassign release --bootstrap-server HOST:PORT --all`: KRaft"
            in caplog.text
        )
        assert not await is_moving(zk)
        assert (await queue_json(zk) or {}).keys() == {*WAITING, ("u", 0), ("u", 1)}
        await zk.create(znode_paths.REASSIGN_PARTITIONS, batch({("u", 0): (2, 3)}))
        await eventually(lambda: moves_to(zk, 0, [2, 3]))
        assert not await moves_to(zk, 1, [1, 3])
        await here.ask(order("release", all=True), 0)
        await eventually(lambda: is_moving(zk))
        await eventually(lambda: moves_to(zk, 1, [1, 3]))


HOUR_MS = 3_600_000


@pytest.mark.parametrize("ago_ms", [0, 2 * HOUR_MS])
async def test_dh_7_after_a_stock_controller_what_waits_is_held_only_if_that_was_long(
    zk: ZooKeeper, zk_connect: str, ago_ms: int
) -> None:
    await queued(zk, zk_connect)
    last = LastControl(2, now_ms() - ago_ms)
    await zk.set(znode_paths.LAST_CONTROL, own_server_znodes.encode_last_control(last))
    await others_elected(zk, encode_controller(1, 0), ephemeral=True)
    await zk.delete(znode_paths.CONTROLLER)
    async with served(zk_connect, None):
        await eventually(lambda: has_marked(zk, 4))
        if not ago_ms:
            await eventually(lambda: is_moving(zk))
        else:
            (why,) = await reasons_of_holds(zk)
            assert (why or "").startswith("others have controlled this cluster since ")
            assert not await is_moving(zk)
    async with served(zk_connect, None):  # a failover between servers changes nothing
        await eventually(lambda: has_marked(zk, 5))
        assert await is_moving(zk) is not bool(ago_ms)


async def test_dh_7_an_open_window_starts_nothing_before_the_hold_is_durable(zk: ZooKeeper, zk_connect: str) -> None:
    """The record of a partition that does not exist is removed first, which takes a while."""
    await queued(zk, zk_connect)
    last = LastControl(2, now_ms() - 2 * HOUR_MS)
    await zk.set(znode_paths.LAST_CONTROL, own_server_znodes.encode_last_control(last))
    settings = {"version": 1, "config": {"reassignment.windows": "daily 00:00-24:00 UTC"}}
    await zk.create(znode_paths.SETTINGS, json.dumps(settings).encode())
    await zk.ensure_path(znode_paths.reassignment_topic("gone"))
    await zk.create(
        znode_paths.reassignment("gone", 0), encode_move_record(MoveRecord(MoveTerms((1, 3)), (1, 2), 7, 1))
    )
    await others_elected(zk, encode_controller(1, 0), ephemeral=True)
    await zk.delete(znode_paths.CONTROLLER)
    async with served(zk_connect, None):
        await eventually(lambda: has_marked(zk, 4))
        assert await records(zk) == set()
        (why,) = await reasons_of_holds(zk)
        assert (why or "").startswith("others have controlled this cluster since ")
        assert not await is_moving(zk)


async def close_mark(zk: ZooKeeper, permissions: int) -> None:
    """The world may do this alone with the mark of the last control."""
    data, _ = await zk.get(znode_paths.LAST_CONTROL)
    await zk.delete(znode_paths.LAST_CONTROL)
    closed = Access(acl_of=always((AclEntry(permissions, "world", "anyone"),)))
    async with ZooKeeper(zk.connect, access=closed) as author:
        await author.create(znode_paths.LAST_CONTROL, data)


@pytest.mark.parametrize("permissions", [1, 16], ids=["may be read alone", "may not even be read"])
async def test_dh_7_a_mark_that_the_acl_closes_costs_no_term_and_its_consequence_is_logged(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture, permissions: int
) -> None:
    await queued(zk, zk_connect)
    await close_mark(zk, permissions)
    async with served(zk_connect, None) as here:
        await eventually(lambda: "may hold whatever waits then" in caplog.text)
        assert await is_controlled_by(zk, 1000)
        assert (await zk.get(znode_paths.CONTROLLER_EPOCH))[0] == b"3", "it is the only term"
        if permissions == 1:
            await eventually(lambda: is_moving(zk))
            return
        assert "held until it is released" in caplog.text
        assert not await is_moving(zk)
        await here.ask(order("release", all=True), 0)
        await eventually(lambda: is_moving(zk))


async def test_mg_3_a_standby_that_may_not_note_that_kraft_controls_the_cluster_is_a_standby_anyway(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    await queued(zk, zk_connect)
    await close_mark(zk, 1)
    await others_elected(zk, KRAFT, ephemeral=False)
    async with served(zk_connect, None) as here:
        await eventually(lambda: "that KRaft controls the cluster is not noted" in caplog.text)
        await eventually(lambda: names(here, 1))
