"""The ordered connection to one broker (Kafka's RequestSendThread). One request is in flight at most, and goes again
until the broker confirms it or is no longer registered.

When a broker refuses a whole LeaderAndIsr, the part that it has carried out is unknown. If its ZooKeeper session
expires meanwhile, it keeps followers with the new leader epoch but no log, or a log that stays empty, and refuses every
later request with that epoch (ReplicaManager.becomeLeaderOrFollower: "Log for partition … is not available"). Under a
stock controller they copy nothing until their leader epoch rises. This one raises the leader epochs of all that was in
the request, after a pause: the broker then restarts these replicas.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from kafka_reassign_rpc.controller_channel import replica_answers, request_builders
from kafka_reassign_rpc.controller_channel.pending_requests import (
    AllMetadata,
    BrokerRequest,
    LeaderAndIsr,
    LiveBrokers,
    PendingRequests,
    Review,
    StopReplica,
    StopReplicaState,
    UpdateMetadata,
    is_undone,
)
from kafka_reassign_rpc.controller_channel.replica_answers import BrokerReports, HostedReplica, ReplicaAnswers
from kafka_reassign_rpc.controller_channel.stop_unassigned import Reviewed, Reviews
from kafka_reassign_rpc.core.kafka_errors import (
    ClusterAuthorizationFailed,
    FencedLeaderEpoch,
    StaleBrokerEpoch,
    StaleControllerEpoch,
    UnknownServerError,
)
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.protocol.frame_codec import decode_body_in_slices
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
from kafka_reassign_rpc.protocol.sliced_messages import take_apart
from kafka_reassign_rpc.support.backoff import Backoff, DelayedCall
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.support.turns import Turn, in_turns
from kafka_reassign_rpc.transport.broker_links import EPOCH, NO_RIGHTS, RIGHTS, VERSIONS, BrokerLinks, BrokerRefuses
from kafka_reassign_rpc.transport.rpc_client import NoCommonVersion, RpcClient

log = logging.getLogger(__name__)

ANSWER_TIMEOUT_S = 30.0
"""Kafka's controller.socket.timeout.ms."""
FIRST_BACKOFF_S = 0.05
RECONNECT_S = 0.1
"""A broker registers before it listens, and says to clients that there are no brokers until its first UpdateMetadata.
So the channel retries as often as Kafka's RequestSendThread."""
LONGEST_BACKOFF_S = 1.0
FIRST_REFUSAL_S = 1.0
LONGEST_REFUSAL_S = 60.0
"""Longest wait before the channel repeats a stop that the broker has refused: a log dir may stay offline."""
LONGEST_RESTART_S = 600.0
"""Longest wait before leader epochs rise for what the broker has refused; the first is FIRST_REFUSAL_S. The other
replicas of these partitions restart as well."""

METADATA_PER_REQUEST = 10_000
"""A broker copies its whole metadata for each UpdateMetadata (ZkMetadataCache.updateMetadata): a few large requests are
done sooner than many small ones."""

KNOWS_NEWER = (
    "knows a newer controller than this one of epoch {} (STALE_CONTROLLER_EPOCH). If this server is still the"
    " controller of the cluster, it is elected again under a higher epoch. A broker that refuses that as well learns"
    " nothing from it: restart the broker"
)

NOT_CONTROLLED = "learns nothing from this server, which controls brokers of Kafka 2.8 to 3.9 in ZooKeeper mode: {}"

_Part = LiveBrokers | UpdateMetadata | LeaderAndIsr | StopReplica
_Response = UpdateMetadataResponse | LeaderAndIsrResponse | StopReplicaResponse

_REQUESTS: dict[type[BrokerRequest], type[RequestFor[_Response]]] = {
    LiveBrokers: UpdateMetadataRequest,
    AllMetadata: UpdateMetadataRequest,
    UpdateMetadata: UpdateMetadataRequest,
    LeaderAndIsr: LeaderAndIsrRequest,
    StopReplica: StopReplicaRequest,
}

_T = TypeVar("_T")


