"""The leader's side of the simulated replication: how far each follower is, and how many bytes it gets next. Pure but
for the message classes: the caller passes the time in.

Each follower broker has one session with each leader broker. A replica that has caught up costs nothing: the session's
heartbeats count for all of them. One that lags gets bytes, within the leader's bandwidth, its replication throttle and
the follower's own limit.

A follower has caught up while it has all of the leader's bytes *and* its session is alive. In Kafka a follower of an
idle partition never falls behind: simulated partitions count as if a producer wrote to them all the time.
"""

from collections.abc import Callable
from itertools import islice

from kafka_reassign_rpc.core.kafka_errors import FencedLeaderEpoch, UnknownTopicOrPartition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.replication_throttles import LEADER_RATE
from kafka_reassign_rpc.fleet.replica_table import ReplicaTable, SimulatedReplica
from kafka_reassign_rpc.fleet.throttled_replicas import IDLE_LINK_S, ThrottledReplicas, TokenBucket
from kafka_reassign_rpc.protocol.messages import SimulatedFetchRequest, SimulatedFetchResponse

NOT_LEADER_OR_FOLLOWER = 6
SESSION_ID_NOT_FOUND = 70
UNKNOWN_LEADER_EPOCH = 76

GRANTS_PER_ANSWER = 500
"""Building such an answer takes well below 20 ms."""
SMALLEST_SHARE = 1 << 20
"""Bytes that a partition gets before the next one's turn (Kafka's replica.fetch.max.bytes)."""
PACE_MS = 50
"""When the follower asks again while bytes wait for bandwidth or a throttle."""
AT_ONCE, NOT_BEFORE_HEARTBEAT = 0, -1

Answers = dict[TopicPartition, tuple[int, int, int]]
"""By partition: error, leader's size, granted bytes."""


class FollowedReplica:
    """`granted` are bytes in flight; the next request confirms them."""

    __slots__ = ("granted", "replica", "size", "throttled")

    def __init__(self, replica: SimulatedReplica, size: int, throttled: bool) -> None:
        self.replica = replica
        self.size = size
        self.granted = 0
        self.throttled = throttled

    @property
    def lag(self) -> int:
        return self.replica.log.size - self.size - self.granted


class FollowerSession:
    """`lagging` is in the order of turns."""

    __slots__ = ("dropped", "granted", "id", "lagging", "last_heard", "partitions", "sequence")

    def __init__(self, session_id: int, now: float) -> None:
        self.id = session_id
        self.sequence = 0
        self.last_heard = now
        self.partitions: dict[TopicPartition, FollowedReplica] = {}
        self.lagging: dict[TopicPartition, FollowedReplica] = {}
        self.granted: list[FollowedReplica] = []
        self.dropped: dict[TopicPartition, int] = {}


