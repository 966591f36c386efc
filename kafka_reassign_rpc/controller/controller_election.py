"""Who is the controller: Kafka's election in ZooKeeper, won in one transaction.

    multi( setData /controller_epoch  epoch+1  at the version read
           [delete /controller at the version read]        only when seizing from another owner
           create  /controller  ephemeral )

The version of `/controller_epoch` that the transaction returns fences every later write (see `store`).
A transaction whose answer was lost is settled by reading `/controller` and comparing its owner's session.
Source: KafkaZkClient.registerControllerAndIncrementControllerEpoch.
"""

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.core.state.cluster import Endpoint
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create, Delete, Op, SetData, Stat
from kafka_reassign_rpc.zookeeper.znode_contents import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import (
    BadVersion,
    NodeExists,
    NoNode,
    NotSent,
    SessionOver,
    TransactionFailed,
    Unknown,
)

log = logging.getLogger(__name__)


UNKNOWN = -1
"""Broker id of a controller that nobody knows."""


class Leadership(NamedTuple):
    """A won election: `epoch` goes into requests, `epoch_version` fences writes, `session` owns `/controller`."""

    epoch: int
    epoch_version: int
    session: int


class ControllerOwner(NamedTuple):
    """Who holds `/controller`: its broker id or `UNKNOWN`, where clients reach it if it is one of ours, its session."""

    id: int
    endpoints: tuple[Endpoint, ...]
    session: int
    version: int


async def owner(zk: ZooKeeper, *, watch: bool = False) -> ControllerOwner | None:
    """The present controller, or None; with `watch`, a change or the lack of one is reported."""
    try:
        data, stat = await zk.get(znode_paths.CONTROLLER, watch=watch)
    except NoNode:
        if watch and await zk.exists(znode_paths.CONTROLLER, watch=True) is not None:
            return await owner(zk, watch=True)
        return None
    try:
        found = znode_contents.decode_controller(data)
    except BadZnode as error:
        log.error("somebody is the controller, but nobody knows who: %s", error)
        return ControllerOwner(UNKNOWN, (), stat.ephemeral_owner, stat.version)
    return ControllerOwner(found.brokerid, _endpoints(found.listeners), stat.ephemeral_owner, stat.version)


async def campaign(
    zk: ZooKeeper,
    server_id: int,
    endpoints: Sequence[Endpoint],
    now_ms: Callable[[], int],
    *,
    seize: ControllerOwner | None = None,
) -> Leadership | None:
    """Try once to become the controller. None where somebody else is (or became it first).

    With `seize`, that owner is deposed in the same transaction; a newer owner is not.
    Raises NotSent or SessionOver where ZooKeeper cannot be asked, BadZnode where the epoch cannot be understood.
    """
    session = zk.session_id
    if session is None:
        raise NotSent("no ZooKeeper session")
    epoch, version = await _controller_epoch(zk)
    operations: list[Op] = [SetData(znode_paths.CONTROLLER_EPOCH, str(epoch + 1).encode(), version)]
    if seize is not None:
        operations.append(Delete(znode_paths.CONTROLLER, seize.version))
    operations.append(
        Create(
            znode_paths.CONTROLLER,
            znode_contents.encode_controller(server_id, now_ms(), _listeners(endpoints)),
            ephemeral=True,
        )
    )
    try:
        results = await zk.multi(operations, session=session)
    except Unknown:
        return await _settle(zk, session, epoch + 1)
    except TransactionFailed as failure:
        if isinstance(failure.error, NodeExists | BadVersion | NoNode):
            return None
        raise
    written = results[0]
    assert isinstance(written, Stat)
    return Leadership(epoch + 1, written.version, session)


async def _controller_epoch(zk: ZooKeeper) -> tuple[int, int]:
    try:
        data, stat = await zk.get(znode_paths.CONTROLLER_EPOCH)
    except NoNode:
        try:
            await zk.create(znode_paths.CONTROLLER_EPOCH, b"0")
        except NodeExists:
            log.debug("another candidate made %s first", znode_paths.CONTROLLER_EPOCH)
        data, stat = await zk.get(znode_paths.CONTROLLER_EPOCH)
    return znode_contents.decode_controller_epoch(data), stat.version


async def _settle(zk: ZooKeeper, session: int, epoch: int) -> Leadership | None:
    """The answer was lost: we are the controller exactly if our session owns `/controller`."""
    found = await owner(zk)
    if found is None or found.session != session:
        return None
    if zk.session_id != session:
        raise SessionOver(session)
    data, stat = await zk.get(znode_paths.CONTROLLER_EPOCH)
    if znode_contents.decode_controller_epoch(data) != epoch:
        return None
    return Leadership(epoch, stat.version, session)


def _listeners(endpoints: Sequence[Endpoint]) -> list[str]:
    """Our own addition to `/controller`, which Kafka does not read: where a standby sends its clients."""
    return [f"{one.listener}:{one.security_protocol}://{one.host}:{one.port}" for one in endpoints]


def _endpoints(listeners: Sequence[str]) -> tuple[Endpoint, ...]:
    found = []
    for text in listeners:
        names, _, address = text.partition("://")
        listener, _, protocol = names.partition(":")
        host, _, port = address.rpartition(":")
        if listener and host and port.isdigit():
            found.append(Endpoint(listener, protocol or listener, host, int(port)))
    return tuple(found)
