"""The asyncio client: every call, with its documentation."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka_reassign_rpc.client import (
    config_calls,
    election_calls,
    event_calls,
    kraft_calls,
    log_dir_calls,
    metadata_calls,
    reassignment_calls,
    server_calls,
    settings_calls,
    throttle_configs,
)
from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.config_calls import Configs
from kafka_reassign_rpc.client.event_calls import EventPage
from kafka_reassign_rpc.client.kraft_calls import Quorum
from kafka_reassign_rpc.client.log_dir_calls import BrokerLogDirs
from kafka_reassign_rpc.client.metadata_calls import Everything, TopicInfo
from kafka_reassign_rpc.client.reassignment_calls import Asked, Moved
from kafka_reassign_rpc.client.request_routing import RequestRouter, connect
from kafka_reassign_rpc.client.result_values import (
    ClusterNode,
    LogDirs,
    PartitionInfo,
    PartitionReassignment,
    Reassignment,
    ReassignmentDescription,
    Replica,
)
from kafka_reassign_rpc.client.settings_calls import ServerSetting
from kafka_reassign_rpc.core.events.event_lines import Event
from kafka_reassign_rpc.core.healing.self_healing_status import ApprovalOutcome, HealingStatus, Repair
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.queue.holding import HoldOutcome
from kafka_reassign_rpc.core.queue.lease_rates import ThrottledMoves
from kafka_reassign_rpc.core.reassignment.figure_history import PastFigures
from kafka_reassign_rpc.core.settings.server_settings import MovedSettings
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.kraft_facts import KRaftFacts
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.broker_documents import Brokers
from kafka_reassign_rpc.core.status.controller_state import ControllerState
from kafka_reassign_rpc.core.status.documents import Move, Moves, Status

T = TypeVar("T")


class AsyncReassignmentClient:
    """Lists, describes, starts and cancels moves of partitions, on an event loop (asyncio, uvloop).

    Use it as an async context manager, or call `start` and `close`. The client belongs to the event loop on which it
    was started; several tasks may share it. Cancelling a call ends the wait: its request may still have its effect.

    Configs, with the names that kafka-python gives them:

    - `bootstrap_servers`: HOST:PORT, or several (a list, or separated by commas). To connect to KRaft controllers
      (Kafka 3.7 or later) give `bootstrap_controllers` instead; controllers list and cancel moves, and change configs.
    - `client_id`; `request_timeout_ms` and `bootstrap_timeout_ms` (30 s each); `retry_backoff_ms`,
      `reconnect_backoff_ms`, `reconnect_backoff_max_ms`, `connections_max_idle_ms`, `metadata_max_age_ms`,
      `max_in_flight_requests_per_connection`, `receive_message_max_bytes`, `receive_buffer_bytes`, `send_buffer_bytes`.
    - `security_protocol`; `ssl_context`, or `ssl_cafile`, `ssl_certfile`, `ssl_keyfile`, `ssl_password`, `ssl_crlfile`,
      `ssl_check_hostname`.
    - `sasl_mechanism` (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, GSSAPI) with `sasl_plain_username` and
      `sasl_plain_password`, `sasl_oauth_token_provider` (an object with `token()` and `extensions()`), or
      `sasl_kerberos_service_name` and `sasl_kerberos_domain_name`.

    `client_configs` makes them from the properties of a Java client. `start` raises ValueError for an unknown
    or unusable one.

    Partitions are (topic, partition) tuples of any type, kafka.TopicPartition included.

    The client works with any Kafka. A call that needs a kafka-reassign-rpc server as the controller, and finds another
    one, sends nothing and raises UnsupportedHere. Every call may raise Unreachable, Unauthenticated, and the server's
    error as one of `core.kafka_errors`.
    """

    def __init__(self, **configs: Any) -> None:
        self._configs = configs
        self._router: RequestRouter | None = None
        self._timeout_ms = 0

    async def start(self) -> None:
        """Raises Unreachable, Unauthenticated, and ValueError for a config that cannot be used."""
        settings = await asyncio.to_thread(client_settings, self._configs)  # it reads files
        self._router = await connect(settings)
        self._timeout_ms = self._router.timeout_ms

    async def close(self) -> None:
        router, self._router = self._router, None
        if router is not None:
            await router.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def list_reassignments(self, partitions: Iterable[tuple[str, int]] | None = None) -> list[Reassignment]:
        """The identities of all moves in flight, or of those of these partitions that move (KIP-240).

        Raises UnknownTopicOrPartition, UnsupportedHere.
        """
        return await self._run(reassignment_calls.list_reassignments, partitions, self._timeout_ms)

    async def describe_reassignments(
        self, reassignments: Iterable[Reassignment] | None = None
    ) -> dict[Reassignment, ReassignmentDescription | None]:
        """The descriptions of these moves, or of all (KIP-240); None for one that has ended. Raises UnsupportedHere."""
        return await self._run(reassignment_calls.describe_reassignments, reassignments, self._timeout_ms)

    async def list_partition_reassignments(
        self, partitions: Iterable[tuple[str, int]] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """All moving partitions, or those of these partitions that move (KIP-455). Any Kafka from 2.4 on can list them.

        A kafka-reassign-rpc server also lists the moves that wait in its queue (PartitionReassignment.state).
        """
        return await self._run(reassignment_calls.list_partition_reassignments, partitions, self._timeout_ms)

    async def alter_partition_reassignments(
        self,
        moves: Mapping[Moved, Asked | Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, KafkaError | None]:
        """Start or cancel moves (KIP-455).

        moves                             partition -> the terms of its move; a target alone, preferred leader first;
                                          CancelMove, or None: cancel it
        allow_replication_factor_change   False: refuse a target that changes the number of replicas (KIP-860)

        All terms of a call differ in `target` and `expected` alone: ValueError otherwise. With the route `QUEUE` the
        moves join the server's queue (KIP-236) and start in turn; a partition is accepted when its move has a place
        there. `by` is not sent: the server knows who asks.

        Returns None or an error for each partition. Raises UnsupportedHere, and sends nothing, if the controller does
        not support a term that is used.
        """
        return await self._run(
            reassignment_calls.alter_partition_reassignments,
            moves,
            allow_replication_factor_change=allow_replication_factor_change,
            timeout_ms=timeout_ms or self._timeout_ms,
        )

    async def cancel_partition_reassignments(
        self, partitions: Iterable[tuple[str, int]]
    ) -> dict[TopicPartition, KafkaError | None]:
        """The result of each is None or its error: NoReassignmentInProgress if it does not move."""
        return await self.alter_partition_reassignments(dict.fromkeys(partitions))

    async def elect_preferred_leaders(
        self, partitions: Iterable[tuple[str, int]]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Let the first replica of each partition lead it (KIP-460). The result of each is None or its error, such as
        PreferredLeaderNotAvailable if that replica is not in sync.
        """
        return await self._run(election_calls.elect_preferred_leaders, partitions, self._timeout_ms)

    async def event_page(self, from_seq: int = 0, *, server: int | None = None) -> EventPage:
        """A page of the events of a server (its id; None: the controller), from number `from_seq` on.

        With `from_seq` below 0 the page is empty, and `next_seq` is the number of the next event to come. Raises
        UnsupportedHere; PolicyViolation if the server keeps no event log.
        """
        return await self._run(event_calls.event_page, from_seq, server)

    async def reassignment_events(
        self, from_seq: int = 0, *, server: int | None = None, follow: bool = False, poll_s: float = 1.0
    ) -> AsyncIterator[Event]:
        """The events of the controller, or of the server with this id, from number `from_seq` on; -1: the next to come.

        With `follow` it waits for more events, `poll_s` seconds between two requests, and after a failover continues
        with the new controller. Raises as `event_page`.
        """
        cursor = event_calls.EventCursor(from_seq)
        while True:
            found = cursor.take(await self.event_page(cursor.seq, server=server))
            for event in found or ():
                yield event
            if found is None:
                if not follow:
                    return
                await asyncio.sleep(poll_s)

    async def can_forbid_replication_factor_change(self) -> bool:
        """Whether the controller serves AlterPartitionReassignments 1 (KIP-860)."""
        return await self._run(reassignment_calls.can_forbid_replication_factor_change)

    async def can_compare_replicas(self) -> bool:
        """Whether the controller knows `expected_replicas`."""
        return await self._run(reassignment_calls.is_this_server)

    async def can_queue(self) -> bool:
        """Whether the controller knows `queue`."""
        return await self._run(reassignment_calls.is_this_server)

    async def can_lease_throttles(self) -> bool:
        """Whether the controller knows `throttle`."""
        return await self._run(reassignment_calls.is_this_server)

    async def can_keep_reasons(self) -> bool:
        """Whether the controller knows `reason`."""
        return await self._run(reassignment_calls.is_this_server)

    async def why_disabled(self) -> str | None:
        """Why reassignments are disabled (KIP-236), or None. Raises UnsupportedHere."""
        return await self._run(server_calls.why_disabled)

    async def enable(self) -> str | None:
        """Delete the setting `partition.reassignments.enabled` of all servers.

        Returns None, or why reassignments are still disabled (the znode `/admin/reassign_cancel` exists). Raises
        UnsupportedHere.
        """
        return await self._run(server_calls.set_enabled, True)

    async def disable(self) -> str | None:
        """Set `partition.reassignments.enabled=false` for all servers (KIP-236).

        No new move starts by any route. Moves in flight continue and can be cancelled. Returns the reason that clients
        then get. Raises UnsupportedHere.
        """
        return await self._run(server_calls.set_enabled, False)

    async def alter_throttles(
        self,
        throttle: int,
        *,
        topics: Iterable[str] | None = None,
        partitions: Iterable[tuple[str, int]] | None = None,
    ) -> ThrottledMoves:
        """Give moves, in flight and waiting, a throttle lease in bytes/s, or none (0).

        Without `topics` and `partitions`: all moves. Moves of repairs are passed over: they follow
        `self.healing.throttle`. Raises UnsupportedHere.
        """
        return await self._run(server_calls.alter_throttles, throttle, topics, partitions)

    async def healing_status(self) -> HealingStatus:
        """The failed brokers and the state of their repairs (KIP-46). Raises UnsupportedHere."""
        return await self._run(server_calls.healing_status)

    async def history(self) -> list[PastFigures]:
        """Figures of all moves in the last hour and day, of the times at which the server was the controller; empty if
        it keeps none. Raises UnsupportedHere."""
        return await self._run(server_calls.history)

    async def status(self) -> Status:
        """The status document, as the controller's page shows it: see docs/status-api.md. Raises UnsupportedHere if the
        controller does not report it.
        """
        return await self._run(server_calls.document, "status", Status)

    async def status_here(self) -> Status:
        """The status document of a server at the given addresses, controller or not.

        `last` is what that server last knew of the moves. Raises UnsupportedHere if there is no such server.
        """
        return await self._run(server_calls.status_here)

    async def moves_in_flight(self, partitions: Iterable[tuple[str, int]] | None = None) -> Sequence[Move]:
        """The moves in flight of these partitions, or all, each as in `moves`: how far it is, and what it waits for.
        Then come the moves of the queue that wait until one of them has ended. Raises UnsupportedHere.
        """
        return await self._run(server_calls.moves_in_flight, partitions)

    async def moves(self, /, **parameters: object) -> Moves:
        """One page of the moves. `parameters`: those of /api/v1/moves. Raises UnsupportedHere, InvalidRequest."""
        return await self._run(server_calls.document, "moves", Moves, **parameters)

    async def brokers(self) -> Brokers:
        """The brokers: what moves copy to and from them, and their throttles. Raises UnsupportedHere."""
        return await self._run(server_calls.document, "brokers", Brokers)

    async def controller_state(self) -> ControllerState:
        """The version, epoch and election of the controller, its leased rates, and the brokers in controlled shutdown.

        Raises UnsupportedHere, also if the server does not report it yet.
        """
        return await self._run(server_calls.controller_state)

    async def heal_broker(self, broker: int, *, dry_run: bool = False) -> Repair:
        """Move the replicas of a failed broker to other brokers now, without waiting for failure.interval.ms.

        With `dry_run` only return the repair. Raises UnsupportedHere; InvalidRequest if the broker has not failed,
        PolicyViolation if repairs are held back.
        """
        return await self._run(server_calls.heal_broker, broker, dry_run)

    async def approve_repairs(self, brokers: Iterable[int] | None = None) -> ApprovalOutcome:
        """Let the repairs of these brokers start that wait for approval (`self.healing.approval`); None: all.

        Raises KafkaError where repairs are held back, UnsupportedHere.
        """
        return await self._run(server_calls.approve_repairs, brokers)

    async def pause_healing(self) -> None:
        """Let no new repair start (KIP-46). Repairs that are queued or in flight continue."""
        await self._run(server_calls.set_paused, True)

    async def resume_healing(self) -> None:
        """Undo `pause_healing`."""
        await self._run(server_calls.set_paused, False)

    async def cordoned(self) -> frozenset[int]:
        """The cordoned brokers (KIP-1066): the controller places no new replica on them. Raises UnsupportedHere."""
        return await self._run(server_calls.cordoned)

    async def cordon(self, brokers: Iterable[int], *, uncordon: bool = False) -> frozenset[int]:
        """Cordon brokers, or with `uncordon` open them again; returns the cordoned ones. Raises UnsupportedHere."""
        return await self._run(server_calls.cordon, brokers, uncordon)

    async def hold(
        self,
        *,
        topics: Iterable[str] | None = None,
        brokers: Iterable[int] | None = None,
        requests: Iterable[str] | None = None,
        reason: str = "",
    ) -> HoldOutcome:
        """Hold moves of the queue: those that all of these name, or all. They do not start before `release`.

        `topics`; `brokers` among the old or new replicas; `requests`, the reasons that they were asked for with. Moves
        in flight go on. Raises UnsupportedHere.
        """
        return await self._run(server_calls.hold_moves, True, topics, brokers, requests, reason)

    async def release(
        self,
        *,
        topics: Iterable[str] | None = None,
        brokers: Iterable[int] | None = None,
        requests: Iterable[str] | None = None,
    ) -> HoldOutcome:
        """Release held moves: each starts when it is its turn, from the replicas that it had when it was held."""
        return await self._run(server_calls.hold_moves, False, topics, brokers, requests, "")

    async def can_cordon(self) -> bool:
        """Whether the controller keeps new replicas away from cordoned brokers."""
        return await self._run(server_calls.can_cordon)

    async def settings(self) -> list[ServerSetting]:
        """The settings of all servers by name: values in force, and where they are set. Raises UnsupportedHere."""
        return await self._run(settings_calls.settings)

    async def change_settings(self, changes: Mapping[str, str | None]) -> None:
        """Set settings of all servers; None deletes one. Raises InvalidRequest for a refused value."""
        await self._run(settings_calls.change_settings, changes)

    async def move_settings(self) -> MovedSettings:
        """Move the settings out of the brokers' default configs, where earlier versions kept them. No value changes."""
        return await self._run(settings_calls.move_settings)

    async def describe_cluster(self) -> list[ClusterNode]:
        """The nodes that clients may connect to."""
        return await self._run(metadata_calls.describe_cluster)

    async def servers_among(self, nodes: Iterable[int]) -> set[int]:
        """The nodes that are kafka-reassign-rpc servers: they are no brokers, and hold no replicas."""
        return await self._run(metadata_calls.servers_among, nodes)

    async def describe_controller(self) -> int:
        """The id of the controller. Raises Unreachable if the cluster has none at the moment."""
        return await self._run(metadata_calls.describe_controller)

    async def describe_topics(
        self, topics: Iterable[str], *, of_controller: bool = False
    ) -> dict[str, dict[int, PartitionInfo] | KafkaError]:
        """The partitions of each topic, or its error. With `of_controller` ask the controller: others learn later of
        the end of a move.
        """
        return await self._run(metadata_calls.describe_topics, topics, of_controller=of_controller)

    async def find_topics(self, topics: Iterable[str], *, of_controller: bool = False) -> dict[str, TopicInfo]:
        """Each topic with its id, partitions, and error if any. See `describe_topics`."""
        return await self._run(metadata_calls.find_topics, topics, of_controller=of_controller)

    async def describe_log_dirs(
        self, partitions_by_broker: Mapping[int, Iterable[tuple[str, int]]], *, timeout_ms: int | None = None
    ) -> list[LogDirs]:
        """The sizes and places of replicas on each broker, or the error of a broker that does not answer.

        All brokers are asked at the same time, for `timeout_ms` at most (default: the request timeout).
        """
        return await self._run(log_dir_calls.describe_log_dirs, partitions_by_broker, timeout_ms)

    async def alter_replica_log_dirs(self, replicas: Mapping[Replica, str]) -> dict[Replica, KafkaError | None]:
        """Move replicas to other log dirs (absolute paths) of their brokers. Returns None or an error for each."""
        return await self._run(log_dir_calls.alter_replica_log_dirs, replicas)

    async def change_configs(self, changes: config_calls.Changes) -> dict[config_calls.Resource, KafkaError | None]:
        """Set dynamic configs of topics and brokers (None deletes). The result of each is None or its error."""
        return await self._run(config_calls.change_configs, changes)

    async def throttle_moves(
        self, of_moves: throttle_configs.Moves, bytes_per_second: int
    ) -> dict[config_calls.Resource, KafkaError | None]:
        """Throttle the replicas of these moves (client.throttle_configs.all_moves): the topics' lists first, then the
        brokers' rates.
        """
        results = await self.change_configs(throttle_configs.topic_lists(of_moves))
        return results | await self.change_configs(
            throttle_configs.rates(throttle_configs.brokers(of_moves), bytes_per_second)
        )

    async def describe_everything(self) -> Everything:
        """All nodes and topics. Iterating over the topics decodes the answer step by step, in bounded memory."""
        return metadata_calls.read_everything(await self._run(metadata_calls.describe_everything))

    async def describe_some(self, topics: Iterable[str]) -> Everything:
        """The nodes, and these topics alone, as some node knows them."""
        return await self._run(metadata_calls.describe_some, topics)

    async def describe_quorum(self, named: int) -> Quorum:
        """The quorum of the controllers, where brokers name `named`: in KRaft mode they name any of themselves."""
        return await self._run(kraft_calls.describe_quorum, named)

    async def kraft_facts(self, cluster: Cluster, quiet_s: Mapping[int, float]) -> tuple[KRaftFacts, str]:
        """What KRaft knows of lost brokers and of moving partitions without a leader; and what of it cannot be seen.
        `quiet_s`: see `Quorum`.
        """
        return await self._run(kraft_calls.kraft_facts, cluster, quiet_s)

    async def describe_brokers(
        self, partitions_by_broker: Mapping[int, Mapping[str, Sequence[int]]], *, timeout_ms: int | None = None
    ) -> dict[int, BrokerLogDirs | KafkaError]:
        """The brokers' replicas of these partitions (topic -> indexes), and the sizes of their volumes. A broker that
        does not answer, or refuses, has its error as the result. The time is as in `describe_log_dirs`.
        """
        return await self._run(log_dir_calls.describe_brokers, partitions_by_broker, timeout_ms)

    async def describe_configs(
        self, resources: Sequence[config_calls.Resource]
    ) -> dict[config_calls.Resource, Configs | KafkaError]:
        """The configs set for topics, for one broker (in a call of its own) or for all brokers (BROKER, "")."""
        return await self._run(config_calls.describe_configs, resources)

    async def describe_broker_configs(
        self, brokers: Iterable[int], *, timeout_ms: int | None = None
    ) -> dict[int, Configs | KafkaError]:
        """The configs set for each broker, or its error. The time is as in `describe_log_dirs`."""
        return await self._run(config_calls.describe_broker_configs, brokers, timeout_ms)

    async def _run(self, call: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        if self._router is None:
            raise RuntimeError("the client is not started")
        return await call(self._router, *args, **options)
