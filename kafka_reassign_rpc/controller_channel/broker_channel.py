"""One ordered connection to one broker, on which the controller propagates changes (Kafka's RequestSendThread).

At most one request is in flight. The channel repeats what the broker has not confirmed, for as long as the broker is
registered. It builds each request when the connection is free, from the state of the cluster at that time.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping

from kafka_reassign_rpc.controller_channel import packed_requests, request_builders
from kafka_reassign_rpc.controller_channel.broker_client import RpcClient
from kafka_reassign_rpc.controller_channel.pending_requests import (
    BrokerRequest,
    LeaderAndIsr,
    LiveBrokers,
    PendingRequests,
    StopReplica,
    StopReplicaState,
    UpdateMetadata,
)
from kafka_reassign_rpc.core.kafka_errors import FencedLeaderEpoch, StaleControllerEpoch
from kafka_reassign_rpc.core.state.cluster import Broker, Cluster, TopicPartition
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.messages import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    RequestFor,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kafka_reassign_rpc.support.backoff import Backoff, next_wait_s
from kafka_reassign_rpc.support.tasks import end

log = logging.getLogger(__name__)

ANSWER_TIMEOUT_S = 30.0
"""Kafka's controller.socket.timeout.ms."""
FIRST_BACKOFF_S = 0.05
LONGEST_BACKOFF_S = 1.0
FIRST_REFUSAL_S = 1.0
LONGEST_REFUSAL_S = 60.0
"""How long the channel waits before it repeats a stop that the broker has refused: a log dir may stay offline."""

_Request = UpdateMetadataRequest | LeaderAndIsrRequest | StopReplicaRequest
_Response = UpdateMetadataResponse | LeaderAndIsrResponse | StopReplicaResponse

_REQUESTS: dict[type[BrokerRequest], type[RequestFor[_Response]]] = {
    LiveBrokers: UpdateMetadataRequest,
    UpdateMetadata: UpdateMetadataRequest,
    LeaderAndIsr: LeaderAndIsrRequest,
    StopReplica: StopReplicaRequest,
}

Stopped = Callable[[int, dict[TopicPartition, StopReplicaState]], None]