class LeaderReplication:
    """`caught_up` is called with (replica, follower's broker id)."""

    def __init__(
        self,
        broker_id: int,
        table: ReplicaTable,
        throttles: ThrottledReplicas,
        bandwidth: float | None,
        lag_time_max_s: float,
        caught_up: Callable[[SimulatedReplica, int], None],
        now: float,
    ) -> None:
        self.broker_id = broker_id
        self.lag_time_max_s = lag_time_max_s
        self._table = table
        self._throttles = throttles
        self._out = TokenBucket(bandwidth, now, IDLE_LINK_S)
        self._throttle = TokenBucket(None, now)
        self._caught_up = caught_up
        self._sessions: dict[int, FollowerSession] = {}
        self._behind: dict[TopicPartition, dict[int, float]] = {}

    # --------------------------------------------------------------------------------- the state behind the ISR

    def became_leader(self, replica: SimulatedReplica, now: float) -> None:
        """Every follower has to report its size again, within replica.lag.time.max.ms."""
        self._forget_followers(replica.name, FencedLeaderEpoch.code)
        followers = {follower: now for follower in replica.isr if follower != self.broker_id}
        if followers:
            self._behind[replica.name] = followers
        else:
            self._behind.pop(replica.name, None)

    def resigned(self, name: TopicPartition) -> None:
        """This broker no longer leads the partition, or never did."""
        self._behind.pop(name, None)
        self._forget_followers(name, NOT_LEADER_OR_FOLLOWER)

    def is_caught_up(self, name: TopicPartition, follower: int) -> bool:
        session = self._sessions.get(follower)
        following = None if session is None else session.partitions.get(name)
        return following is not None and following.size >= following.replica.log.size

    def caught_up_followers(self, name: TopicPartition) -> list[int]:
        return [follower for follower in self._sessions if self.is_caught_up(name, follower)]

    def outside_isr(self, follower: int) -> list[TopicPartition]:
        session = self._sessions.get(follower)
        if session is None:
            return []
        return [name for name, found in session.partitions.items() if follower not in found.replica.isr]

    def is_late(self, name: TopicPartition, follower: int, now: float) -> bool:
        """For longer than replica.lag.time.max.ms."""
        since = self._behind.get(name, {}).get(follower)
        return since is not None and now - since > self.lag_time_max_s

    def late(self, now: float) -> list[TopicPartition]:
        """The partitions with such a member. Ends sessions that have been silent for that long."""
        for follower, session in list(self._sessions.items()):
            if now - session.last_heard > self.lag_time_max_s:
                self._end(follower)
        return [name for name, followers in self._behind.items() if any(self.is_late(name, f, now) for f in followers)]

    def _forget_followers(self, name: TopicPartition, error: int) -> None:
        for session in self._sessions.values():
            if session.partitions.pop(name, None) is not None:
                session.lagging.pop(name, None)
                session.dropped[name] = error

    def _end(self, follower: int) -> None:
        session = self._sessions.pop(follower)
        for name, following in session.partitions.items():
            self._fell_behind(name, following, follower, session.last_heard)

    def _fell_behind(self, name: TopicPartition, following: FollowedReplica, follower: int, since: float) -> None:
        if follower in following.replica.isr:
            self._behind.setdefault(name, {}).setdefault(follower, since)

    def _caught_up_now(self, name: TopicPartition, following: FollowedReplica, follower: int) -> None:
        behind = self._behind.get(name)
        if behind is not None:
            behind.pop(follower, None)
            if not behind:
                del self._behind[name]
        self._caught_up(following.replica, follower)

    # ------------------------------------------------------------------------------------------ the fetch

    def fetch(self, request: SimulatedFetchRequest, now: float) -> SimulatedFetchResponse:
        follower: int = request.replica_id
        if request.sequence == 0:
            if follower in self._sessions:
                self._end(follower)
            session = self._sessions[follower] = FollowerSession(request.session_id, now)
        else:
            found = self._sessions.get(follower)
            if found is None or found.id != request.session_id or request.sequence != found.sequence + 1:
                return SimulatedFetchResponse(version=0, error_code=SESSION_ID_NOT_FOUND, wait_ms=0, topics=[])
            session = found
        session.sequence = request.sequence
        session.last_heard = now
        answers: Answers = {}
        self._confirm(session, follower)
        self._remove(session, follower, request, now)
        self._add(session, follower, request, answers)
        wait_ms = self._grant(session, follower, request, answers, now)
        for name, error in session.dropped.items():
            answers.setdefault(name, (error, 0, 0))
        session.dropped = {}
        return _response(wait_ms, answers)

    def _confirm(self, session: FollowerSession, follower: int) -> None:
        for following in session.granted:
            following.size += following.granted
            following.granted = 0
            name = following.replica.name
            if following.lag <= 0 and session.partitions.get(name) is following:
                del session.lagging[name]
                self._caught_up_now(name, following, follower)
        session.granted = []

    def _remove(self, session: FollowerSession, follower: int, request: SimulatedFetchRequest, now: float) -> None:
        for topic in request.removed:
            for index in topic.partitions:
                name = TopicPartition(topic.topic, index)
                session.dropped.pop(name, None)
                self._drop(session, follower, name, now)

    def _drop(self, session: FollowerSession, follower: int, name: TopicPartition, now: float) -> None:
        session.lagging.pop(name, None)
        following = session.partitions.pop(name, None)
        if following is not None:
            self._fell_behind(name, following, follower, now)

    def _add(self, session: FollowerSession, follower: int, request: SimulatedFetchRequest, answers: Answers) -> None:
        for topic in request.added:
            for added in topic.partitions:
                name = TopicPartition(topic.topic, added.partition)
                session.dropped.pop(name, None)
                replica = self._table.online.get(name)
                error = self._refusal(replica, follower, added.leader_epoch)
                if error or replica is None:
                    # What it announced before is no longer valid: a later answer must not fence that.
                    self._drop(session, follower, name, session.last_heard)
                    answers[name] = (error, 0, 0)
                    continue
                leader_size = replica.log.size
                following = FollowedReplica(replica, min(added.size, leader_size), added.throttled)
                session.partitions[name] = following
                session.lagging.pop(name, None)
                answers[name] = (0, leader_size, 0)
                if following.lag > 0:
                    session.lagging[name] = following
                else:
                    self._caught_up_now(name, following, follower)

    def _refusal(self, replica: SimulatedReplica | None, follower: int, leader_epoch: int) -> int:
        if replica is None:
            return UnknownTopicOrPartition.code
        if leader_epoch < replica.leader_epoch:
            return FencedLeaderEpoch.code
        if leader_epoch > replica.leader_epoch:
            return UNKNOWN_LEADER_EPOCH
        if replica.leader != self.broker_id or follower not in replica.replicas:
            return NOT_LEADER_OR_FOLLOWER
        return 0

    def _grant(
        self, session: FollowerSession, follower: int, request: SimulatedFetchRequest, answers: Answers, now: float
    ) -> int:
        """Returns when the follower should ask again, in ms."""
        self._throttle.set_rate(self._throttles.rate(LEADER_RATE, self.broker_id), now)
        budget = min(request.max_bytes, self._out.available(now))
        for_throttled = request.max_throttled_bytes
        own_throttle = self._throttle.available(now)
        limited = False
        share = max(SMALLEST_SHARE, budget // max(1, len(session.lagging)))
        for name in list(islice(session.lagging, GRANTS_PER_ANSWER)):
            if budget <= 0:
                limited = True
                break
            following = session.lagging[name]
            amount = min(following.lag, share, budget)
            if following.throttled:
                amount = min(amount, for_throttled)
            counts = self._throttles.leader_throttled(self.broker_id, name) and follower not in following.replica.isr
            if counts:
                amount = min(amount, own_throttle)
            session.lagging[name] = session.lagging.pop(name)
            if amount <= 0:
                limited = True
                continue
            budget -= amount
            self._out.take(amount, now)
            if following.throttled:
                for_throttled -= amount
            if counts:
                own_throttle -= amount
                self._throttle.take(amount, now)
            following.granted = amount
            limited = limited or following.lag > 0
            session.granted.append(following)
            answers[name] = (0, following.replica.log.size, amount)
        if not session.lagging:
            return NOT_BEFORE_HEARTBEAT
        return PACE_MS if limited else AT_ONCE


def _response(wait_ms: int, answers: Answers) -> SimulatedFetchResponse:
    # Tuples are used for the structures of the answer: they are several times cheaper to make.
    topics: dict[str, list[tuple[int, int, int, int]]] = {}
    for name, news in answers.items():
        topics.setdefault(name.topic, []).append((name.partition, *news))
    return SimulatedFetchResponse(version=0, error_code=0, wait_ms=wait_ms, topics=list(topics.items()))
