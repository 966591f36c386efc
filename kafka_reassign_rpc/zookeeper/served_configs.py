"""Dynamic configs and quotas as clients read and change them here, with the events of changes. A lost connection to
ZooKeeper is waited for while its session lives.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT
from kafka_reassign_rpc.core.events.cluster_news import config_changed
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable, InvalidConfig
from kafka_reassign_rpc.core.quotas.client_quotas import QuotaEntity
from kafka_reassign_rpc.core.settings.server_settings import MovedSettings
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.support.bounded_text import word
from kafka_reassign_rpc.zookeeper.config_znodes import Change, ConfigStore, QuotaStore
from kafka_reassign_rpc.zookeeper.settings_znode import ServerConfigStore
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NotSent, SessionOver, Unknown

Record = Callable[[Iterable[Event]], None]

LONGEST_NAME = 250
"""Characters of a user, a client or a topic in an event."""


def unrecorded(_events: Iterable[Event]) -> None:
    """Simulated brokers keep no event log."""


class ServedConfigs:
    """The `ConfigPort` of the server process and of simulated brokers.

    Raises BrokerNotAvailable without a session with ZooKeeper, and InvalidConfig if its content cannot be read. If the
    session ends in an `alter`, the change may have been made: repeating it does no harm.
    """

    def __init__(self, store: ConfigStore, record: Record = unrecorded) -> None:
        self._store = store
        self._record = record

    async def get(self, entity_type: str, name: str) -> Mapping[str, str]:
        with _answering():
            return await self._store.get(entity_type, name)

    async def read(self, entity_type: str, name: str) -> Mapping[str, str]:
        with _answering():
            return await self._store.read(entity_type, name)

    async def alter(self, entity_type: str, name: str, change: Change, by: Requester) -> None:
        recorded = _RecordedChange(change)
        with _answering():
            await self._store.alter(entity_type, name, recorded, by=by)
        topic = broker = None
        if entity_type != BROKERS:
            topic, of = name, f"topic {word(name, LONGEST_NAME)}"
        elif name == DEFAULT:
            of = "all brokers"
        else:
            broker, of = int(name), f"node {name}"
        _record(self._record, by, config_changed(of, *recorded.seen, topic=topic, broker=broker))


class ServedSettings:
    """The `SettingsPort`, in the same way."""

    def __init__(self, store: ServerConfigStore, record: Record = unrecorded) -> None:
        self._store = store
        self._record = record

    async def move(self, by: Requester) -> MovedSettings:
        with _answering():
            found = await self._store.move(by)
        for of, before, after in (
            ("settings of all servers", {}, found.moved),
            ("all brokers", {**found.moved, **found.dropped}, {}),
        ):
            _record(self._record, by, config_changed(of, before, after))
        return found


class ServedQuotas:
    """The `QuotaPort`, in the same way."""

    def __init__(self, store: QuotaStore, record: Record = unrecorded) -> None:
        self._store = store
        self._record = record

    async def get(self, entity: QuotaEntity) -> Mapping[str, str]:
        with _answering():
            return await self._store.get(entity)

    async def get_all(
        self, shape: tuple[str, ...], exact: Mapping[str, str | None]
    ) -> Mapping[QuotaEntity, Mapping[str, str]]:
        with _answering():
            return await self._store.get_all(shape, exact)

    async def alter(self, entity: QuotaEntity, change: Change, by: Requester) -> None:
        recorded = _RecordedChange(change)
        with _answering():
            await self._store.alter(entity, recorded)
        of = ", ".join(f"{kind} {'(default)' if name is None else word(name, LONGEST_NAME)}" for kind, name in entity)
        _record(self._record, by, config_changed(of, *recorded.seen))


def _record(record: Record, by: Requester, event: Event | None) -> None:
    if event is not None:
        record([event.asked_by(by)])


class _RecordedChange:
    """What it has made of what, in its last call: it is called again after a lost race."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self.seen: tuple[Mapping[str, str], Mapping[str, str]] = {}, {}

    def __call__(self, current: Mapping[str, str]) -> Mapping[str, str]:
        wanted = self._change(current)
        self.seen = current, wanted
        return wanted


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
