"""Allocates blocks of producer ids for brokers (Kafka's ZkProducerIdManager) and for producers that ask this server.

`/latest_producer_id_block` holds the last allocated block; each allocation is a fenced compare-and-set of it, one after
the other. Where it was set back, ids go on after all that may have been given out: two producers with one id are one to
a broker, which refuses records of one, or takes them for repeated ones.
"""

import asyncio
import logging

from kafka_reassign_rpc.controller.store import ControllerMoved, ReloadNeeded
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import FencedZooKeeper
from kafka_reassign_rpc.core.kafka_errors import CoordinatorLoadInProgress, NotController, UnknownServerError
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create, SetData
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode

BLOCK = 1000
"""Ids that are given out together, by Kafka's controllers too (ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE)."""


def first_free(last: int | None, writes: int) -> int:
    """The first id that was never given out.

    last     what `/latest_producer_id_block` says; None: nothing yet
    writes   its zkVersion. Each block was one write: as many blocks may have been given out, even if the znode was set
             back
    """
    return max(0 if last is None else last + 1, BLOCK * writes)


def is_set_back(last: int | None, writes: int) -> bool:
    """Whether the znode says less than its writes. One more write than blocks may be a repair by hand."""
    return first_free(last, writes) - first_free(last, 0) > BLOCK


log = logging.getLogger(__name__)

LAST_ID = 2**63 - 1


class ProducerIds:
    def __init__(self, store: FencedZooKeeper, own_id: int) -> None:
        self._store = store
        self._own_id = own_id
        self._one_at_a_time = asyncio.Lock()
        self._own: range = range(0)
        self._refilling = asyncio.Lock()
        self._logged = 0
        """The mzxid of the last block that could not be read."""

    async def one(self) -> int:
        """From the server's own block. Raises as `allocate` does."""
        async with self._refilling:
            if not self._own:
                first, count = await self.allocate(self._own_id)
                self._own = range(first, first + count)
            found, self._own = self._own[0], self._own[1:]
            return found

    async def allocate(self, broker_id: int) -> tuple[int, int]:
        """Returns the first id and how many. Raises UnknownServerError when ids have run out; NotController while
        ZooKeeper does not answer, and CoordinatorLoadInProgress while the last block cannot be read: then all ask
        again."""
        async with self._one_at_a_time:
            try:
                return await self._next_block(broker_id), BLOCK
            except (ControllerMoved, ReloadNeeded) as error:
                raise NotController(str(error)) from error

    async def _next_block(self, broker_id: int) -> int:
        path = znode_paths.PRODUCER_ID_BLOCK
        (found,) = await self._store.read([path])
        last = None if found is None else self._last(found[0], found[1].mzxid)
        first = first_free(last, 0 if found is None else found[1].version)
        if first > LAST_ID - BLOCK:
            raise UnknownServerError("all producer ids have been given out")
        if found is not None and first > first_free(last, 0):
            log.warning(
                "%s says that producer ids up to %s have been given out, and was written so often that it may have been"
                " more: no id is given out twice, the next ones begin at %d",
                *(path, last, first),
            )
        block = znode_contents.encode_producer_id_block(broker_id, first, first + BLOCK - 1)
        await self._store.write([Create(path, block) if found is None else SetData(path, block, found[1].version)])
        return first

    def _last(self, data: bytes, mzxid: int) -> int | None:
        try:
            return znode_contents.decode_producer_id_block(data or None)
        except BadZnode as error:
            if mzxid != self._logged:
                log.error(
                    "no producer ids can be allocated, and new idempotent producers wait, until it is repaired: %s",
                    error,
                )
                self._logged = mzxid
            raise CoordinatorLoadInProgress(str(error)) from None
