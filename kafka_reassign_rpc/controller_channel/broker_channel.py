"""One ordered connection to one broker, on which the controller tells it what changed.

At most one request is in flight; whatever is not confirmed is told again, for as long as the broker is
registered (Kafka's RequestSendThread). Each request is built when the connection is free, from the cluster
as it stands then.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from kafka_reassign_rpc.controller_channel import packed_requests, request_builders
from kafka_reassign_rpc.controller_channel.broker_client import RpcClient
from kafka_reassign_rpc.controller_channel.pending_requests import (
    Brokers,
    LeaderAndIsr,
    PendingRequests,
    ReplicaStop,
    StopReplica,
    Task,
    UpdateMetadata,
)
from kafka_reassign_rpc.core.kafka_errors import FencedLeaderEpoch, StaleControllerEpoch
from kafka_reassign_rpc.core.state.cluster import Broker, Cluster, TopicPartition
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.messages import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from kafka_reassign_rpc.support.tasks import end

log = logging.getLogger(__name__)

PARTITIONS_PER_REQUEST = 500
"""So that building and encoding one request stays well under 20 ms of the loop."""
ANSWER_TIMEOUT_S = 30.0
"""Kafka's controller.socket.timeout.ms."""
FIRST_BACKOFF_S = 0.05
LAST_BACKOFF_S = 1.0
FIRST_REFUSAL_S = 1.0
LAST_REFUSAL_S = 60.0
"""How long a stop that the broker has refused waits until it is told again: a log dir that is offline may stay so."""

_REQUESTS: dict[type[Task], Any] = {
    Brokers: UpdateMetadataRequest,
    UpdateMetadata: UpdateMetadataRequest,
    LeaderAndIsr: LeaderAndIsrRequest,
    StopReplica: StopReplicaRequest,
}

Stopped = Callable[[int, dict[TopicPartition, ReplicaStop]], None]