class BrokerChannel:
    """Sends one broker its pending requests. A broker that registers again gets a new channel.

    stopped            called with the broker's id and the stops that it has confirmed
    controller_moved   called when the broker knows a newer controller
    turn               held while a request is built, until the next turn of the event loop: all channels share it, so
                       that requests to many brokers do not add up to one long turn
    """

    def __init__(
        self,
        broker: Broker,
        cluster: Callable[[], Cluster],
        sender: request_builders.Sender,
        stopped: Stopped,
        controller_moved: Callable[[], None],
        listener: str | None = None,
        turn: asyncio.Lock | None = None,
    ) -> None:
        self.broker = broker
        self.pending = PendingRequests()
        self._cluster = cluster
        self._sender = sender
        self._stopped = stopped
        self._controller_moved = controller_moved
        self._listener = listener
        self._turn = turn or asyncio.Lock()
        self._wakeup = asyncio.Event()
        self._refusal_s = FIRST_REFUSAL_S
        self._retry: asyncio.TimerHandle | None = None
        self._task = asyncio.create_task(self._run(), name=f"channel-{broker.id}")

    def wake(self) -> None:
        """There are pending requests."""
        self._wakeup.set()

    async def close(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
        await end(self._task)

    async def _run(self) -> None:
        backoff = Backoff(FIRST_BACKOFF_S, LONGEST_BACKOFF_S)
        while True:
            endpoint = self.broker.endpoint(self._listener)
            try:
                client = await RpcClient.open(endpoint.host, endpoint.port, str(self._sender.id), ANSWER_TIMEOUT_S)
            except (OSError, TimeoutError) as error:
                log.debug("broker %d at %s:%d: %s", self.broker.id, endpoint.host, endpoint.port, error)
                await backoff.sleep()
                continue
            defect = False
            try:
                await client.versions()
                backoff.reset()
                while True:
                    await self._send_next(client)
            except (OSError, TimeoutError, EOFError, ProtocolError) as error:
                log.info(
                    "broker %d: connection lost (%s), connecting again", self.broker.id, error or type(error).__name__
                )
            except Exception:
                log.exception("broker %d: a defect kept a request from being sent; trying again", self.broker.id)
                defect = True
            finally:
                client.close()
            await backoff.sleep(longest=defect)

    async def _send_next(self, client: RpcClient) -> None:
        request = self.pending.take()
        if request is None:
            self._wakeup.clear()
            await self._wakeup.wait()
            return
        answered = False
        try:
            request_class = _REQUESTS[type(request)]
            version = await client.version(request_class)
            for part in _parts(request, version):
                async with self._turn:
                    body = self._build(part, version)
                    await asyncio.sleep(0)
                if body is not None:
                    answer = await client.call(request_class, body, version)
                    self._handle_answer(part, answer)
            answered = True
        finally:
            if not answered:
                self.pending.restore(request)

    def _build(self, request: BrokerRequest, version: int) -> _Request | bytes | None:
        """The body of the request, or its bytes; None where nothing is left to propagate."""
        cluster = self._cluster()
        match request:
            case LiveBrokers():
                return request_builders.update_metadata(cluster, self._sender, self.broker, {}, {}, version)
            case UpdateMetadata(partitions, deleted):
                given = (cluster, self._sender, self.broker, partitions, deleted, version)
                if version >= packed_requests.UPDATE_METADATA_SINCE:
                    return packed_requests.update_metadata(*given)
                return request_builders.update_metadata(*given)
            case LeaderAndIsr(partitions):
                if version >= packed_requests.LEADER_AND_ISR_SINCE:
                    return packed_requests.leader_and_isr(cluster, self._sender, self.broker, partitions, version)
                return request_builders.leader_and_isr(cluster, self._sender, self.broker, partitions, version)
            case StopReplica(stops):
                return request_builders.stop_replica(self._sender, self.broker, stops, version)

    def _handle_answer(self, request: BrokerRequest, answer: _Response) -> None:
        if answer.error_code == StaleControllerEpoch.code:
            log.warning("broker %d knows a newer controller than epoch %d", self.broker.id, self._sender.epoch)
            self._controller_moved()
            return
        if answer.error_code:
            log.warning("broker %d refused %s: error %d", self.broker.id, type(request).__name__, answer.error_code)
            return
        if isinstance(request, StopReplica) and isinstance(answer, StopReplicaResponse):
            failed = {
                TopicPartition(error.topic_name, error.partition_index): error.error_code
                for error in answer.partition_errors
                if error.error_code
            }
            self._retry_later(request, failed)
            # The partition may have come back to the broker and left again since: then the newer stop counts.
            self._stopped(
                self.broker.id,
                {
                    name: stop
                    for name, stop in request.stops.items()
                    if name not in failed and not self.pending.has_stop(name)
                },
            )

    def _retry_later(self, request: StopReplica, failed: Mapping[TopicPartition, int]) -> None:
        """Repeat the stops that may succeed later. A fenced stop is older than what the broker knows: not that one."""
        if not failed:
            self._refusal_s = FIRST_REFUSAL_S
            return
        name, code = next(iter(failed.items()))
        log.warning(
            "broker %d did not stop %d of %d replicas, the first of them %s: error %d",
            self.broker.id, len(failed), len(request.stops), name, code,
        )  # fmt: skip
        fenced = FencedLeaderEpoch.code
        refused = {name: stop for name, stop in request.stops.items() if failed.get(name, fenced) != fenced}
        self.pending.stops_refused(refused)
        if self._retry is None:
            self._retry = asyncio.get_running_loop().call_later(self._refusal_s, self._retry_refused_stops)
            self._refusal_s = next_wait_s(self._refusal_s, FIRST_REFUSAL_S, LONGEST_REFUSAL_S)

    def _retry_refused_stops(self) -> None:
        self._retry = None
        self.pending.retry_refused_stops()
        self.wake()


def _parts(request: BrokerRequest, version: int) -> list[BrokerRequest]:
    """One request, or two: before version 3 a StopReplica deletes all of its partitions or none."""
    if not isinstance(request, StopReplica) or version >= 3:
        return [request]
    kinds = (
        StopReplica({name: stop for name, stop in request.stops.items() if stop.delete is delete})
        for delete in (False, True)
    )
    return [part for part in kinds if part.stops]
