"""The registration of this server in `/admin/reassignment_servers`: no two servers have the same id.

Clients tell nodes apart by their ids. With two servers of one id they would hang, or talk to either.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence

from kafka_reassign_rpc.core.state.cluster import Endpoint
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.reassignment_servers_znodes import (
    RegisteredServer,
    decode_registered_server,
    encode_registered_server,
)
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NodeExists, NoNode, NotSent

log = logging.getLogger(__name__)

PROBE_S = 2.0
"""How long a connection to the other server may take."""
MOST_SERVERS = 100


class BrokerIdTaken(RuntimeError):
    """A registered broker, or another server, has this server's id: clients could not distinguish the two."""


class ServerRegistration:
    """The znode of this server. It goes with the session; `ensure` places it again in the next one.

    page  the address of its status page; None: it serves none
    """

    def __init__(self, zk: ZooKeeper, server_id: int, page: str | None = None) -> None:
        self._zk = zk
        self._id = server_id
        self._page = page
        self._session: int | None = None

    async def check_free(self) -> None:
        """Raises BrokerIdTaken where a broker has this id, or a server that accepts connections.

        The session of a server that was killed goes on for a while: `ensure` fails until it ends.
        """
        if await self._zk.exists(znode_paths.broker(self._id)) is not None:
            raise BrokerIdTaken(f"broker {self._id} is registered in this cluster: choose another --broker-id")
        path = znode_paths.reassignment_server(self._id)
        try:
            data, _ = await self._zk.get(path)
        except NoNode:
            return
        other = _decoded(data, path).endpoints
        if await _accepts_connections(other):
            raise self._taken(other)
        log.warning("a server with broker.id %d has ended without a farewell: this one stands by until the end of its"
                    " ZooKeeper session", self._id)  # fmt: skip

    async def ensure(self, endpoints: tuple[Endpoint, ...]) -> None:
        """Register in this session, unless that is done. Raises BrokerIdTaken, and ZkError."""
        session = self._zk.session_id
        if session is None:
            raise NotSent("no ZooKeeper session")
        if session != self._session:
            await self._register(session, endpoints)
            self._session = session

    async def servers(self) -> Mapping[int, RegisteredServer]:
        """The running servers by id, `MOST_SERVERS` at most. Raises ZkError."""
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
                path, encode_registered_server(endpoints, self._page), ephemeral=True, session=session
            )
        except NodeExists:
            data, stat = await self._zk.get(path)
            if stat.ephemeral_owner != session:
                raise self._taken(_decoded(data, path).endpoints) from None

    def _taken(self, other: Sequence[Endpoint]) -> BrokerIdTaken:
        at = f" at {other[0].host}:{other[0].port}" if other else ""
        return BrokerIdTaken(
            f"another server{at} has broker.id {self._id} in this cluster: choose another --broker-id, or stop that"
            f" server (it is registered in {znode_paths.reassignment_server(self._id)})"
        )


def _decoded(data: bytes, path: str) -> RegisteredServer:
    try:
        return decode_registered_server(data, path)
    except BadZnode as error:
        log.warning("%s", error)
        return RegisteredServer(())


async def _accepts_connections(endpoints: tuple[Endpoint, ...]) -> bool:
    """Whether somebody listens at the first endpoint."""
    if not endpoints:
        return False
    try:
        async with asyncio.timeout(PROBE_S):
            _, writer = await asyncio.open_connection(endpoints[0].host, endpoints[0].port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
