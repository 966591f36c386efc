"""The writes of a config together with the memory of its former value, for `controller.throttle_configs`."""

from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, TopicMemory
from kafka_reassign_rpc.zookeeper.jute import size_of
from kafka_reassign_rpc.zookeeper.operations import Create, Delete, Op, SetData, Stat
from kafka_reassign_rpc.zookeeper.throttle_memory_znodes import encode_memory
from kafka_reassign_rpc.zookeeper.transactions import MAX_MULTI_BYTES


def transactions(
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
    too_long = sum(map(size_of, found[0])) > MAX_MULTI_BYTES
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
    """`has_children`: of somebody else, so ZooKeeper does not delete the znode."""
    if version is None:
        return [Create(path, encode_memory(after))] if after else []
    if not after and not has_children:
        return [Delete(path, version)]
    return [SetData(path, encode_memory(after), version)] if after != known else []
