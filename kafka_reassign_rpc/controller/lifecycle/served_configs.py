"""Dynamic configs as clients read and change them at this server: while ZooKeeper is away, they are told so."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kafka_reassign_rpc.api.ports import ConfigChange
from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NotSent, SessionOver, Unknown


class ServedConfigs:
    """The `ConfigPort` of the server process. Both methods raise BrokerNotAvailable while ZooKeeper does not answer.

    After an `alter` that fails so, the change may have been made or not: repeating it does no harm.
    """

    def __init__(self, store: ConfigStore) -> None:
        self._store = store

    async def get(self, entity_type: str, name: str) -> Mapping[str, str]:
        with _answering():
            return await self._store.get(entity_type, name)

    async def alter(self, entity_type: str, name: str, change: ConfigChange) -> None:
        with _answering():
            await self._store.alter(entity_type, name, change)


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except (NotSent, SessionOver, Unknown) as error:
        raise BrokerNotAvailable(f"ZooKeeper cannot be asked: {error}") from error
