"""Dynamic configs and quotas as clients read and change them here. A lost connection to ZooKeeper is waited for while
its session lives; without a session clients are told so."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable, InvalidConfig
from kafka_reassign_rpc.core.quotas.client_quotas import QuotaEntity
from kafka_reassign_rpc.core.server_settings import MovedSettings
from kafka_reassign_rpc.zookeeper.config_znodes import Change, ConfigStore
from kafka_reassign_rpc.zookeeper.quota_znodes import QuotaStore
from kafka_reassign_rpc.zookeeper.settings_znode import ServerConfigStore
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NotSent, SessionOver, Unknown


class ServedConfigs:
    """The `ConfigPort` of the server process and of simulated brokers.

    The methods raise BrokerNotAvailable where there is no session with ZooKeeper, and InvalidConfig where what it has
    cannot be read.

    After an `alter` in which the session ends, the change may have been made or not: repeating it does no harm.
    """

    def __init__(self, store: ConfigStore) -> None:
        self._store = store

    async def get(self, entity_type: str, name: str) -> Mapping[str, str]:
        with _answering():
            return await self._store.get(entity_type, name)

    async def read(self, entity_type: str, name: str) -> Mapping[str, str]:
        with _answering():
            return await self._store.read(entity_type, name)

    async def alter(self, entity_type: str, name: str, change: Change) -> None:
        with _answering():
            await self._store.alter(entity_type, name, change)


class ServedSettings:
    """The `SettingsPort` of the server process, in the same way."""

    def __init__(self, store: ServerConfigStore) -> None:
        self._store = store

    async def move(self) -> MovedSettings:
        with _answering():
            return await self._store.move()


class ServedQuotas:
    """The `QuotaPort` of the server process, in the same way."""

    def __init__(self, store: QuotaStore) -> None:
        self._store = store

    async def get(self, entity: QuotaEntity) -> Mapping[str, str]:
        with _answering():
            return await self._store.get(entity)

    async def get_all(
        self, shape: tuple[str, ...], exact: Mapping[str, str | None]
    ) -> Mapping[QuotaEntity, Mapping[str, str]]:
        with _answering():
            return await self._store.get_all(shape, exact)

    async def alter(self, entity: QuotaEntity, change: Change) -> None:
        with _answering():
            await self._store.alter(entity, change)


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except (NotSent, SessionOver, Unknown) as error:
        raise BrokerNotAvailable(f"ZooKeeper cannot be asked: {error}") from error
    except BadZnode as error:
        raise InvalidConfig(
            f"What is set cannot be read: {error}. Repair this znode, or delete it to do without."
        ) from None
