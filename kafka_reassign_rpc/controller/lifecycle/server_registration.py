"""The id of this server, which no other server and no broker may have: clients would hang, or reach one or the other.
So each running server has a znode in `/admin/reassignment_servers`.

A stock broker may have the id although it is not registered now. The controller would take its replicas for ones that
stock brokers have placed on the server by mistake, and give them to others: acknowledged records could be lost. So a
server does not start with an id under which a broker holds, or may hold, replicas. Its first start with an id leaves a
mark in `/admin/reassignment_server_ids`: no broker held replicas then. What stock brokers place there later belongs to
no broker, until one registers with the id: then the mark goes, and the server ends.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence

from kafka_reassign_rpc.controller.loading import load_topics
from kafka_reassign_rpc.controller.loading.load_topics import decoded
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.topics.missing_replicas import held_by_brokers
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.slices import pieces
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.own_server_znodes import (
    RegisteredServer,
    accepts_connections,
    decode_registered_server,
    encode_registered_server,
    give_to_brokers,
)
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NodeExists, NoNode, NotSent

AT_ONCE = 1000
"""How many topics have their znodes in memory together."""


async def read_topics_on(zk: ZooKeeper, broker: int) -> Collection[Topic]:
    """Leaves out topics that cannot be decoded. Raises ZkError."""
    names = await zk.children(znode_paths.TOPICS, many=True)
    digits = b"%d" % broker
    holding = []
    pace = Pace()
    for part in pieces(names, AT_ONCE):
        paths = [znode_paths.topic(name) for name in part]
        for name, path, read in zip(part, paths, await zk.multi_get(paths), strict=True):
            if read is not None and digits in read[0] and await _has_replica(read[0], path, broker):
                holding.append(name)
            await pace.rest()
    return (await load_topics.read_topics(zk, holding)).found.values()


async def _has_replica(data: bytes, path: str, broker: int) -> bool:
    try:
        found = await decoded(topic_znodes.decode_topic, data, path)
    except BadZnode:
        return False
    return any(broker in replicas for replicas, _, _ in found.partitions.values())


log = logging.getLogger(__name__)

MOST_SERVERS = 100


class BrokerIdTaken(RuntimeError):
    """Clients could not distinguish this server and the other one."""


class IdOfBroker(BrokerIdTaken):
    """A broker has this server's id, registered or not: the id is not the server's."""


class ServerRegistration:
    """The znode of this session goes with it; `ensure` places it again in the next one. `page` returns the address of
    the status page; None if the server serves none."""

    def __init__(self, zk: ZooKeeper, server_id: int, page: Callable[[], str | None] = lambda: None) -> None:
        self._zk = zk
        self._id = server_id
        self._page = page
        self._session: int | None = None

    async def check_free(self) -> None:
        """Takes this id. Raises IdOfBroker if a broker has it, and BrokerIdTaken if a server has it that accepts
        connections. While the session of a killed server lives on, `ensure` fails."""
        await self.check_no_broker([self._id] if await self._zk.exists(znode_paths.broker(self._id)) else ())
        await self._check_no_server()
        await self._check_no_replicas()
        await self._zk.ensure_path(znode_paths.reassignment_server_id(self._id))

    async def check_no_broker(self, registered: Collection[int]) -> None:
        if self._id in registered:
            await give_to_brokers(self._zk, [self._id])
            raise IdOfBroker(
                f"broker {self._id} is registered in this cluster, and this server has the same id: choose another"
                " --broker-id"
            )

    async def _check_no_replicas(self) -> None:
        held = await replicas_of_brokers(self._zk, self._id)
        if held:
            raise IdOfBroker(
                f"{held_text(self._id, held)}: choose another --broker-id, since this server would take these replicas"
                " for its own and have others replace them"
            )

    async def _check_no_server(self) -> None:
        path = znode_paths.reassignment_server(self._id)
        try:
            data, _ = await self._zk.get(path)
        except NoNode:
            return
        other = _decoded(data, path).endpoints
        if other and await accepts_connections(other[0]):
            raise self._taken(other)
        log.warning("a server with broker.id %d has ended and kept its session: this one stands by until the end of its"
                    " ZooKeeper session", self._id)  # fmt: skip

    async def ensure(self, endpoints: tuple[Endpoint, ...]) -> None:
        """Does nothing if this session has registered. Raises BrokerIdTaken, and ZkError."""
        session = self._zk.session_id
        if session is None:
            raise NotSent("no ZooKeeper session")
        if session != self._session:
            await self._register(session, endpoints)
            self._session = session

    async def servers(self) -> Mapping[int, RegisteredServer]:
        """The running ones by id, at most `MOST_SERVERS`. Raises ZkError."""
        names = await self._zk.children(znode_paths.REASSIGNMENT_SERVERS)
        ids = sorted(number for name in names if (number := znode_paths.parse_index(name)) is not None)[:MOST_SERVERS]
        paths = [znode_paths.reassignment_server(number) for number in ids]
        found = {}
        for number, path, one in zip(ids, paths, await self._zk.multi_get(paths), strict=True):
            if one is not None and (server := _decoded(one[0], path)).endpoints:
                found[number] = server
        return found

    async def _register(self, session: int, endpoints: tuple[Endpoint, ...]) -> None:
        path = znode_paths.reassignment_server(self._id)
        try:
            await self._zk.create(
                path, encode_registered_server(endpoints, self._page()), ephemeral=True, session=session
            )
        except NodeExists:
            data, stat = await self._zk.get(path)
            if stat.ephemeral_owner != session:
                raise self._taken(_decoded(data, path).endpoints) from None

    def _taken(self, other: Sequence[Endpoint]) -> BrokerIdTaken:
        at = f" at {other[0].host}:{other[0].port}" if other else ""
        return BrokerIdTaken(
            f"another server{at} has broker.id {self._id} in this cluster: choose another --broker-id, or stop that"
            f" server (it is registered in {znode_paths.reassignment_server(self._id)}; if it was killed, as this one"
            " before its start, its session ends by itself)"
        )


async def replicas_of_brokers(zk: ZooKeeper, server_id: int) -> Sequence[TopicPartition]:
    """The partitions that keep a server from this id: a broker holds a replica of them, or may. Raises ZkError."""
    is_ours = await zk.exists(znode_paths.reassignment_server_id(server_id)) is not None
    return list(held_by_brokers(await read_topics_on(zk, server_id), server_id, is_ours=is_ours))


def held_text(server_id: int, held: Sequence[TopicPartition]) -> str:
    count, first = counted(len(held), "replica"), f"{held[0].topic}-{held[0].partition}"
    return f"{server_id} is the id of a broker that is not registered and holds {count}, such as of {first}"


def _decoded(data: bytes, path: str) -> RegisteredServer:
    try:
        return decode_registered_server(data, path)
    except BadZnode as error:
        log.warning("a registered server counts as one without an address: %s", error)
        return RegisteredServer(())
