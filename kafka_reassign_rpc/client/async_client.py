"""The asyncio client: every call, with its documentation. Some have their modules, its bases."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka_reassign_rpc.client import (
    config_calls,
    kraft_calls,
    metadata_calls,
    reassignment_calls,
    throttle_configs,
)
from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.config_calls import Configs
from kafka_reassign_rpc.client.kraft_calls import Quorum
from kafka_reassign_rpc.client.log_dir_calls import LogDirCalls
from kafka_reassign_rpc.client.metadata_calls import Everything, TopicInfo
from kafka_reassign_rpc.client.reassignment_calls import Asked, Moved
from kafka_reassign_rpc.client.request_routing import connect
from kafka_reassign_rpc.client.result_values import (
    ClusterNode,
    PartitionInfo,
    PartitionReassignment,
    Reassignment,
    ReassignmentDescription,
)
from kafka_reassign_rpc.client.server_calls import ServerCalls
from kafka_reassign_rpc.client.settings_calls import SettingsCalls
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.broker import KRaftFacts
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition

T = TypeVar("T")


class AsyncReassignmentClient(LogDirCalls, ServerCalls, SettingsCalls):
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

    async def start(self) -> None:
        """Raises Unreachable, Unauthenticated, and ValueError for a config that cannot be used."""
        settings = await asyncio.to_thread(client_settings, self._configs)  # it reads files
        self._router = await connect(settings)

    def say_what_is_waited_for(self, say: Callable[[str], None]) -> None:
        """A call that has had no answer for three seconds calls `say` once, in the event loop's thread, with a line of
        text: why, and until when it tries. The client has to be connected."""
        self._connected.slow.say = say

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
        return await reassignment_calls.list_reassignments(self._connected, partitions, self._connected.timeout_ms)

    async def describe_reassignments(
        self, reassignments: Iterable[Reassignment] | None = None
    ) -> dict[Reassignment, ReassignmentDescription | None]:
        """The descriptions of these moves, or of all (KIP-240); None for one that has ended. Raises UnsupportedHere."""
        return await reassignment_calls.describe_reassignments(
            self._connected, reassignments, self._connected.timeout_ms
        )

    async def list_partition_reassignments(
        self, partitions: Iterable[tuple[str, int]] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """All moving partitions, or those of these partitions that move (KIP-455). Any Kafka from 2.4 on can list them.

        A kafka-reassign-rpc server also lists the moves that wait in its queue (PartitionReassignment.state).
        """
        return await reassignment_calls.list_partition_reassignments(
            self._connected, partitions, self._connected.timeout_ms
        )

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
        return await reassignment_calls.alter_partition_reassignments(
            self._connected,
            moves,
            allow_replication_factor_change=allow_replication_factor_change,
            timeout_ms=timeout_ms or self._connected.timeout_ms,
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
        return await reassignment_calls.elect_preferred_leaders(self._connected, partitions, self._connected.timeout_ms)

    async def can_forbid_replication_factor_change(self) -> bool:
        """Whether the controller serves AlterPartitionReassignments 1 (KIP-860)."""
        return await reassignment_calls.can_forbid_replication_factor_change(self._connected)

    async def can_compare_replicas(self) -> bool:
        """Whether the controller knows `expected_replicas`."""
        return await reassignment_calls.is_this_server(self._connected)

    async def can_queue(self) -> bool:
        """Whether the controller knows `queue`."""
        return await reassignment_calls.is_this_server(self._connected)

    async def can_lease_throttles(self) -> bool:
        """Whether the controller knows `throttle`."""
        return await reassignment_calls.is_this_server(self._connected)

    async def can_keep_reasons(self) -> bool:
        """Whether the controller knows `reason`."""
        return await reassignment_calls.is_this_server(self._connected)

    async def describe_cluster(self) -> list[ClusterNode]:
        """The nodes that clients may connect to."""
        return await metadata_calls.describe_cluster(self._connected)

    async def servers_among(self, nodes: Iterable[int]) -> set[int]:
        """The nodes that are kafka-reassign-rpc servers: they are no brokers, and hold no replicas."""
        return await metadata_calls.servers_among(self._connected, nodes)

    async def describe_controller(self) -> int:
        """The id of the controller. Raises Unreachable if the cluster has none at the moment."""
        return await metadata_calls.describe_controller(self._connected)

    async def describe_topics(
        self, topics: Iterable[str], *, of_controller: bool = False
    ) -> dict[str, dict[int, PartitionInfo] | KafkaError]:
        """The partitions of each topic, or its error. With `of_controller` ask the controller: others learn later of
        the end of a move.
        """
        return await metadata_calls.describe_topics(self._connected, topics, of_controller=of_controller)

    async def find_topics(self, topics: Iterable[str], *, of_controller: bool = False) -> dict[str, TopicInfo]:
        """Each topic with its id, partitions, and error if any. See `describe_topics`."""
        return await metadata_calls.find_topics(self._connected, topics, of_controller=of_controller)

    async def change_configs(self, changes: config_calls.Changes) -> dict[config_calls.Resource, KafkaError | None]:
        """Set dynamic configs of topics and brokers (None deletes). The result of each is None or its error."""
        return await config_calls.change_configs(self._connected, changes)

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
        return metadata_calls.read_everything(await metadata_calls.describe_everything(self._connected))

    async def describe_some(self, topics: Iterable[str]) -> Everything:
        """The nodes, and these topics alone, as some node knows them."""
        return await metadata_calls.describe_some(self._connected, topics)

    async def describe_quorum(self, named: int) -> Quorum:
        """The quorum of the controllers, where brokers name `named`: in KRaft mode they name any of themselves."""
        return await kraft_calls.describe_quorum(self._connected, named)

    async def kraft_facts(self, cluster: Cluster, quiet_s: Mapping[int, float]) -> tuple[KRaftFacts, str]:
        """What KRaft knows of lost brokers and of moving partitions without a leader; and what of it cannot be seen.
        `quiet_s`: see `Quorum`.
        """
        return await kraft_calls.kraft_facts(self._connected, cluster, quiet_s)

    async def describe_configs(
        self, resources: Sequence[config_calls.Resource]
    ) -> dict[config_calls.Resource, Configs | KafkaError]:
        """The configs set for topics, for one broker (in a call of its own) or for all brokers (BROKER, "")."""
        return await config_calls.describe_configs(self._connected, resources)

    async def describe_broker_configs(
        self, brokers: Iterable[int], *, timeout_ms: int | None = None
    ) -> dict[int, Configs | KafkaError]:
        """The configs set for each broker, or its error. The time is as in `describe_log_dirs`."""
        return await config_calls.describe_broker_configs(self._connected, brokers, timeout_ms)
