"""Keeps the mark of the last control: a server that is elected after others have controlled the cluster knows for how
long they did. It is first written when a failover is durable: a server that dies before leaves the decision about the
waiting moves to the next.
"""

import asyncio
import logging
from collections.abc import Callable

from kafka_reassign_rpc.controller.store import ReloadNeeded
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import FencedZooKeeper
from kafka_reassign_rpc.core.failover import LastControl
from kafka_reassign_rpc.zookeeper import own_server_znodes, znode_paths

log = logging.getLogger(__name__)

EVERY_S = 60.0
"""By how much the mark may be older than the end of a term."""


async def mark(store: FencedZooKeeper, epoch: int, now_ms: int) -> None:
    """One that ZooKeeper refuses costs no term. Raises ControllerMoved, ReloadNeeded."""
    try:
        await store.ensure([znode_paths.ADMIN])
        (found,) = await store.read([znode_paths.LAST_CONTROL])
        await store.write([own_server_znodes.write_last_control(LastControl(epoch, now_ms), exists=found is not None)])
    except ReloadNeeded as error:
        if error.is_unknown:
            raise
        log.warning("the controller after this one may hold whatever waits then: the mark of the last control is not"
                    " written (%s)", error)  # fmt: skip


async def keep_marking(store: FencedZooKeeper, epoch: int, now_ms: Callable[[], int]) -> None:
    while True:
        await asyncio.sleep(EVERY_S)
        await mark(store, epoch, now_ms())
