"""What the znodes of an election may hold that no controller's election has written, and what an operator does.

    /controller         without data or with garbage; persistent, so that it goes with no session; of a KRaft controller
    /controller_epoch   without data or with garbage: the epoch that brokers obey is not known. Lowered or deleted: it
                        is known from elsewhere (`core.failover.controller_epochs`)
    /migration          with offset -1: KRaft controllers wait for the brokers, perhaps for days; without data:
                        `zookeeper-security-migration.sh` leaves it so (KAFKA-19480), and it is no migration; with
                        garbage: it may be one of a version that this server does not know

The stock tool for rights creates `/controller_epoch` and `/migration` as well if they do not exist. Pure.
"""

from typing import NamedTuple

from kafka_reassign_rpc.controller.controller_election import ControllerOwner
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode

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


def controller(owner: ControllerOwner) -> Odd | None:
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


def controller_epoch(error: BadZnode, least: int | None = None) -> Odd:
    """`least` is the highest epoch that is known otherwise; None: it was not looked for."""
    known = "the highest controller_epoch in the states of partitions" if least is None else str(least)
    return Odd(
        f"{error.path} cannot be understood ({error.reason}), and no controller is elected until it is repaired",
        f"write the epoch of the last controller into it, or any higher number; it was {known} or more."
        " Brokers ignore a controller with a lower one",
    )
