import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka_reassign_rpc.client import (
    config_calls,
    controller_state_calls,
    cordon_calls,
    election_calls,
    enable_disable_calls,
    event_calls,
    history_calls,
    hold_calls,
    kraft_calls,
    log_dir_calls,
    metadata_calls,
    reassignment_calls,
    self_healing_calls,
    settings_calls,
    status_calls,
    throttle_calls,
    throttle_configs,
)
from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.config_calls import Configs
from kafka_reassign_rpc.client.event_calls import Event, EventPage
from kafka_reassign_rpc.client.kraft_calls import Quorum
from kafka_reassign_rpc.client.log_dir_calls import BrokerLogDirs
from kafka_reassign_rpc.client.metadata_calls import Everything, TopicInfo
from kafka_reassign_rpc.client.reassignment_calls import Expected, Moved
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
from kafka_reassign_rpc.core.status.documents import Moves, Status

T = TypeVar("T")


class AsyncReassignmentClient:
    """ReassignmentClient for an event loop (asyncio, uvloop). Use it as an async context manager, or call `start` and
    `close`.

    `configs` are those of ReassignmentClient. The client belongs to the event loop on which it was started; several
    tasks may share it. Cancelling a call ends the wait: its request may still have its effect.
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
        """See ReassignmentClient.list_reassignments."""
        return await self._run(reassignment_calls.list_reassignments, partitions, self._timeout_ms)

    async def describe_reassignments(
        self, reassignments: Iterable[Reassignment] | None = None
    ) -> dict[Reassignment, ReassignmentDescription | None]:
        """See ReassignmentClient.describe_reassignments."""
        return await self._run(reassignment_calls.describe_reassignments, reassignments, self._timeout_ms)

    async def list_partition_reassignments(
        self, partitions: Iterable[tuple[str, int]] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """See ReassignmentClient.list_partition_reassignments."""
        return await self._run(reassignment_calls.list_partition_reassignments, partitions, self._timeout_ms)

    async def alter_partition_reassignments(
        self,
        targets: Mapping[Moved, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        expected_replicas: Mapping[Expected, Sequence[int]] | None = None,
        queue: bool = False,
        throttle: int | None = None,
        lift_stricter: bool = False,
        reason: str | None = None,
        moves_per_broker: int | None = None,
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, KafkaError | None]:
        """See ReassignmentClient.alter_partition_reassignments."""
        return await self._run(
            reassignment_calls.alter_partition_reassignments,
            targets,
            allow_replication_factor_change=allow_replication_factor_change,
            expected_replicas=expected_replicas,
            queue=queue,
            throttle=throttle,
            lift_stricter=lift_stricter,
            reason=reason,
            moves_per_broker=moves_per_broker,
            timeout_ms=timeout_ms or self._timeout_ms,
        )

    async def cancel_partition_reassignments(
        self, partitions: Iterable[tuple[str, int]]
    ) -> dict[TopicPartition, KafkaError | None]:
        """See ReassignmentClient.cancel_partition_reassignments."""
        return await self.alter_partition_reassignments(dict.fromkeys(partitions))

    async def elect_preferred_leaders(
        self, partitions: Iterable[tuple[str, int]]
    ) -> dict[TopicPartition, KafkaError | None]:
        """See ReassignmentClient.elect_preferred_leaders."""
        return await self._run(election_calls.elect_preferred_leaders, partitions, self._timeout_ms)

    async def event_page(self, from_seq: int = 0, *, server: int | None = None) -> EventPage:
        """See ReassignmentClient.event_page."""
        return await self._run(event_calls.event_page, from_seq, server)

    async def reassignment_events(
        self, from_seq: int = 0, *, server: int | None = None, follow: bool = False, poll_s: float = 1.0
    ) -> AsyncIterator[Event]:
        """See ReassignmentClient.reassignment_events."""
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
        """See ReassignmentClient.can_forbid_replication_factor_change."""
        return await self._run(reassignment_calls.can_forbid_replication_factor_change)

    async def can_compare_replicas(self) -> bool:
        """See ReassignmentClient.can_compare_replicas."""
        return await self._run(reassignment_calls.is_this_server)

    async def can_queue(self) -> bool:
        """See ReassignmentClient.can_queue."""
        return await self._run(reassignment_calls.is_this_server)

    async def can_lease_throttles(self) -> bool:
        """See ReassignmentClient.can_lease_throttles."""
        return await self._run(reassignment_calls.is_this_server)

    async def can_keep_reasons(self) -> bool:
        """See ReassignmentClient.can_keep_reasons."""
        return await self._run(reassignment_calls.is_this_server)

    async def why_disabled(self) -> str | None:
        """See ReassignmentClient.why_disabled."""
        return await self._run(enable_disable_calls.why_disabled)

    async def enable(self) -> str | None:
        """See ReassignmentClient.enable."""
        return await self._run(enable_disable_calls.set_enabled, True)

    async def disable(self) -> str | None:
        """See ReassignmentClient.disable."""
        return await self._run(enable_disable_calls.set_enabled, False)

    async def alter_throttles(
        self,
        throttle: int,
        *,
        topics: Iterable[str] | None = None,
        partitions: Iterable[tuple[str, int]] | None = None,
    ) -> ThrottledMoves:
        """See ReassignmentClient.alter_throttles."""
        return await self._run(throttle_calls.alter_throttles, throttle, topics, partitions)

    async def healing_status(self) -> HealingStatus:
        """See ReassignmentClient.healing_status."""
        return await self._run(self_healing_calls.healing_status)

    async def history(self) -> list[PastFigures]:
        """See ReassignmentClient.history."""
        return await self._run(history_calls.history)

    async def status(self) -> Status:
        """See ReassignmentClient.status."""
        return await self._run(status_calls.document, "status", Status)

    async def status_here(self) -> Status:
        """See ReassignmentClient.status_here."""
        return await self._run(status_calls.status_here)

    async def moves(self, **parameters: object) -> Moves:
        """See ReassignmentClient.moves."""
        return await self._run(status_calls.document, "moves", Moves, **parameters)

    async def brokers(self) -> Brokers:
        """See ReassignmentClient.brokers."""
        return await self._run(status_calls.document, "brokers", Brokers)

    async def controller_state(self) -> ControllerState:
        """See ReassignmentClient.controller_state."""
        return await self._run(controller_state_calls.controller_state)

    async def heal_broker(self, broker: int, *, dry_run: bool = False) -> Repair:
        """See ReassignmentClient.heal_broker."""
        return await self._run(self_healing_calls.heal_broker, broker, dry_run)

    async def approve_repairs(self, brokers: Iterable[int] | None = None) -> ApprovalOutcome:
        """See ReassignmentClient.approve_repairs."""
        return await self._run(self_healing_calls.approve_repairs, brokers)

    async def pause_healing(self) -> None:
        """See ReassignmentClient.pause_healing."""
        await self._run(self_healing_calls.set_paused, True)

    async def resume_healing(self) -> None:
        """See ReassignmentClient.resume_healing."""
        await self._run(self_healing_calls.set_paused, False)

    async def cordoned(self) -> frozenset[int]:
        """See ReassignmentClient.cordoned."""
        return await self._run(cordon_calls.cordoned)

    async def cordon(self, brokers: Iterable[int], *, uncordon: bool = False) -> frozenset[int]:
        """See ReassignmentClient.cordon."""
        return await self._run(cordon_calls.cordon, brokers, uncordon)

    async def hold(
        self,
        *,
        topics: Iterable[str] | None = None,
        brokers: Iterable[int] | None = None,
        requests: Iterable[str] | None = None,
        reason: str = "",
    ) -> HoldOutcome:
        """See ReassignmentClient.hold."""
        return await self._run(hold_calls.hold_moves, True, topics, brokers, requests, reason)

    async def release(
        self,
        *,
        topics: Iterable[str] | None = None,
        brokers: Iterable[int] | None = None,
        requests: Iterable[str] | None = None,
    ) -> HoldOutcome:
        """See ReassignmentClient.release."""
        return await self._run(hold_calls.hold_moves, False, topics, brokers, requests, "")

    async def can_cordon(self) -> bool:
        """See ReassignmentClient.can_cordon."""
        return await self._run(cordon_calls.can_cordon)

    async def settings(self) -> list[ServerSetting]:
        """See ReassignmentClient.settings."""
        return await self._run(settings_calls.settings)

    async def change_settings(self, changes: Mapping[str, str | None]) -> None:
        """See ReassignmentClient.change_settings."""
        await self._run(settings_calls.change_settings, changes)

    async def move_settings(self) -> MovedSettings:
        """See ReassignmentClient.move_settings."""
        return await self._run(settings_calls.move_settings)

    async def describe_cluster(self) -> list[ClusterNode]:
        """See ReassignmentClient.describe_cluster."""
        return await self._run(metadata_calls.describe_cluster)

    async def servers_among(self, nodes: Iterable[int]) -> set[int]:
        """See ReassignmentClient.servers_among."""
        return await self._run(metadata_calls.servers_among, nodes)

    async def describe_controller(self) -> int:
        """See ReassignmentClient.describe_controller."""
        return await self._run(metadata_calls.describe_controller)

    async def describe_topics(
        self, topics: Iterable[str], *, of_controller: bool = False
    ) -> dict[str, dict[int, PartitionInfo] | KafkaError]:
        """See ReassignmentClient.describe_topics."""
        return await self._run(metadata_calls.describe_topics, topics, of_controller=of_controller)

    async def find_topics(self, topics: Iterable[str], *, of_controller: bool = False) -> dict[str, TopicInfo]:
        """See ReassignmentClient.find_topics."""
        return await self._run(metadata_calls.find_topics, topics, of_controller=of_controller)

    async def describe_log_dirs(
        self, partitions_by_broker: Mapping[int, Iterable[tuple[str, int]]], *, timeout_ms: int | None = None
    ) -> list[LogDirs]:
        """See ReassignmentClient.describe_log_dirs."""
        return await self._run(log_dir_calls.describe_log_dirs, partitions_by_broker, timeout_ms)

    async def alter_replica_log_dirs(self, replicas: Mapping[Replica, str]) -> dict[Replica, KafkaError | None]:
        """See ReassignmentClient.alter_replica_log_dirs."""
        return await self._run(log_dir_calls.alter_replica_log_dirs, replicas)

    async def change_configs(self, changes: config_calls.Changes) -> dict[config_calls.Resource, KafkaError | None]:
        """See ReassignmentClient.change_configs."""
        return await self._run(config_calls.change_configs, changes)

    async def throttle_moves(
        self, of_moves: throttle_configs.Moves, bytes_per_second: int
    ) -> dict[config_calls.Resource, KafkaError | None]:
        """See ReassignmentClient.throttle_moves."""
        results = await self.change_configs(throttle_configs.topic_lists(of_moves))
        return results | await self.change_configs(
            throttle_configs.rates(throttle_configs.brokers(of_moves), bytes_per_second)
        )

    async def describe_everything(self) -> Everything:
        """See ReassignmentClient.describe_everything."""
        return metadata_calls.read_everything(await self._run(metadata_calls.describe_everything))

    async def describe_some(self, topics: Iterable[str]) -> Everything:
        """The nodes, and these topics alone, as some node knows them."""
        return await self._run(metadata_calls.describe_some, topics)

    async def describe_quorum(self, named: int) -> Quorum:
        """See ReassignmentClient.describe_quorum."""
        return await self._run(kraft_calls.describe_quorum, named)

    async def kraft_facts(self, cluster: Cluster, quiet_s: Mapping[int, float]) -> tuple[KRaftFacts, str]:
        """See ReassignmentClient.kraft_facts."""
        return await self._run(kraft_calls.kraft_facts, cluster, quiet_s)

    async def describe_brokers(
        self, partitions_by_broker: Mapping[int, Mapping[str, Sequence[int]]], *, timeout_ms: int | None = None
    ) -> dict[int, BrokerLogDirs | KafkaError]:
        """See ReassignmentClient.describe_brokers."""
        return await self._run(log_dir_calls.describe_brokers, partitions_by_broker, timeout_ms)

    async def describe_configs(
        self, resources: Sequence[config_calls.Resource]
    ) -> dict[config_calls.Resource, Configs | KafkaError]:
        """See ReassignmentClient.describe_configs."""
        return await self._run(config_calls.describe_configs, resources)

    async def describe_broker_configs(
        self, brokers: Iterable[int], *, timeout_ms: int | None = None
    ) -> dict[int, Configs | KafkaError]:
        """See ReassignmentClient.describe_broker_configs."""
        return await self._run(config_calls.describe_broker_configs, brokers, timeout_ms)

    async def _run(self, call: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        if self._router is None:
            raise RuntimeError("the client is not started")
        return await call(self._router, *args, **options)
