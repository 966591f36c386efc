"""Kafka's controller election in ZooKeeper. One transaction wins it:

    multi( setData /controller_epoch  epoch+1  at the version read
           [delete /controller at the version read]        only when seizing from another owner
           create  /controller  ephemeral )

The version of `/controller_epoch` that it returns fences every later write (see `zookeeper_store.fenced_zookeeper`). If
its answer is lost, the session that owns `/controller` shows whether it was carried out. Source:
KafkaZkClient.registerControllerAndIncrementControllerEpoch.

What the znodes of an election may hold that no controller's election has written, and what an operator does.

    /controller         without data or with garbage; persistent, so that it goes with no session; of a KRaft controller
    /controller_epoch   without data or with garbage: the epoch that brokers obey is not known. Lowered or deleted: it
                        is known from elsewhere (`core.failover`)
    /migration          with offset -1: KRaft controllers wait for the brokers, perhaps for days; without data:
                        `zookeeper-security-migration.sh` leaves it so (KAFKA-19480), and it is no migration; with
                        garbage: it may be one of a version that this server does not know

The stock tool for rights creates `/controller_epoch` and `/migration` as well if they do not exist. Pure.
"""

import logging
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Check, Create, Delete, Op, SetData, Stat
from kafka_reassign_rpc.zookeeper.own_server_znodes import endpoint_texts, endpoints_of
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import (
    BadVersion,
    NodeExists,
    NoNode,
    NotSent,
    TransactionFailed,
    Unknown,
)

log = logging.getLogger(__name__)


class Takeover(StrEnum):
    """When a server becomes the controller.

    NEVER    in no case: it is always a standby
    VACANT   when there is no controller
    ALWAYS   also at its start, if a stock broker is the controller
    """

    NEVER = "never"
    VACANT = "vacant"
    ALWAYS = "always"


class Leadership(NamedTuple):
    """`epoch` goes into requests, `epoch_version` fences writes, `session` owns `/controller`. `zxid` is that of the
    election: all later ones happened in this term."""

    epoch: int
    epoch_version: int
    session: int
    zxid: int

    @property
    def is_in_a_copy(self) -> bool:
        """In a copy of another ZooKeeper the versions of all znodes begin at 0, but each election writes the epoch: so
        the znode has fewer versions than elections. A Kafka before 1.1 creates it with the epoch of its first election:
        hence the 1."""
        return self.epoch > self.epoch_version + 1


class ControllerOwner(NamedTuple):
    """The owner of `/controller`: its broker id, its endpoints if it is a server of ours, its session.

    id           None if its content cannot be read
    session      0 if the znode is persistent: it goes with no session
    since_ms     when it was elected, by its own clock; None if it does not say
    problem      why its content cannot be read; empty if it can
    kraft_epoch  of the KRaft controller that owns it during a migration; else None
    """

    id: int | None
    endpoints: tuple[Endpoint, ...]
    session: int
    version: int
    since_ms: int | None = None
    problem: str = ""
    kraft_epoch: int | None = None


class MigrationToKRaft(RuntimeError): ...


async def read_migration(zk: ZooKeeper, *, watch: bool = False) -> bytes | None:
    path = znode_paths.MIGRATION
    read = await zk.if_there(path, lambda: zk.get(path, watch=watch), watch=watch)
    return None if read is None else read[0]


async def owner(zk: ZooKeeper, *, watch: bool = False) -> ControllerOwner | None:
    """A watch reports also the creation of `/controller`."""
    path = znode_paths.CONTROLLER
    read = await zk.if_there(path, lambda: zk.get(path, watch=watch), watch=watch)
    if read is None:
        return None
    data, stat = read
    try:
        found = znode_contents.decode_controller(data)
    except BadZnode as error:
        return ControllerOwner(None, (), stat.ephemeral_owner, stat.version, problem=error.reason)
    since = whole_number(found.timestamp, 0, znode_contents.LAST_MS)
    return ControllerOwner(
        found.brokerid,
        endpoints_of(found.listeners),
        stat.ephemeral_owner,
        stat.version,
        since,
        kraft_epoch=found.kraft_epoch if found.kraft_epoch >= 0 else None,
    )


