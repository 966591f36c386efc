"""The client for ordinary code: every call blocks until its answer is there."""

import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka.admin import KafkaAdminClient

from kafka_reassign_rpc.client import (
    bulk_reads,
    cluster_calls,
    disable_switch,
    event_calls,
    reassignment_calls,
    self_healing_calls,
    throttle_configs,
)
from kafka_reassign_rpc.client.admin_connection import connect
from kafka_reassign_rpc.client.bulk_reads import BrokerLogDirs, Configs, Everything
from kafka_reassign_rpc.client.event_calls import Event, EventPage
from kafka_reassign_rpc.client.reassignment_calls import Expected, Moved
from kafka_reassign_rpc.client.request_routing import Link
from kafka_reassign_rpc.client.result_values import (
    ClusterNode,
    LogDirs,
    PartitionInfo,
    PartitionReassignment,
    Reassignment,
    ReassignmentDescription,
    Replica,
)
from kafka_reassign_rpc.core.healing.self_healing_status import HealingStatus, Repair
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.cluster import TopicPartition

T = TypeVar("T")


class ReassignmentClient:
    """Lists, describes, starts and cancels moves of partitions, on kafka-python's admin client.

    `configs` are those of kafka.admin.KafkaAdminClient (`bootstrap_servers`, `security_protocol`, …). It may be used
    from several threads. Against stock Kafka everything works that stock Kafka can do; what needs our server says so
    (UnsupportedHere) and sends nothing. Partitions are given as any (topic, partition) tuples, kafka.TopicPartition
    included. `bootstrap_controllers` instead of `bootstrap_servers` names KRaft controllers (Kafka 3.7 or later), which
    list and cancel moves, and change configs.

    Raises from every call: Unreachable, Unauthenticated, and the errors of `core.kafka_errors` that servers answer
    with.
    """

    def __init__(self, **configs: Any) -> None:
        self.admin: KafkaAdminClient = connect(configs)
        self._link = Link(self.admin)
        self._timeout_ms: int = self.admin.config["request_timeout_ms"]

    def close(self) -> None:
        self.admin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def list_reassignments(self, partitions: Iterable[tuple[str, int]] | None = None) -> list[Reassignment]:
        """The identities of the moves in flight (KIP-240), all of them or those of the partitions given.

        A partition that does not move is not in the list. Raises UnknownTopicOrPartition where one does not exist,
        UnsupportedHere where the controller is not our server.
        """
        return self._run(reassignment_calls.list_reassignments, partitions, self._timeout_ms)

    def describe_reassignments(
        self, reassignments: Iterable[Reassignment] | None = None
    ) -> dict[Reassignment, ReassignmentDescription | None]:
        """What is known of these moves, or of all (KIP-240); None for one that is over by now."""
        return self._run(reassignment_calls.describe_reassignments, reassignments, self._timeout_ms)

    def list_partition_reassignments(
        self, partitions: Iterable[tuple[str, int]] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """The moving partitions (KIP-455), all of them or of those given; any Kafka from 2.4 on.

        Our server lists moves that wait in its queue as well: see PartitionReassignment.state.
        """
        return self._run(reassignment_calls.list_partition_reassignments, partitions, self._timeout_ms)

    def alter_partition_reassignments(
        self,
        targets: Mapping[Moved, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        expected_replicas: Mapping[Expected, Sequence[int]] | None = None,
        queue: bool = False,
        throttle: int | None = None,
        reason: str | None = None,
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, KafkaError | None]:
        """Start moves (KIP-455): partition -> its replicas from then on, preferred leader first; None cancels.

        allow_replication_factor_change   False: refuse what changes the number of replicas (KIP-860)
        expected_replicas                 what the caller believes stands there now, in order; a partition where
                                          something else does is refused and told what
        queue                             True: the moves join the server's queue (KIP-236) and start when it is
                                          their turn; accepted is what has its place there
        throttle                          bytes/s for the replicas that move, on each broker: the server sets it, and
                                          puts back what stood before when the moves end or are cancelled; 0 takes
                                          the one away that moves in flight have so, None leaves it as it is
        reason                            what the moves are for, in up to 1000 characters: kept with each of them,
                                          shown where moves are listed, and in the events

        Returns what became of each partition: None, or its error. Raises UnsupportedHere, with nothing sent, where
        the controller knows no queue, no such throttles, no reasons, or not one of the two guards.
        """
        return self._run(
            reassignment_calls.alter_partition_reassignments,
            targets,
            allow_replication_factor_change=allow_replication_factor_change,
            expected_replicas=expected_replicas,
            queue=queue,
            throttle=throttle,
            reason=reason,
            timeout_ms=timeout_ms or self._timeout_ms,
        )

    def cancel_partition_reassignments(
        self, partitions: Iterable[tuple[str, int]]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Cancel moves; what became of each. NoReassignmentInProgress for a partition that does not move."""
        return self.alter_partition_reassignments(dict.fromkeys(partitions))

    def event_page(self, from_seq: int = 0, *, server: int | None = None) -> EventPage:
        """Some of what a server has recorded, from event `from_seq` on: the controller, or the server of that id.

        Below 0: none, but the number that the next one will have. Raises UnsupportedHere where the controller is not
        our server, PolicyViolation where it records nothing.
        """
        return self._run(event_calls.event_page, from_seq, server)

    def reassignment_events(
        self, from_seq: int = 0, *, server: int | None = None, follow: bool = False, poll_s: float = 1.0
    ) -> Iterator[Event]:
        """Every event that the controller (or the server of that id) has recorded, from number `from_seq` on.

        With `follow` it waits for more, and goes on with the next controller after a failover; -1 begins with what
        comes from now on. Raises what `event_page` raises.
        """
        cursor = event_calls.Cursor(from_seq)
        while True:
            found = cursor.take(self.event_page(cursor.seq, server=server))
            yield from found or ()
            if found is None:
                if not follow:
                    return
                time.sleep(poll_s)

    def can_forbid_replication_factor_change(self) -> bool:
        """Whether the controller serves AlterPartitionReassignments 1 (KIP-860)."""
        return self._run(reassignment_calls.can_forbid_replication_factor_change)

    def can_compare_replicas(self) -> bool:
        """Whether the controller is our server, which understands `expected_replicas`."""
        return self._run(reassignment_calls.can_compare_replicas)

    def can_queue(self) -> bool:
        """Whether the controller is our server, which understands `queue`."""
        return self._run(reassignment_calls.can_queue)

    def can_lease_throttles(self) -> bool:
        """Whether the controller is our server, which understands `throttle`."""
        return self._run(reassignment_calls.can_lease_throttles)

    def can_keep_reasons(self) -> bool:
        """Whether the controller is our server, which understands `reason`."""
        return self._run(reassignment_calls.can_keep_reasons)

    def why_disabled(self) -> str | None:
        """Why no new move may start (KIP-236's guard), in words; None where one may.

        Raises UnsupportedHere where the controller is not our server.
        """
        return self._run(disable_switch.why_disabled, self._timeout_ms)

    def enable(self) -> str | None:
        """Let new moves start again: take `partition.reassignments.enabled=false` away for the whole cluster.

        Returns why none may start all the same (the znode `/admin/reassign_cancel` exists), or None. Raises
        UnsupportedHere where the controller is not our server.
        """
        return self._run(disable_switch.set_enabled, True, self._timeout_ms)

    def disable(self) -> str | None:
        """Let no new move start, by whatever route; cancels go through, and what moves goes on (KIP-236).

        Sets `partition.reassignments.enabled=false` for the whole cluster. Returns what is said to those who try.
        Raises UnsupportedHere where the controller is not our server.
        """
        return self._run(disable_switch.set_enabled, False, self._timeout_ms)

    def healing_status(self) -> HealingStatus:
        """Brokers that are lost, and what becomes of them (KIP-46).

        Raises UnsupportedHere where the controller is not our server.
        """
        return self._run(self_healing_calls.healing_status)

    def heal_broker(self, broker: int, *, dry_run: bool = False) -> Repair:
        """Move the replicas of a lost broker elsewhere now, whatever the interval; `dry_run`: only show how.

        Raises UnsupportedHere; InvalidRequest where the broker is not lost, PolicyViolation where repairs are held
        back.
        """
        return self._run(self_healing_calls.heal_broker, broker, dry_run)

    def pause_healing(self) -> None:
        """Let no repair start (KIP-46); what is queued or under way goes on."""
        self._run(self_healing_calls.set_paused, True)

    def resume_healing(self) -> None:
        """Undo `pause_healing`."""
        self._run(self_healing_calls.set_paused, False)

    def describe_cluster(self) -> list[ClusterNode]:
        """The nodes that clients may talk to."""
        return self._run(cluster_calls.describe_cluster)

    def describe_topics(self, topics: Iterable[str]) -> dict[str, dict[int, PartitionInfo] | KafkaError]:
        """The partitions of each topic, or why they cannot be told."""
        return self._run(cluster_calls.describe_topics, topics)

    def describe_log_dirs(self, partitions_by_broker: Mapping[int, Iterable[tuple[str, int]]]) -> list[LogDirs]:
        """Sizes and places of replicas, of each broker those asked for; a broker that does not answer has an error."""
        return self._run(cluster_calls.describe_log_dirs, partitions_by_broker)

    def alter_replica_log_dirs(self, replicas: Mapping[Replica, str]) -> dict[Replica, KafkaError | None]:
        """Move replicas to other log dirs (absolute paths) of their brokers; what became of each."""
        return self._run(cluster_calls.alter_replica_log_dirs, replicas)

    def change_configs(self, changes: cluster_calls.Changes) -> dict[cluster_calls.Resource, KafkaError | None]:
        """Set dynamic configs of topics and brokers (None deletes); what became of each."""
        return self._run(cluster_calls.change_configs, changes)

    def throttle_moves(
        self, of_moves: throttle_configs.Moves, bytes_per_second: int
    ) -> dict[cluster_calls.Resource, KafkaError | None]:
        """Throttle the replicas of these moves (see client.throttle_configs.moves): first the topics' lists, then
        rates."""
        results = self.change_configs(throttle_configs.topic_lists(of_moves))
        return results | self.change_configs(
            throttle_configs.rates(throttle_configs.brokers(of_moves), bytes_per_second)
        )

    def describe_everything(self) -> Everything:
        """All nodes and topics. The topics are read from the answer as they are gone through, in bounded memory."""
        return bulk_reads.read_everything(self._run(bulk_reads.describe_everything))

    def describe_broker(self, broker: int, partitions: Mapping[str, Sequence[int]]) -> BrokerLogDirs:
        """What one broker's log dirs hold of these partitions (topic -> indexes), and how large its volumes are."""
        return self._run(bulk_reads.describe_broker, broker, partitions)

    def describe_configs(
        self, resources: Sequence[cluster_calls.Resource]
    ) -> dict[cluster_calls.Resource, Configs | KafkaError]:
        """What somebody has set for topics, for one broker (a call of its own) or for all of them (BROKER, "")."""
        return self._run(bulk_reads.describe_configs, resources)

    def _run(self, call: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        result: T = self.admin._manager.run(lambda: call(self._link, *args, **options))
        return result
