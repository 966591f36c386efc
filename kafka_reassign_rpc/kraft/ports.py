"""What the store needs of the state log and of the cluster."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from kafka_reassign_rpc.client.config_calls import Values
from kafka_reassign_rpc.client.result_values import PartitionInfo, PartitionReassignment
from kafka_reassign_rpc.controller.store import Entity
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.broker import NOTHING_TOLD, Broker, KRaftFacts
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.upstream import Heard, Outcome


class IntentLog(Protocol):
    async def commit(self, payloads: Sequence[bytes]) -> int:
        """Returns the offset of the first record. Repeats, until they are durable, what has had no answer. Raises
        ControllerMoved."""
        ...

    @property
    def snapshot_is_due(self) -> bool: ...

    async def keep(self) -> None:
        """Says that this server leads, until it is cancelled. Raises ControllerMoved."""
        ...

    async def snapshot(self, payloads: Sequence[bytes]) -> None:
        """They stand for all that was committed before. Raises ControllerMoved."""
        ...


class LookedTopic(NamedTuple):
    id: UUID | None
    partitions: Mapping[int, PartitionInfo]


class Look(NamedTuple):
    """One look at the cluster.

    brokers   registered and not fenced
    topics    those that were asked for and are shown. A look at all leaves out those that this server may not describe
    moves     all in flight, as the controller has them
    configs   set by somebody, of those that were asked; one who has not answered is left out
    absent    topics that were asked for by name: a broker has said that there are none
    """

    brokers: Mapping[int, Broker]
    topics: Mapping[str, LookedTopic]
    moves: Mapping[TopicPartition, PartitionReassignment]
    configs: Mapping[Entity, Mapping[str, str]] = {}
    kraft: KRaftFacts = NOTHING_TOLD
    absent: frozenset[str] = frozenset()


class LookFailed(Exception):
    """The cluster, or a part of it that was needed, does not answer."""


class KRaftCluster(Protocol):
    async def look(self, topics: Collection[str] | None = None) -> Look:
        """At these topics; None: at all, and at configs: of all at first, and of what moves. Raises LookFailed."""
        ...

    async def assignments(self, topics: Collection[str], *, up_to_date: bool = False) -> Look:
        """Replicas of these topics, and what moves: asked at the same time, so either may be newer. Nothing else, in
        half the time of a look. Raises LookFailed.

        up_to_date  with all changes that somebody has had an answer to by now: brokers lag, by up to half a second
        """
        ...

    async def alter(
        self, targets: Mapping[TopicPartition, tuple[int, ...] | None], heard: Heard
    ) -> Mapping[TopicPartition, Outcome]:
        """None cancels. `heard` gets what the cluster has answered as soon as it is known, a part of all at a time."""
        ...

    async def configs(self, entities: Sequence[Entity]) -> Mapping[Entity, Mapping[str, str] | KafkaError]:
        """Set by somebody, in the entity itself. Of a dead broker as they were told last; BrokerNotAvailable where it
        has told none that can be changed all the same, another error where they cannot be changed now."""
        ...

    async def change_configs(self, changes: Mapping[Entity, Values]) -> Mapping[Entity, KafkaError | None]:
        """None deletes a config. An error leaves it open whether the change holds."""
        ...