class OtherChannels(Protocol):
    def leader_and_isr_answered(
        self, broker_id: int, partitions: Mapping[str, Iterable[int]] | None
    ) -> Generator[None, None, None]:
        """`partitions`: None for all of the broker's own. Yields after each slice."""
        ...

    def accepted_elsewhere(self, broker_id: int, replica: HostedReplica) -> bool: ...


class BrokerChannel:
    """Sends one broker its pending requests, from the first `wake` on; one channel for each registration. All channels
    share `turn`, so that the building of requests to many brokers does not add up to one long pause.
    """

    def __init__(
        self,
        broker: Broker,
        cluster: Callable[[], Cluster],
        sender: request_builders.Sender,
        reports: BrokerReports,
        others: OtherChannels,
        links: BrokerLinks,
        turn: Turn,
    ) -> None:
        self.broker = broker
        self.pending = PendingRequests()
        self._cluster = cluster
        self._sender = sender
        self._reports = reports
        self._others = others
        self._links = links
        self._turn = turn
        self.replicas = ReplicaAnswers(
            broker,
            cluster,
            sender.elected,
            reports,
            others.accepted_elsewhere,
            self._replace_log,
            lambda name: self.pending.review(name.topic, (name.partition,)),
        )
        self._reviews = Reviews(broker, cluster, sender, self._in_turns, lambda: self.replicas.kept)
        self._to_restart: dict[str, set[int]] = {}
        """Partitions whose leader epochs will rise; all of the broker's if `_restarts_all`."""
        self._restarts_all = False
        self._restart = DelayedCall(self._restart_replicas, FIRST_REFUSAL_S, LONGEST_RESTART_S)
        self._sending: BrokerRequest | None = None
        self._wakeup = asyncio.Event()
        self._sent = asyncio.Event()
        """Is set after each request, answered or not."""
        self._retry = DelayedCall(self._retry_refused, FIRST_REFUSAL_S, LONGEST_REFUSAL_S)
        self._task = asyncio.create_task(self._run(), name=f"channel-{broker.id}")

    def wake(self) -> None:
        self._wakeup.set()

    def unconfirmed(self) -> PendingRequests:
        """Includes the stops in flight: call it before the channel closes."""
        if isinstance(self._sending, StopReplica | UpdateMetadata):
            self.pending.restore(self._sending)
        return self.pending

    def not_asked(self, topic: str, indexes: Collection[int]) -> Collection[int]:
        """Of which of these partitions the broker has yet to say if it holds them unassigned, or has said so, and may
        still have the log."""
        asked = self._sending.partitions if isinstance(self._sending, Review) else {}
        pending = self.pending.not_asked(topic)
        if asked is None or pending is None:
            return indexes
        return {*asked.get(topic, ()), *pending, *self._reviews.stopped(topic, indexes)}

    async def stops_answered(self) -> None:
        while self.pending.has_stops or isinstance(self._sending, StopReplica):
            self._sent.clear()
            await self._sent.wait()

    async def close(self) -> None:
        await end(self._task)
        self._retry.cancel()
        self._restart.cancel()
        self._links.forget(self.broker.id)

    async def _run(self) -> None:
        await self._wakeup.wait()
        backoff = Backoff(FIRST_BACKOFF_S, LONGEST_BACKOFF_S)
        while True:
            try:
                client = await self._links.open(self.broker, str(self._sender.id), ANSWER_TIMEOUT_S)
            except (OSError, TimeoutError, EOFError, ProtocolError) as error:
                log.debug("broker %d: %s", self.broker.id, error or type(error).__name__)
                if isinstance(error, ConnectionRefusedError):
                    await asyncio.sleep(RECONNECT_S)
                else:
                    await backoff.sleep(longest=isinstance(error, BrokerRefuses))
                continue
            at_length = False
            try:
                await client.versions()
                backoff.reset()
                while True:
                    await self._send_next(client)
            except BrokerRefuses:  # the links have reported it
                at_length = True
            except NoCommonVersion as error:
                self._links.warn(self.broker.id, VERSIONS, f"broker {self.broker.id} {NOT_CONTROLLED.format(error)}")
                at_length = True
            except (OSError, TimeoutError, EOFError, ProtocolError) as error:
                log.info(
                    "broker %d: connection lost (%s); its requests wait until it is back",
                    self.broker.id,
                    error or type(error).__name__,
                )
            except Exception:
                log.exception("broker %d: a defect kept a request from being sent; trying again", self.broker.id)
                at_length = True
            finally:
                client.close()
            await backoff.sleep(longest=at_length)

    async def _send_next(self, client: RpcClient) -> None:
        request = self.pending.take()
        if request is None:
            self._wakeup.clear()
            await self._wakeup.wait()
            return
        answered, self._sending = False, request
        try:
            if isinstance(request, Review):
                self._reviewed(await self._reviews.review(client, request))
                answered = True
                return
            request_class = _REQUESTS[type(request)]
            version = await client.version(request_class)
            for part in self._parts(request):
                body = await self._in_turns(self._building(part, version))
                if body is not None:
                    await self._call(client, part, request_class, body, version)
            answered = True
        finally:
            self._sending = None
            if not answered:
                self.pending.restore(request)
                if isinstance(request, Review):
                    self._retry.request()
            self._sent.set()
        if isinstance(request, LeaderAndIsr):
            answered_ones = None if request.is_complete else request.partitions
            await self._in_turns(self._others.leader_and_isr_answered(self.broker.id, answered_ones))

    def _reviewed(self, found: Reviewed) -> None:
        if found.failed:
            self.pending.review_later(found.failed)
            self._retry.request()
        else:
            self._retry.reset()
        if found.stopped or found.logs:
            self._reports.unassigned_found(self.broker.id, found.stopped, found.logs)

    async def _call(
        self,
        client: RpcClient,
        request: _Part,
        request_class: type[RequestFor[_Response]],
        body: StopReplicaRequest | bytes,
        version: int,
    ) -> None:
        is_complete = isinstance(request, LeaderAndIsr) and request.is_complete
        if is_complete:
            raw = await client.call(request_class, body, version, raw=True)
            answer = await self._in_turns(decode_body_in_slices(LeaderAndIsrResponse, raw, version=version))
            if not self._refused(request, answer.error_code):
                found = await self._in_turns(replica_answers.refusals(answer, self._cluster()))
                self.replicas.answered(found, is_complete=True)
            await self._in_turns(take_apart(answer))
        else:
            self._handle_answer(request, await client.call(request_class, body, version))

    def _parts(self, request: BrokerRequest) -> Iterator[_Part]:
        match request:
            case AllMetadata():
                yield from _metadata_in_parts(self._cluster())
            case StopReplica():
                stops = {
                    name: stop for name, stop in request.stops.items() if not is_undone(self._cluster(), name, stop)
                }
                if stops:
                    yield StopReplica(stops)
            case LiveBrokers() | UpdateMetadata() | LeaderAndIsr():
                yield request

    async def _in_turns(self, steps: Generator[None, None, _T]) -> _T:
        return await in_turns(steps, turn=self._turn)

    def _building(self, request: _Part, version: int) -> Generator[None, None, StopReplicaRequest | bytes | None]:
        to = (self._cluster(), self._sender, self.broker)
        match request:
            case LiveBrokers():
                return (yield from request_builders.update_metadata(*to, {}, {}, version))
            case UpdateMetadata(partitions, deleted):
                return (yield from request_builders.update_metadata(*to, partitions, deleted, version))
            case LeaderAndIsr(partitions, is_complete):
                return (yield from request_builders.leader_and_isr(*to, partitions, version, is_complete=is_complete))
            case StopReplica(stops):
                return request_builders.stop_replica(self._sender, self.broker, stops, version)

    def _refused(self, request: _Part, error: int) -> bool:
        if error == ClusterAuthorizationFailed.code:
            self._lacks_rights()
        self._links.forget(self.broker.id, RIGHTS, VERSIONS)
        if error == StaleControllerEpoch.code:
            self._links.warn(self.broker.id, EPOCH, f"broker {self.broker.id} {KNOWS_NEWER.format(self._sender.epoch)}")
            self._reports.knows_newer_controller()
        elif error:  # of a broker that does not know itself under this epoch, or of a defect: it says nothing of ours
            log.warning(
                "broker %d refused %s, and goes on with what it knew: error %d",
                self.broker.id,
                type(request).__name__,
                error,
            )
        else:
            self._links.forget(self.broker.id, EPOCH)
            self._reports.obeys()
        if error and isinstance(request, StopReplica):
            self._retry_later(request, dict.fromkeys(request.stops, error))
        elif error:
            self.pending.refused(request)
            if isinstance(request, LeaderAndIsr) and error not in (StaleControllerEpoch.code, StaleBrokerEpoch.code):
                self._restart_later(request)
        return bool(error)

    def _restart_later(self, refused: LeaderAndIsr) -> None:
        self._restarts_all |= refused.is_complete
        for topic, indexes in refused.partitions.items():
            self._to_restart.setdefault(topic, set()).update(indexes)
        self._restart.request()

    def _restart_replicas(self) -> None:
        partitions = None if self._restarts_all else self._to_restart
        self._restarts_all, self._to_restart = False, {}
        log.warning("broker %d restarts the replicas that it has refused: their leader epochs rise", self.broker.id)
        self._reports.leader_and_isr_refused(self.broker, partitions)

    def _lacks_rights(self) -> None:
        """Raises BrokerRefuses: the channel asks again, since somebody may grant the right."""
        text = f"broker {self.broker.id} {NO_RIGHTS}"
        self._links.warn(self.broker.id, RIGHTS, text)
        raise BrokerRefuses(text, NO_RIGHTS)

    def _handle_answer(self, request: _Part, answer: _Response) -> None:
        if self._refused(request, answer.error_code):
            return
        if isinstance(answer, LeaderAndIsrResponse):
            self.replicas.answered(replica_answers.errors(answer, self._cluster()), is_complete=False)
        if isinstance(request, StopReplica) and isinstance(answer, StopReplicaResponse):
            codes = {
                TopicPartition(one.topic_name, one.partition_index): one.error_code for one in answer.partition_errors
            }
            # A broker lists every replica that it has stopped (ReplicaManager.stopReplicas): one left out was not.
            failed = {name: code for name in request.stops if (code := codes.get(name, UnknownServerError.code))}
            self._retry_later(request, failed)
            # The partition may have come back to the broker and left again since: then the newer stop counts.
            self._reports.stopped(
                self.broker.id,
                {
                    name: stop
                    for name, stop in request.stops.items()
                    if name not in failed and not self.pending.has_stop(name)
                },
            )

    def _replace_log(self, name: TopicPartition, stop: StopReplicaState) -> None:
        self.pending.stop(*name, stop)
        self.pending.leader_and_isr(*name, is_new=True)  # goes out behind the stop
        self.wake()

    def has_accepted(self, replica: HostedReplica) -> bool:
        topic, index = replica.name
        sending = self._sending if isinstance(self._sending, LeaderAndIsr) else None
        return (
            not self.pending.lists_all_replicas
            and not self.pending.has_leader_and_isr(replica.name)
            and (sending is None or not (sending.is_complete or index in sending.partitions.get(topic, ())))
            and not self.replicas.remembers(replica)
        )

    def _retry_later(self, request: StopReplica, failed: Mapping[TopicPartition, int]) -> None:
        """A fenced stop is older than what the broker knows."""
        if not failed:
            self._retry.reset()
            return
        name, code = next(iter(failed.items()))
        log.warning(
            "broker %d did not stop %d of %s, and is asked again later; the first of them %s: error %d",
            self.broker.id, len(failed), counted(len(request.stops), "replica"), name, code,
        )  # fmt: skip
        fenced = FencedLeaderEpoch.code
        refused = {name: stop for name, stop in request.stops.items() if failed.get(name, fenced) != fenced}
        self.pending.stops_refused(refused)
        self._retry.request()

    def _retry_refused(self) -> None:
        self.pending.retry_refused()
        self.wake()


def _metadata_in_parts(cluster: Cluster) -> Iterator[UpdateMetadata]:
    """At least one part, since each also carries the live brokers."""
    part: dict[str, Collection[int]] = {}
    size, is_first = 0, True
    for name, indexes in request_builders.all_partitions(cluster):
        part[name] = indexes
        size += len(indexes)
        if size >= METADATA_PER_REQUEST:
            yield UpdateMetadata(part, {})
            part, size, is_first = {}, 0, False
    if part or is_first:
        yield UpdateMetadata(part, {})