async def campaign(
    zk: ZooKeeper,
    server_id: int,
    endpoints: Sequence[Endpoint],
    now_ms: Callable[[], int],
    *,
    seize: ControllerOwner | None = None,
    highest: int = 0,
) -> Leadership | None:
    """Tries once. Returns None if another controller is elected, or was faster. `highest`: the highest epoch that is
    known, apart from the one in ZooKeeper.

    `seize`: the same transaction removes this owner of `/controller`, but not a newer one. Raises NotSent or
    SessionOver if ZooKeeper cannot be asked, BadZnode if the epoch cannot be decoded.
    """
    session = zk.session_id
    if session is None:
        raise NotSent("no ZooKeeper session")
    epoch, version = await _controller_epoch(zk)
    if epoch < highest:
        log.warning(
            "%s is %d, but brokers know %d or more: they would ignore a controller with a lower epoch, so this server"
            " is elected under %d",
            znode_paths.CONTROLLER_EPOCH, epoch, highest, highest + 1,
        )  # fmt: skip
        epoch = highest
    # Versions of /controller start again with each election. An election after this read changes the epoch.
    if seize is not None:
        found = await owner(zk)
        if found is None or found.session != seize.session:
            return None
    operations: list[Op] = [
        SetData(znode_paths.CONTROLLER_EPOCH, znode_contents.encode_controller_epoch(epoch + 1), version)
    ]
    if seize is not None:
        operations.append(Delete(znode_paths.CONTROLLER, seize.version))
    operations.append(
        Create(
            znode_paths.CONTROLLER,
            znode_contents.encode_controller(server_id, now_ms(), endpoint_texts(endpoints)),
            ephemeral=True,
        )
    )
    try:
        results = await zk.multi(operations, session=session)
    except Unknown:
        return await _resolve_lost_answer(zk, session, epoch + 1)
    except TransactionFailed as failure:
        if isinstance(failure.error, NodeExists | BadVersion | NoNode):
            return None
        raise
    written = results[0]
    assert isinstance(written, Stat)
    return Leadership(epoch + 1, written.version, session, written.mzxid)


async def resign(zk: ZooKeeper) -> bool:
    """Deletes `/controller` if this session owns it, so that another is elected at once. Returns whether it did. Raises
    ZkError.

    The transaction checks the epoch: the znode of a controller that was elected since may well have the same version.
    """
    session = zk.session_id
    if session is None:
        return False
    try:
        _, epoch = await zk.get(znode_paths.CONTROLLER_EPOCH)
    except NoNode:
        return False
    found = await owner(zk)
    if found is None or found.session != session:
        return False
    fence = Check(znode_paths.CONTROLLER_EPOCH, epoch.version)
    try:
        await zk.multi([fence, Delete(znode_paths.CONTROLLER, found.version)], session=session)
    except TransactionFailed as failure:
        if isinstance(failure.error, BadVersion | NoNode):
            return False
        raise failure.error from failure
    return True


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


async def _resolve_lost_answer(zk: ZooKeeper, session: int, epoch: int) -> Leadership | None:
    """This server was elected exactly if its session owns `/controller`. A transaction of the former connection that is
    still on its way comes before the answer to a `sync`, or never: ZooKeeper refuses requests of a session over the
    server that it has left."""

    async def resolve() -> Leadership | None:
        await zk.sync(znode_paths.CONTROLLER)
        found = await owner(zk)
        if found is None or found.session != session:
            return None
        data, stat = await zk.get(znode_paths.CONTROLLER_EPOCH)
        if znode_contents.decode_controller_epoch(data) != epoch:
            return None
        return Leadership(epoch, stat.version, session, stat.mzxid)

    return await zk.reading(resolve, session)


SECURITY_TOOL = "zookeeper-security-migration.sh leaves it so"


