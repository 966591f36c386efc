"""The settings that all servers share, in `/admin/reassignment_settings` (docs/znodes.md): {"version":1,"config":{…},
"set_by":{…}}.

`set_by` has for a setting who has set it last: {"principal":…,"address":…,"value":…}. It counts as long as the setting
has that value (null: it is deleted): an edit by hand, or by a former version, leaves no name.

To clients they are configs of the server that they ask, next to what Kafka's names say there (`/config/brokers/<id of
the server>`). Each change is one transaction, after a check that no controller was elected meanwhile.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import msgspec

from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT
from kafka_reassign_rpc.core.settings import server_settings
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS, MovedSettings
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester
from kafka_reassign_rpc.support.bounded_text import shown
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import RACES, Change, ConfigStore, Removal, announcement, entity_path
from kafka_reassign_rpc.zookeeper.operations import Check, Create, Op, SetData
from kafka_reassign_rpc.zookeeper.transactions import transact_anew
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode, StoredClient, decode_json, stored_client
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode


class _Znode(NamedTuple):
    """`version` is None if there is no znode."""

    path: str
    configs: Mapping[str, str]
    version: int | None

    def write(self, configs: Mapping[str, str]) -> list[Op]:
        """No operation if the znode has these configs already."""
        return [] if dict(self.configs) == dict(configs) else self.put(znode_contents.encode_config(configs))

    def put(self, data: bytes) -> list[Op]:
        return [Create(self.path, data) if self.version is None else SetData(self.path, data, self.version)]


class _Settings(msgspec.Struct):
    version: int
    config: dict[str, str]
    set_by: Any = None


class _SetBy(StoredClient, omit_defaults=True):
    value: str | None = None


_json = msgspec.json.Encoder()
_settings = msgspec.json.Decoder(_Settings)


class StoredSettings(NamedTuple):
    configs: Mapping[str, str]
    set_by: Mapping[str, _SetBy]

    def by(self) -> dict[str, Requester]:
        return {name: one.requester() for name, one in self.set_by.items() if one.value == self.configs.get(name)}

    def changed(self, configs: Mapping[str, str], by: Requester) -> "StoredSettings":
        changed = {name for name in configs.keys() | self.configs if configs.get(name) != self.configs.get(name)}
        known = {name: one for name, one in self.set_by.items() if name not in changed}
        client = stored_client(by)
        new = {
            name: _SetBy(
                client.principal, client.address, client.client_id, client.listener, client.mechanism, configs.get(name)
            )
            for name in changed & SERVER_SETTINGS.keys()
        }
        return StoredSettings(configs, known | new if by.is_client else known)

    def encode(self) -> bytes:
        content: dict[str, object] = {"version": 1, "config": self.configs}
        return _json.encode(content | {"set_by": self.set_by} if self.set_by else content)


def decode_settings(data: bytes, path: str) -> StoredSettings:
    """Raises BadZnode. Who has set them may be unknown."""
    if not data:
        return StoredSettings({}, {})
    found = decode_json(_settings, data, path)
    if found.version != 1:
        raise BadZnode(path, f"unknown version {shown(found.version)}")
    set_by = {}
    for name in SERVER_SETTINGS if isinstance(found.set_by, dict) else ():
        with suppress(msgspec.ValidationError):
            set_by[name] = msgspec.convert(found.set_by.get(name), _SetBy)
    return StoredSettings(found.config, set_by)


class ServerConfigStore(ConfigStore):
    """The configs of the server's own node are the servers' settings and what else is set for the node. A setting that
    this version does not know stays: a later version has written it.
    """

    def __init__(self, zk: ZooKeeper, own_id: int) -> None:
        super().__init__(zk)
        self._own = str(own_id)

    async def read(self, entity_type: str, name: str) -> Mapping[str, str]:
        found = await super().read(entity_type, name)
        if (entity_type, name) != (BROKERS, self._own):
            return found
        return _of_own_node(found, (await self._read_settings()).stored.configs)

    async def get(self, entity_type: str, name: str) -> Mapping[str, str]:
        found = await super().get(entity_type, name)
        if (entity_type, name) != (BROKERS, self._own):
            return found
        try:
            settings = await self._read_settings()
        except BadZnode:  # a request that starts a move is refused with the reason, and the log says it to the operator
            return _of_own_node(found, {})
        return _of_own_node(found, settings.stored.configs)

    async def alter(
        self,
        entity_type: str,
        name: str,
        change: Change,
        removal: Removal | None = None,
        by: Requester = CONTROLLER,
    ) -> None:
        if (entity_type, name) == (BROKERS, self._own):
            await self._repeat(lambda: self._alter_own(by, change))
        else:
            await super().alter(entity_type, name, change, removal, by)

    async def move(self, by: Requester) -> MovedSettings:
        """Out of the brokers' defaults. What is set here already holds, and stays. Raises BadZnode,
        Unknown, NotSent.
        """
        found = MovedSettings()

        async def make() -> list[Op]:
            nonlocal found
            settings = await self._read_settings()
            defaults = await self._read_znode(znode_paths.config_broker(DEFAULT))
            found = server_settings.moved(settings.stored.configs, defaults.configs)
            _, left = server_settings.divided(defaults.configs)
            ops = settings.write({**settings.stored.configs, **found.moved}, by)
            if left != defaults.configs:
                ops += [*defaults.write(left), announcement(entity_path(BROKERS, DEFAULT))]
            return ops

        await self._repeat(make)
        return found

    async def _alter_own(self, by: Requester, change: Change) -> list[Op]:
        settings = await self._read_settings()
        node = await self._read_znode(znode_paths.config_broker(self._own))
        known, unknown = server_settings.divided(settings.stored.configs)
        _, others = server_settings.divided(node.configs)
        own, others_wanted = server_settings.divided(change({**others, **known}))
        if "" in own.values():
            own = server_settings.telling(own, (await self._read_znode(znode_paths.config_broker(DEFAULT))).configs)
        ops = settings.write({**unknown, **own}, by)
        if others_wanted != others:
            ops += [*node.write(others_wanted), announcement(entity_path(BROKERS, self._own))]
        return ops

    async def _repeat(self, make: Callable[[], Awaitable[list[Op]]]) -> None:
        """In one transaction, which no change of the controller comes between."""

        async def fenced() -> list[Op]:
            epoch = await self._zk.reading(partial(self._zk.exists, znode_paths.CONTROLLER_EPOCH))
            wanted = await self._zk.reading(make)
            fence = [] if epoch is None else [Check(znode_paths.CONTROLLER_EPOCH, epoch.version)]
            return [*fence, *wanted] if wanted else []

        await transact_anew(self._zk, fenced, RACES)

    async def _read_settings(self) -> "_SettingsZnode":
        path = znode_paths.SETTINGS
        try:
            data, stat = await self._zk.reading(partial(self._zk.get, path))
        except NoNode:
            return _SettingsZnode(_Znode(path, {}, None), StoredSettings({}, {}))
        stored = decode_settings(data, path)
        return _SettingsZnode(_Znode(path, stored.configs, stat.version), stored)

    async def _read_znode(self, path: str) -> _Znode:
        configs, stat = await self._read(path)
        return _Znode(path, configs, None if stat is None else stat.version)


class _SettingsZnode(NamedTuple):
    znode: _Znode
    stored: StoredSettings

    def write(self, configs: Mapping[str, str], by: Requester) -> list[Op]:
        if dict(self.stored.configs) == dict(configs):
            return []
        return self.znode.put(self.stored.changed(configs, by).encode())


def _of_own_node(found: Mapping[str, str], settings: Mapping[str, str]) -> Mapping[str, str]:
    return server_settings.divided(found)[1] | server_settings.divided(settings)[0]
