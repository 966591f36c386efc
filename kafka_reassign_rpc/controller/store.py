"""What the controller needs of a store of the cluster: the port that `controller.zookeeper_store` implements, and
in memory a store of the tests (`tests/controller/store` holds for each). A call fails in three ways:

    ControllerMoved   another controller was elected, or may be: nothing more is written, nothing more is answered
    ReloadNeeded      the store holds another state than this controller knows: read it again, decide again
    TopicTooLarge     the store has no room for what a round makes of this topic: decide again without it

A store waits for a lost connection as long as this process can be the controller, and finds out what became of a write
whose answer was lost. So what has been committed is durable, once, and what has failed in one of these ways has changed
nothing in memory.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, TopicMemory
from kafka_reassign_rpc.core.writers.reload import Reloaded
from kafka_reassign_rpc.core.writers.replay import ReplayedChanges


class ControllerMoved(Exception):
    """Kafka's ControllerMovedException."""


class ReloadNeeded(Exception):
    """`is_unknown`: it is not known whether the write was carried out; otherwise this very write is refused."""

    def __init__(self, reason: str, *, is_unknown: bool = False) -> None:
        super().__init__(reason)
        self.is_unknown = is_unknown


class TopicTooLarge(Exception):
    """The reason is for the sender of the request."""

    def __init__(self, topic: str, reason: str) -> None:
        super().__init__(reason)
        self.topic = topic


class StoredProblem(NamedTuple):
    """Something stored that cannot be understood or carried out. `who`: where it is, as events name a requester."""

    who: str
    reason: str


class Loaded(Protocol):
    @property
    def cluster(self) -> Cluster: ...


class Entity(NamedTuple):
    """A kind of `core.config_values`, and the topic's name or the broker's id as text."""

    kind: str
    name: str


class StoredConfigs(NamedTuple):
    """configs   None: the entity has none
    memory    what leased throttles have replaced in them (`core.throttling.leased_configs`); None: nothing
    problem   why the configs can be neither read nor changed
    version   the store's own: a write depends on it
    order     its place among all versions (see `Cluster.config_versions`); each write adds one to the second
    is_settled  False: they may be older than the last write of this server
    is_denied   with a problem: a broker has said that there is no such topic
    """

    entity: Entity
    configs: Mapping[str, str] | None
    memory: TopicMemory | BrokerMemory | None
    problem: str | None = None
    version: object = None
    order: tuple[int, int] | None = None
    is_settled: bool = True
    is_denied: bool = False


class ConfigWrite(NamedTuple):
    """The configs after a write, and what is remembered of the former ones."""

    stored: StoredConfigs
    configs: Mapping[str, str]
    memory: TopicMemory | BrokerMemory


class LeasedConfigStore(Protocol):
    async def remembered(self) -> Iterable[Entity]:
        """Raises ControllerMoved, ReloadNeeded."""
        ...

    async def read(self, entities: Sequence[Entity]) -> Sequence[StoredConfigs]:
        """Raises ControllerMoved, ReloadNeeded."""
        ...

    async def write(self, writes: Sequence[ConfigWrite], *, limited: bool = False) -> int:
        """Writes configs, each together with its memory, and announces them to the brokers. Returns the bytes written.

        Raises ControllerMoved; ReloadNeeded if one was changed since it was read. `limited`: raises
        TopicTooLarge for a topic whose configs have no room; nothing is written then.
        """
        ...


class Store(Protocol):
    """`place`: where others may write besides this controller, in words for people."""

    @property
    def place(self) -> str: ...

    @property
    def configs(self) -> LeasedConfigStore: ...

    def view(self, cluster: Cluster, too_large: Collection[str] = ()) -> RoundView:
        """The view that decisions of a round, which `commit` then gets, change."""
        ...

    async def load(self) -> Loaded:
        """Raises ControllerMoved, ReloadNeeded."""
        ...

    async def reload(self, cluster: Cluster) -> Reloaded:
        """Makes `cluster` equal to what is stored now. Raises ControllerMoved, ReloadNeeded."""
        ...

    async def commit(self, cluster: Cluster, view: RoundView) -> ReplayedChanges:
        """Makes a round's changes durable, then replays them into `cluster`.

        Raises ControllerMoved, ReloadNeeded, TopicTooLarge; then `cluster` is unchanged. After a crash the next
        controller finds the round whole, not at all, or so that its failover ends it; of a large one in front of KRaft
        all of some partitions, and nothing of the others.
        """
        ...

    async def confirm(self) -> None:
        """Raises ControllerMoved if this server is no longer the controller; ReloadNeeded."""
        ...

    def problems(self) -> list[StoredProblem]:
        """Each problem that the last loads have found, once."""
        ...
