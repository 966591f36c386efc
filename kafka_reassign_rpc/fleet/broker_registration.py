"""A broker's registration: its ephemeral znode in /brokers/ids, created again with every ZooKeeper session. Its czxid
is the broker epoch.

If the znode of an earlier session still exists (a restart after kill -9), the registration waits until ZooKeeper has
expired it, so that no controller takes two lives of a broker for one. An id under which another broker runs is refused
at the start: `check_free` finds it by its listener, and a first registration fails that finds the znode for longer than
an earlier session can live. Sources: KafkaZkClient.registerBroker, KafkaServer.getOrGenerateClusterId,
ZkData.PersistentZkPaths.
"""

import asyncio
import base64
import logging
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress

from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.operations import WatchKind
from kafka_reassign_rpc.zookeeper.own_server_znodes import accepts_connections, decode_registered_server
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NodeExists, NoNode, NotSent, SessionOver, Unknown

log = logging.getLogger(__name__)

RETRY_S = 0.1
SESSION_END_S = 5.0
"""How much longer than its timeout an earlier session may stay, since ZooKeeper's clock is coarse."""
LOOK_AGAIN_S = 1.0


class BrokerIdTaken(RuntimeError): ...


async def check_free(zk: ZooKeeper, broker_ids: Sequence[int]) -> None:
    """Raises BrokerIdTaken if a broker with one of these ids, or a server, accepts connections.

    Call it before any of these brokers listens: it might get the port of its former life.
    """
    for broker_id in broker_ids:
        for path, kind in (
            (znode_paths.broker(broker_id), "broker"),
            (znode_paths.reassignment_server(broker_id), "server"),
        ):
            endpoints = await _registered_endpoints(zk, path, broker_id)
            for one in endpoints:
                if await accepts_connections(one):
                    raise BrokerIdTaken(
                        f"{broker_id} is the id of a {kind} that runs at {Address(one.host, one.port)} ({path}):"
                        " choose another"
                        " one, or stop it first"
                    )


async def _registered_endpoints(zk: ZooKeeper, path: str, broker_id: int) -> Sequence[Endpoint]:
    with suppress(NoNode, BadZnode):
        data, _ = await zk.get(path)
        if path == znode_paths.broker(broker_id):
            return znode_contents.decode_broker(data, path, 0).endpoints
        return decode_registered_server(data, path).endpoints
    return ()


async def cluster_id(zk: ZooKeeper) -> str:
    for path in znode_paths.PERSISTENT:
        await zk.ensure_path(path)
    made = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
    with suppress(NodeExists):
        await zk.create(znode_paths.CLUSTER_ID, znode_contents.encode_cluster_id(made))
        return made
    data, _ = await zk.get(znode_paths.CLUSTER_ID)
    return znode_contents.decode_cluster_id(data)


class Registration:
    """registered    called with the broker epoch of each new registration
    longest_wait  seconds for which the first registration waits for the end of an earlier session
    """

    def __init__(
        self,
        zk: ZooKeeper,
        broker_id: int,
        endpoints: Sequence[Endpoint],
        rack: str | None,
        registered: Callable[[int], None],
        longest_wait: float,
    ) -> None:
        self._zk = zk
        self._broker_id = broker_id
        self._endpoints = endpoints
        self._rack = rack
        self._registered = registered
        self._longest_wait = longest_wait
        self._is_first = True
        self._session: int | None = None
        self._wake = asyncio.Event()
        self._wake.set()
        zk.on_connected(self._wake.set)
        zk.on_watch(self._watch_fired)
        self._task = asyncio.create_task(self._run(), name=f"registration-{broker_id}")

    def check(self) -> None:
        if self._task.done():
            self._task.result()

    async def close(self) -> None:
        """The znode goes with the session."""
        with suppress(BrokerIdTaken):  # `check` has said so
            await end(self._task)

    def _watch_fired(self, kind: WatchKind, path: str) -> None:
        if kind is WatchKind.DELETED and path == znode_paths.broker(self._broker_id):
            self._session = None
            self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            session = self._zk.session_id
            if session is None or session == self._session:
                continue
            try:
                await self._register(session)
            except (NotSent, SessionOver, Unknown) as error:
                # On the next connection the znode exists with our session as its owner, or it is created then.
                log.info("broker %d: not registered, tries again: %s", self._broker_id, error)
                await asyncio.sleep(RETRY_S)  # a connection that is just going fails at once, and is not known as gone
                if self._zk.connected:
                    self._wake.set()

    async def _register(self, session: int) -> None:
        path = znode_paths.broker(self._broker_id)
        data = znode_contents.encode_broker(self._endpoints, int(time.time() * 1000), self._rack)
        began = time.monotonic()
        while True:
            try:
                _, stat = await self._zk.create(path, data, ephemeral=True, session=session)
                break
            except NodeExists:
                try:
                    _, stat = await self._zk.get(path, watch=True)
                except NoNode:
                    continue
                if stat.ephemeral_owner == session:
                    break
                waited = time.monotonic() - began
                if self._is_first and waited > self._longest_wait:
                    raise BrokerIdTaken(
                        f"{self._broker_id} is the id of a broker that is registered since {waited:.0f} s ago or longer"
                        f" ({path}), which is no session of an earlier run: choose another one, or stop that broker"
                    ) from None
                log.info("broker %d: waits until the registration of its earlier session expires", self._broker_id)
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_AGAIN_S):
                        await self._wake.wait()
                self._wake.clear()
                if self._zk.session_id != session:
                    self._wake.set()
                    return
        self._session = session
        self._is_first = False
        log.info("broker %d: registered with epoch %d", self._broker_id, stat.czxid)
        self._registered(stat.czxid)
