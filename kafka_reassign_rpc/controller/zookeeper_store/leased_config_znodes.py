"""The configs that throttle leases change, and the memory of their former values, as znodes.

A config and its memory change in one transaction, which depends on the versions that were read: no change by a client
is lost, and the next controller finds the former value. If both are too long for one, the memory covers the config
before and after, until the second is written.
"""

import logging
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Protocol

from kafka_reassign_rpc.controller.store import ConfigWrite, Entity, ReloadNeeded, StoredConfigs, TopicTooLarge
from kafka_reassign_rpc.core.config_values import BROKERS, TOPICS
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, TopicMemory
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.zookeeper import transactions, znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import announcement, entity_path, written, written_or_gone
from kafka_reassign_rpc.zookeeper.jute import size_of
from kafka_reassign_rpc.zookeeper.operations import Create, Delete, Op, SetData, Stat
from kafka_reassign_rpc.zookeeper.own_server_znodes import decode_memory, encode_memory
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode

log = logging.getLogger(__name__)

KINDS = (TOPICS, BROKERS)

ZnodeRead = tuple[bytes, Stat] | None


class Znodes(Protocol):
    """Read and written by the controller alone: `FencedZooKeeper`."""

    async def children(self, places: Sequence[str]) -> list[list[str] | None]: ...

    async def read(self, places: Sequence[str]) -> list[ZnodeRead]: ...

    async def write_together(self, groups: Iterable[Sequence[Op]]) -> None: ...

    async def ensure(self, places: Iterable[str]) -> None: ...


class LeasedConfigZnodes:
    def __init__(self, zk: Znodes) -> None:
        self._zk = zk

    async def remembered(self) -> list[Entity]:
        found = await self._zk.children([znode_paths.throttle_memories(kind) for kind in KINDS])
        return [Entity(kind, name) for kind, names in zip(KINDS, found, strict=True) for name in names or ()]

    async def read(self, entities: Sequence[Entity]) -> list[StoredConfigs]:
        places = [_path(entity) for entity in entities]
        places += [znode_paths.throttle_memory(*entity) for entity in entities]
        found = await self._zk.read(places)
        stored = []
        pace = Pace()
        for entity, config, memory in zip(entities, found, found[len(entities) :], strict=False):
            stored.append(stored_configs(entity, config, memory))
            await pace.rest()
        return stored

    async def write(self, writes: Sequence[ConfigWrite], *, limited: bool = False) -> int:
        together: list[list[Op]] = []
        in_steps: list[list[list[Op]]] = []
        written = 0
        for write in writes:
            steps = transactions_of(write)
            sizes = [sum(map(size_of, step)) for step in steps]
            entity = write.stored.entity
            if limited and entity.kind == TOPICS and max(sizes, default=0) > transactions.MAX_STEP_BYTES:
                raise TopicTooLarge(
                    entity.name,
                    f"The lists of throttled replicas of topic {entity.name!r} would take {max(sizes)} bytes, more than"
                    f" the {transactions.MAX_STEP_BYTES} that ZooKeeper takes in one znode: move fewer of its"
                    " partitions at a time.",
                )
            written += sum(sizes)
            if len(steps) == 1:
                together += steps
            else:
                in_steps.append(steps)
        try:
            await self._zk.write_together(together)
            for step in chain.from_iterable(in_steps):
                await self._zk.write_together([step])
        except ReloadNeeded:  # perhaps there is no parent yet
            await self._zk.ensure(map(znode_paths.throttle_memories, KINDS))
            await self._zk.ensure((*map(znode_paths.config_type, KINDS), znode_paths.CONFIG_CHANGES))
            raise
        return written


def _path(entity: Entity) -> str:
    return znode_paths.config(f"{entity.kind}/{entity.name}")


def stored_configs(entity: Entity, config: ZnodeRead, memory: ZnodeRead) -> StoredConfigs:
    version = (None if config is None else config[1], None if memory is None else memory[1])
    order = None if config is None else (config[1].czxid, config[1].version)
    try:
        configs = None if config is None else znode_contents.decode_config(config[0], _path(entity))
    except BadZnode as error:
        return StoredConfigs(entity, None, None, str(error), version, order)
    return StoredConfigs(entity, configs, None if memory is None else _memory(entity, memory[0]), None, version, order)


def _memory(entity: Entity, data: bytes) -> TopicMemory | BrokerMemory:
    """If the znode cannot be decoded, the present values count as the former ones."""
    path = znode_paths.throttle_memory(*entity)
    try:
        if entity.kind == TOPICS:
            return decode_memory(data, path, TopicMemory)
        return decode_memory(data, path, BrokerMemory)
    except BadZnode as error:
        log.error("the present config counts as the one from before the throttle: %s", error)
        return _nothing(entity)


def _nothing(entity: Entity) -> TopicMemory | BrokerMemory:
    return TopicMemory() if entity.kind == TOPICS else BrokerMemory()


def transactions_of(write: ConfigWrite) -> list[list[Op]]:
    """Several, where config and memory are too long for one."""
    entity, configs, memory, _, version, *_ = write.stored
    assert isinstance(version, tuple)
    of_config, of_memory = version
    ops: list[Op] = []
    if write.configs != (configs or {}):
        place = _path(entity), write.configs, of_config
        ops = [*(written_or_gone(*place) if entity.kind == BROKERS else [written(*place)])]
        ops.append(announcement(entity_path(*entity)))
    known = _nothing(entity) if memory is None else memory
    return _in_steps(znode_paths.throttle_memory(*entity), of_memory, known, write.memory, ops)


def _in_steps(
    path: str,
    stat: Stat | None,
    known: TopicMemory | BrokerMemory,
    after: TopicMemory | BrokerMemory,
    of_config: list[Op],
) -> list[list[Op]]:
    """`path` and `stat` are of the memory znode; None: it does not exist."""
    version = None if stat is None else stat.version
    has_children = stat is not None and stat.num_children > 0
    found = [[*_memory_writes(path, version, known, after, has_children=has_children), *of_config]]
    too_long = sum(map(size_of, found[0])) > transactions.MAX_MULTI_BYTES
    if too_long and of_config and isinstance(known, TopicMemory) and isinstance(after, TopicMemory):
        between = known.with_all_of(after)
        first = _memory_writes(path, version, known, between)
        if first:
            version = 0 if version is None else version + 1
        found = [first, of_config, _memory_writes(path, version, between, after, has_children=has_children)]
    return [transaction for transaction in found if transaction]


def _memory_writes(
    path: str,
    version: int | None,
    known: TopicMemory | BrokerMemory,
    after: TopicMemory | BrokerMemory,
    *,
    has_children: bool = False,
) -> list[Op]:
    """`has_children`: made by others, so ZooKeeper does not delete the znode."""
    if version is None:
        return [Create(path, encode_memory(after))] if after else []
    if not after and not has_children:
        return [Delete(path, version)]
    return [SetData(path, encode_memory(after), version)] if after != known else []
