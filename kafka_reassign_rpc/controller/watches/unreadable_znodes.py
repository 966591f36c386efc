"""States of partitions and dynamic configs that cannot be read are watched, and read again once they are repaired: a
repair is not announced. (Other znodes that cannot be read have a watch as it is: topics, brokers, settings, the batch,
the queue, `/controller`; `/controller_epoch` is read again and again.)
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence

from kafka_reassign_rpc.controller.commands.cluster_commands import ConfigsRead, StatesRepaired
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.loading import load_cluster, load_topics
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.topic_facts import UnreadableReadAgain
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import entity_path
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

log = logging.getLogger(__name__)


class UnreadableZnodes:
    """`repaired`: called with partitions whose states can be read again, once the decisions about them are durable."""

    def __init__(
        self,
        zk: ZooKeeper,
        loop: ControllerLoop,
        own_id: int,
        repaired: Callable[[Sequence[TopicPartition]], None],
    ) -> None:
        self._zk = zk
        self._loop = loop
        self._own_id = own_id
        self._repaired = repaired
        self._watched: set[str] = set()

    def changed(self, path: str) -> bool:
        """Whether it was watched, so that `read` has something to do."""
        if path not in self._watched:
            return False
        self._watched.discard(path)
        return True

    def connection_lost(self) -> None:
        self._watched.clear()

    async def read(self) -> bool:
        """Watches and reads what the loop knows as unreadable, and what has changed since. Returns whether configs can
        be read now."""
        cluster = self._loop.cluster
        states = {znode_paths.partition_state(*name): name for name in cluster.unreadable_states()}
        configs = {znode_paths.config(entity_path(*one)): one for one in cluster.unreadable_configs}
        self._watched &= states.keys() | configs.keys()
        new = (states.keys() | configs.keys()) - self._watched
        if not new:
            return False
        self._watched |= new
        await self._zk.place_watches(sorted(new), self._zk.last_zxid)
        await self._read_states([states[path] for path in new & states.keys()])
        return await self._read_configs([configs[path] for path in new & configs.keys()])

    async def _read_states(self, names: list[TopicPartition]) -> None:
        if not names:
            return
        found, unreadable = await load_topics.read_states(self._zk, names)
        for name in found:
            log.info("the state of %s can be read again: the partition is controlled as before", name)
        self._loop.submit(StatesRepaired(UnreadableReadAgain(found, unreadable), self._own_id, self._repaired))

    async def _read_configs(self, entities: list[tuple[str, str]]) -> bool:
        by_kind: dict[str, list[str]] = defaultdict(list)
        for kind, name in entities:
            by_kind[kind].append(name)
        repaired = False
        for kind, names in by_kind.items():
            read = await load_cluster.read_named_configs(self._zk, kind, names)
            configs = {name: read.configs.get(name, {}) for name in names if name not in read.unreadable}
            self._loop.submit(ConfigsRead(kind, configs, read.versions))
            repaired = repaired or bool(configs)
        return repaired