class BrokerChannel:
    """Tells one broker (one registration of it: a bounce makes a new channel) what its outbox holds.

    stopped   called with the broker's id and the stops that it has confirmed
    deposed   called when the broker knows a newer controller
    turn      held while a request is built, until the next turn of the event loop: channels share one, so that many
              brokers that are told the same do not make one long turn
    """

    def __init__(
        self,
        broker: Broker,
        cluster: Callable[[], Cluster],
        sender: request_builders.Sender,
        stopped: Stopped,
        deposed: Callable[[], None],
        listener: str | None = None,
        turn: asyncio.Lock | None = None,
    ) -> None:
        self.broker = broker
        self.outbox = PendingRequests()
        self._cluster = cluster
        self._sender = sender
        self._stopped = stopped
        self._deposed = deposed
        self._listener = listener
        self._turn = turn or asyncio.Lock()
        self._news = asyncio.Event()
        self._refusal_s = FIRST_REFUSAL_S
        self._again: asyncio.TimerHandle | None = None
        self._task = asyncio.create_task(self._run(), name=f"channel-{broker.id}")

    def wake(self) -> None:
        """There is something in the outbox."""
        self._news.set()

    async def close(self) -> None:
        if self._again is not None:
            self._again.cancel()
        await end(self._task)

    async def _run(self) -> None:
        backoff = FIRST_BACKOFF_S
        while True:
            endpoint = self.broker.endpoint(self._listener)
            try:
                client = await RpcClient.open(endpoint.host, endpoint.port, str(self._sender.id), ANSWER_TIMEOUT_S)
            except (OSError, TimeoutError) as error:
                log.debug("broker %d at %s:%d: %s", self.broker.id, endpoint.host, endpoint.port, error)
                await asyncio.sleep(backoff)
                backoff = min(backoff * 2, LAST_BACKOFF_S)
                continue
            try:
                await client.versions()
                backoff = FIRST_BACKOFF_S
                while True:
                    await self._tell_next(client)
            except (OSError, TimeoutError, EOFError, ProtocolError) as error:
                log.info(
                    "broker %d: connection lost (%s), connecting again", self.broker.id, error or type(error).__name__
                )
            except Exception:
                log.exception("broker %d: a defect in what it was to be told; trying again", self.broker.id)
                backoff = LAST_BACKOFF_S
            finally:
                client.close()
            await asyncio.sleep(backoff)

    async def _tell_next(self, client: RpcClient) -> None:
        task = self.outbox.take(PARTITIONS_PER_REQUEST)
        if task is None:
            self._news.clear()
            await self._news.wait()
            return
        answered = False
        try:
            request_class = _REQUESTS[type(task)]
            version = await client.version(request_class)
            for part in _parts(task, version):
                async with self._turn:
                    body = self._build(part, version)
                    await asyncio.sleep(0)
                if body is not None:
                    answer = await client.call(request_class, body, version)
                    self._take_in(part, answer)
            answered = True
        finally:
            if not answered:
                self.outbox.restore(task)

    def _build(self, task: Task, version: int) -> Any | None:
        """The body of the request, or its bytes; None where there is nothing left to say."""
        cluster = self._cluster()
        match task:
            case Brokers():
                return request_builders.update_metadata(cluster, self._sender, self.broker, {}, {}, version)
            case UpdateMetadata(partitions, deleted):
                made_of: Any = packed_requests if version >= packed_requests.UPDATE_METADATA_SINCE else request_builders
                return made_of.update_metadata(cluster, self._sender, self.broker, partitions, deleted, version)
            case LeaderAndIsr(partitions):
                made_of = packed_requests if version >= packed_requests.LEADER_AND_ISR_SINCE else request_builders
                return made_of.leader_and_isr(cluster, self._sender, self.broker, partitions, version)
            case StopReplica(stops):
                return request_builders.stop_replica(self._sender, self.broker, stops, version)

    def _take_in(self, task: Task, answer: Any) -> None:
        if answer.error_code == StaleControllerEpoch.code:
            log.warning("broker %d knows a newer controller than epoch %d", self.broker.id, self._sender.epoch)
            self._deposed()
            return
        if answer.error_code:
            log.warning("broker %d refused %s: error %d", self.broker.id, type(task).__name__, answer.error_code)
            return
        if isinstance(task, StopReplica):
            failed = {
                TopicPartition(error.topic_name, error.partition_index): error.error_code
                for error in answer.partition_errors
                if error.error_code
            }
            self._refused(task, failed)
            # A replica that has been given back and taken away again since waits for the newer stop.
            self._stopped(
                self.broker.id,
                {
                    name: stop
                    for name, stop in task.stops.items()
                    if name not in failed and not self.outbox.has_stop(name)
                },
            )

    def _refused(self, task: StopReplica, failed: Mapping[TopicPartition, int]) -> None:
        """Tell again what may succeed then. A stop that is fenced is older than what the broker knows."""
        if not failed:
            self._refusal_s = FIRST_REFUSAL_S
            return
        name, code = next(iter(failed.items()))
        log.warning(
            "broker %d did not stop %d of %d replicas, the first of them %s: error %d",
            self.broker.id, len(failed), len(task.stops), name, code,
        )  # fmt: skip
        fenced = FencedLeaderEpoch.code
        self.outbox.refused({name: stop for name, stop in task.stops.items() if failed.get(name, fenced) != fenced})
        if self._again is None:
            self._again = asyncio.get_running_loop().call_later(self._refusal_s, self._tell_refused_again)
            self._refusal_s = min(self._refusal_s * 2, LAST_REFUSAL_S)

    def _tell_refused_again(self) -> None:
        self._again = None
        self.outbox.tell_refused_again()
        self.wake()


def _parts(task: Task, version: int) -> list[Task]:
    """Before version 3 a StopReplica deletes all of its partitions or none."""
    if not isinstance(task, StopReplica) or version >= 3:
        return [task]
    kinds = (
        StopReplica({name: stop for name, stop in task.stops.items() if stop.delete is delete})
        for delete in (False, True)
    )
    return [part for part in kinds if part.stops]