class Odd(NamedTuple):
    what: str
    to_do: str

    def __str__(self) -> str:
        return f"{self.what}: {self.to_do}"


class Migration(NamedTuple):
    """stops  no server may control the cluster
    odd    what an operator has to know; None if the znode does not exist
    """

    stops: bool
    odd: Odd | None


MIGRATING = Odd(
    f"{znode_paths.MIGRATION} exists in ZooKeeper: the cluster is in migration to KRaft, or was. This server controls"
    " clusters in ZooKeeper mode alone, and would change what the KRaft controller has taken over",
    "end the migration; if it was reverted, delete that znode",
)
PREPARED = Odd(
    f"{znode_paths.MIGRATION} says that KRaft controllers wait for this cluster: they take it over as soon as all"
    " brokers have been restarted for the migration",
    "look at `kafka-reassign-rpc check` with --for-kraft before brokers are restarted; if no migration is wanted, stop"
    " these controllers and delete that znode",
)
_NO_MIGRATION = Odd(
    f"{znode_paths.MIGRATION} has no data, so it is no migration to KRaft ({SECURITY_TOOL}, KAFKA-19480)",
    "delete it before a migration begins, since a KRaft controller cannot read it",
)


def migration(data: bytes | None) -> Migration:
    if data is None:
        return Migration(stops=False, odd=None)
    if not data:
        return Migration(stops=False, odd=_NO_MIGRATION)
    try:
        has_migrated = znode_contents.has_migrated(data)
    except BadZnode as error:
        text = f"{error}: this may be a migration to KRaft of a version that this server does not know"
        return Migration(stops=True, odd=Odd(text, "if no migration has begun, or it was reverted, delete that znode"))
    return Migration(stops=True, odd=MIGRATING) if has_migrated else Migration(stops=False, odd=PREPARED)


def invalid_owner(owner: ControllerOwner) -> Odd | None:
    path = znode_paths.CONTROLLER
    if owner.kraft_epoch is not None:
        return Odd(
            f"{path} is of the KRaft controller {owner.id}, epoch {owner.kraft_epoch}, to which a migration has given"
            " the brokers; it stays when that controller ends",
            f"end the migration; if it was reverted, stop the KRaft controllers, then delete {path} and"
            f" {znode_paths.MIGRATION}",
        )
    holds = owner.problem or f"it names {owner.id}"
    if owner.session:
        if not owner.problem:
            return None
        return Odd(
            f"{path} cannot be understood ({holds}), and no controller is elected while it is there",
            f"find out who wrote it; it goes with the session of its owner, {owner.session:#x}",
        )
    return Odd(
        f"{path} is persistent ({holds}): no session owns it, it does not go when a process ends, and no controller is"
        f" elected while it is there",
        "if no broker and no server controls the cluster, delete it",
    )


def lowered_epoch(epoch: int | None, least: int) -> Odd | None:
    """`epoch` as it is stored, None where there is no znode; `least`: the highest in the states of partitions."""
    if (-1 if epoch is None else epoch) >= least:
        return None
    path = znode_paths.CONTROLLER_EPOCH
    is_now = "does not exist" if epoch is None else f"is {epoch}"
    return Odd(
        f"{path} {is_now}, and a controller of epoch {least} has written"
        " states of partitions: it was lowered, and brokers obey no lower epoch than they know",
        f"a server of this product is elected above {least}; before a stock or KRaft controller is elected, write"
        f" {least} into it, or any higher number",
    )


def invalid_epoch(error: BadZnode, least: int | None = None) -> Odd:
    """`least` is the highest epoch that is known otherwise; None: it was not looked for."""
    known = "the highest controller_epoch in the states of partitions" if least is None else str(least)
    return Odd(
        f"{error.path} cannot be understood ({error.reason}), and no controller is elected until it is repaired",
        f"write the epoch of the last controller into it, or any higher number; it was {known} or more."
        " Brokers ignore a controller with a lower one",
    )
