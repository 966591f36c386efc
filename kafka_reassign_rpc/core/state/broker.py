"""A registered broker, where it is reached, and which of its log dirs have failed; and what a cluster in KRaft mode
reports of its brokers besides its metadata."""

from collections.abc import Mapping, Sequence

import msgspec

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.support.counted import agreeing, first_of, those
from kafka_reassign_rpc.support.human_units import utc_time

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""Indexes are the numbers on the wire (org.apache.kafka.common.security.auth.SecurityProtocol)."""


class Endpoint(msgspec.Struct, frozen=True):
    listener: str
    security_protocol: str
    host: str
    port: int


def endpoint_for(endpoints: Sequence[Endpoint], listener: str | None, security_protocol: str = "") -> Endpoint:
    """The endpoint of the same name, else of the same security protocol, else the first: servers and brokers may name
    their listeners differently.
    """
    same = (one for one in endpoints if one.listener == listener)
    alike = (one for one in endpoints if one.security_protocol == security_protocol)
    return next(same, next(alike, endpoints[0]))


class Broker(msgspec.Struct, frozen=True):
    """`epoch`: the czxid of `/brokers/ids/$id`; a bounce changes it."""

    id: int
    epoch: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None

    def endpoint(self, listener: str | None = None, security_protocol: str = "") -> Endpoint:
        return endpoint_for(self.endpoints, listener, security_protocol)


class FailedLogDirs(msgspec.Struct, frozen=True):
    """A registered broker that has lost log dirs.

    since   when a controller first noticed that replicas are offline, ms since 1970
    paths   the log dirs that had failed by then or since, empty until the broker has named them
    """

    since: int
    paths: tuple[str, ...] = ()


class KRaftFacts(msgspec.Struct, frozen=True):
    """Empty in ZooKeeper mode, in an older version, and without the right to ask.

    fenced    brokers that are registered and fenced (DescribeCluster from Kafka 4.0): they lead nothing and join no ISR
    quiet_s   seconds since each broker has fetched the metadata, by the clock of the controller (DescribeQuorum)
    eligible  the eligible leader replicas (KIP-966) of partitions without a leader
    no_cordoned_target  whether the cluster refuses a target that names a cordoned broker, also one that stays (4.4,
                        KAFKA-20832)
    """

    fenced: frozenset[int] = frozenset()
    quiet_s: Mapping[int, float] = {}
    eligible: Mapping[TopicPartition, tuple[int, ...]] = {}
    no_cordoned_target: bool = False


NOTHING_TOLD = KRaftFacts()
NAMED = 5


class LostQuorum(msgspec.Struct, frozen=True):
    """A cluster without an active controller: brokers answer, and none gets an answer from the quorum.

    answering  these brokers
    dead       nodes that do not answer, and brokers that were lost before: since when, ms since 1970; None: unknown
    since      when an active controller was heard last; None: unknown
    voters     of the quorum, as they were last reported; empty: unknown
    """

    answering: Sequence[int]
    dead: Mapping[int, int | None]
    since: int | None = None
    voters: Sequence[int] = ()

    @property
    def text(self) -> str:
        who = those(self.answering, most=NAMED)
        answer, get = agreeing(len(self.answering), "answer"), agreeing(len(self.answering), "get")
        dead = [f"{one}{_since(at)}" for one, at in sorted(self.dead.items())]
        lost = f"dead: {first_of(dead, NAMED)}" if dead else "no broker is dead, so look at the controllers"
        voters = f". Most of the voters have to run: {first_of(self.voters, NAMED)}" if self.voters else ""
        return (
            f"No controller is active{_since(self.since)}: {who} {answer}, and {get} no answer from the quorum;"
            f" {lost}{voters}"
        )


def _since(at: int | None) -> str:
    return "" if at is None else f" since {utc_time(at)} UTC"
