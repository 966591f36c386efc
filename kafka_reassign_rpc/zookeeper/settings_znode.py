"""The settings that all servers share, in `/admin/reassignment_settings`: {"version":1,"config":{…}}.

To clients they are configs of the server that they ask, beside what Kafka's names say there
(`/config/brokers/<id of the server>`). Any server changes them. Each change is one transaction over all that it was
made from: every znode at the version that was read, led by a check that no controller was elected meanwhile.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kafka_reassign_rpc.core import server_settings
from kafka_reassign_rpc.core.server_settings import MovedSettings
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import (
    BROKERS,
    DEFAULT,
    RACES,
    Change,
    ConfigStore,
    Removal,
    announcement,
    entity_path,
)
from kafka_reassign_rpc.zookeeper.operations import Check, Create, Op, SetData
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import BadVersion, NodeExists, NoNode, TransactionFailed


class _Znode(NamedTuple):
    """Configs at a path, as read. `version` None: there is no znode."""

    path: str
    configs: Mapping[str, str]
    version: int | None

    def write(self, configs: Mapping[str, str]) -> list[Op]:
        """The operation that stores these configs; none where they stand there already."""
        if dict(self.configs) == dict(configs):
            return []
        data = znode_contents.encode_config(configs)
        return [Create(self.path, data) if self.version is None else SetData(self.path, data, self.version)]


class ServerConfigStore(ConfigStore):
    """The dynamic configs as a server reads and changes them. The configs of its own node are the servers' settings and
    what else is set for the node.

    A setting that this version does not know stays: a later version has written it.
    """

    def __init__(self, zk: ZooKeeper, own_id: int) -> None:
        super().__init__(zk)
        self._own = str(own_id)

    async def read(self, entity_type: str, name: str) -> Mapping[str, str]:
        found = await super().read(entity_type, name)
        if (entity_type, name) != (BROKERS, self._own):
            return found
        return _of_own_node(found, (await self._read_znode(znode_paths.SETTINGS)).configs)

    async def get(self, entity_type: str, name: str) -> Mapping[str, str]:
        found = await super().get(entity_type, name)
        if (entity_type, name) != (BROKERS, self._own):
            return found
        try:
            settings = await self._read_znode(znode_paths.SETTINGS)
        except BadZnode:  # whoever starts a move is told, and so is the operator in the log
            return _of_own_node(found, {})
        return _of_own_node(found, settings.configs)

    async def alter(self, entity_type: str, name: str, change: Change, removal: Removal | None = None) -> None:
        if (entity_type, name) == (BROKERS, self._own):
            await self._repeat(lambda: self._alter_own(change))
        else:
            await super().alter(entity_type, name, change, removal)

    async def move(self) -> MovedSettings:
        """Move the settings out of the brokers' defaults. What is set here already holds, and stays.

        Raises BadZnode, Unknown, NotSent.
        """
        found = MovedSettings()

        async def make() -> list[Op]:
            nonlocal found
            settings = await self._read_znode(znode_paths.SETTINGS)
            entity = entity_path(BROKERS, DEFAULT)
            defaults = await self._read_znode(znode_paths.config(entity))
            found = server_settings.moved(settings.configs, defaults.configs)
            _, left = server_settings.divided(defaults.configs)
            ops = settings.write({**settings.configs, **found.moved})
            if left != defaults.configs:
                ops += [*defaults.write(left), announcement(entity)]
            return ops

        await self._repeat(make)
        return found

    async def _alter_own(self, change: Change) -> list[Op]:
        entity = entity_path(BROKERS, self._own)
        settings = await self._read_znode(znode_paths.SETTINGS)
        node = await self._read_znode(znode_paths.config(entity))
        known, unknown = server_settings.divided(settings.configs)
        _, others = server_settings.divided(node.configs)
        own, others_wanted = server_settings.divided(change({**others, **known}))
        ops = settings.write({**unknown, **own})
        if others_wanted != others:
            ops += [*node.write(others_wanted), announcement(entity)]
        return ops

    async def _repeat(self, make: Callable[[], Awaitable[list[Op]]]) -> None:
        """Carry out operations in one transaction, once; where others were faster, make them again from what stands."""
        for attempt in range(RACES):
            epoch = await self._zk.reading(partial(self._zk.exists, znode_paths.CONTROLLER_EPOCH))
            wanted = await self._zk.reading(make)
            if not wanted:
                return
            fence = [] if epoch is None else [Check(znode_paths.CONTROLLER_EPOCH, epoch.version)]
            try:
                await self._zk.transact([*fence, *wanted])
            except TransactionFailed as failure:
                if not isinstance(failure.error, BadVersion | NodeExists | NoNode) or attempt + 1 == RACES:
                    raise failure.error from failure
                await self._make_parents(wanted)
            else:
                return

    async def _make_parents(self, ops: Sequence[Op]) -> None:
        for op in ops:
            if isinstance(op, Create):
                await self._zk.reading(partial(self._zk.ensure_path, op.path.rpartition("/")[0]))

    async def _read_znode(self, path: str) -> _Znode:
        configs, stat = await self._read(path)
        return _Znode(path, configs, None if stat is None else stat.version)


def _of_own_node(found: Mapping[str, str], settings: Mapping[str, str]) -> Mapping[str, str]:
    """What stands in the node's own znode, and the settings that this version knows."""
    return server_settings.divided(found)[1] | server_settings.divided(settings)[0]
