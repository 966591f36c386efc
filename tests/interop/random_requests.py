"""Random requests of administrators and of lost clients, drawn from a seed, and what of their answers is compared.

No request depends on an answer, so both clusters get the same ones. Topics lie on brokers 2 to 5: the controller of the
stock cluster is broker 1, which so leads none of them, and coordinates nothing as long as no internal topic exists.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

from kafka.protocol import admin, consumer, metadata, producer

SEEDS = (1, 2, 3, 4)
REQUESTS = 100
"""From each seed."""

NAMES = ("r-a", "r-b", "r-c.d", "r-c_d", "r-e")
BAD_NAMES = ("", ".", "..", "a b", "x" * 250, "none-such")
BROKERS = (2, 3, 4, 5)
KNOWN_ID = UUID(int=77)


class Drawn(NamedTuple):
    """A request, and the version that it is sent in."""

    kind: str
    request: Any
    version: int

    def __str__(self) -> str:
        return f"{self.kind} v{self.version} {self.request}"


class _Draw:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def drawn(self, *choices: Drawn) -> Drawn:
        return self.random.choice(choices)

    def some(self, make: Callable[[], Any], most: int = 3) -> list[Any]:
        return [make() for _ in range(self.random.randint(1, most))]

    def name(self) -> str:
        found: str = self.random.choice(BAD_NAMES if self.random.random() < 0.2 else NAMES)
        return found

    def replicas(self) -> list[int]:
        good = self.random.sample(BROKERS, self.random.randint(1, 3))
        faults: tuple[list[int], ...] = ([2, 2], [9], [-1], [])
        return self.random.choice([*[good] * 4, *faults])

    def configs(self) -> list[tuple[str, str | None]]:
        good: list[tuple[str, str | None]] = [("retention.ms", "86400000")]
        wrong: list[list[tuple[str, str | None]]] = [[("retention.ms", "x")], [("nope", "1")], [("retention.ms", None)]]
        return self.random.choice([[], [], good, good, *wrong])

    # ------------------------------------------------------------------------------------------------ topics

    def create_topics(self) -> Drawn:
        version = self.one(2, 4, 5, 6, 7)
        topics = self.some(self._new_topic)
        validate = self.one(True, True, False)
        return Drawn(
            "CreateTopics",
            admin.CreateTopicsRequest(topics=topics, timeout_ms=30_000, validate_only=validate),
            version,
        )

    def _new_topic(self) -> tuple[Any, ...]:
        if self.random.random() < 0.3:  # never created: brokers would place them as they like
            faults = ((0, 1), (-2, 1), (1, 0), (1, 9), (1, -2), (-2, 9), (0, 0))
            return (self.name(), *self.random.choice(faults), [], self.configs())
        good = [(index, self.replicas()) for index in range(self.random.randint(1, 2))]
        one = self.random.sample(BROKERS, 2)
        assignment = self.one([(0, one)], [(0, one), (1, one)], good, [(1, one)], [(0, one), (2, one)])
        counts = self.one((-1, -1), (-1, -1), (-1, -1), (1, -1), (-1, 1))
        return (self.name(), *counts, assignment, self.configs())

    def delete_topics(self) -> Drawn:
        version = self.one(1, 3, 4, 5, 6)
        if version < 6:
            names = self.some(self.name)
            request = admin.DeleteTopicsRequest(topic_names=self.one(names, names + names), timeout_ms=30_000)
        else:
            named = [(name, None) for name in self.some(self.name)]
            by_id = [(None, KNOWN_ID)]
            topics = self.one(named, named + named, by_id, by_id + by_id, named + by_id, [("r-a", KNOWN_ID)])
            request = admin.DeleteTopicsRequest(topics=topics, timeout_ms=30_000)
        return Drawn("DeleteTopics", request, version)

    def create_partitions(self) -> Drawn:
        def topic() -> tuple[Any, ...]:
            assignments = self.one(None, [([2, 3],)], [([2],)], [([2, 3],), ([3, 4],)], [([9],)], [([2, 2],)], [([],)])
            # without an assignment only what is refused: brokers would place them as they like
            count = self.one(0, -1, 1) if assignments is None else self.one(0, -1, 1, 2, 3)
            return self.name(), count, assignments

        request = admin.CreatePartitionsRequest(
            topics=self.some(topic), timeout_ms=30_000, validate_only=self.one(True, False)
        )
        return Drawn("CreatePartitions", request, self.one(0, 1, 2, 3))

    def reassign(self) -> Drawn:
        def topic() -> tuple[Any, ...]:
            partitions = [(index, self.one(self.replicas(), None)) for index in self.one([0], [0, 1], [7])]
            return self.name(), partitions

        request = admin.AlterPartitionReassignmentsRequest(topics=self.some(topic, 2), timeout_ms=30_000)
        return Drawn("AlterPartitionReassignments", request, 0)

    def list_reassignments(self) -> Drawn:
        topics = self.one(None, [], [(self.name(), [0, 7])])
        return Drawn(
            "ListPartitionReassignments",
            admin.ListPartitionReassignmentsRequest(timeout_ms=30_000, topics=topics),
            0,
        )

    def elect(self) -> Drawn:
        version = self.one(0, 1, 2)
        topics = [(self.name(), self.one([7], [8, 9], [7, 7])) for _ in range(self.random.randint(1, 2))]
        request = admin.ElectLeadersRequest(
            election_type=self.one(0, 1) if version else 0, topic_partitions=topics, timeout_ms=30_000
        )
        return Drawn("ElectLeaders", request, version)

    # ------------------------------------------------------------------------------------------------ configs

    def _resource(self, configs: Callable[[], Any]) -> tuple[Any, ...]:
        kind = self.one(2, 2, 2, 2, 4, 0, 3)
        return kind, self.one("77", "abc") if kind == 4 else self.name(), configs()

    def alter_configs(self) -> Drawn:
        def configs() -> Any:
            good = [("retention.ms", "86400000")]
            return self.one([], good, good + good, [("retention.ms", "x")], [("nope", "1")], [("retention.ms", None)])

        resources = self.some(lambda: self._resource(configs), 2)
        return Drawn(
            "AlterConfigs",
            admin.AlterConfigsRequest(resources=resources, validate_only=self.one(True, False)),
            self.one(0, 1, 2),
        )

    def incremental(self) -> Drawn:
        def configs() -> Any:
            operation = self.one(0, 1, 2, 3)
            name = self.one("retention.ms", "cleanup.policy", "nope")
            value = self.one("86400000", "delete", "x", None)
            one = [(name, operation, value)]
            return self.one(one, one, one, one + one, [*one, ("segment.ms", 0, "1000000")], [])

        resources = self.some(lambda: self._resource(configs), 2)
        return Drawn(
            "IncrementalAlterConfigs",
            admin.IncrementalAlterConfigsRequest(resources=resources, validate_only=self.one(True, False)),
            self.one(0, 1),
        )

    def describe_configs(self) -> Drawn:
        resources = self.some(lambda: (self.one(2, 2, 2, 4, 0, 3), self.one(self.name(), "77", "abc"), None), 2)
        return Drawn("DescribeConfigs", admin.DescribeConfigsRequest(resources=resources), self.one(1, 2, 3, 4))

    # ------------------------------------------------------------------------------------------------ users, quotas

    def alter_quotas(self) -> Drawn:
        def entry() -> tuple[Any, ...]:
            user, client, nobody = ("user", self.one("u", None)), ("client-id", "c"), ("nope", "x")
            entity = self.one([user], [client], [user, client], [user, user], [nobody], [], [("ip", "1.2.3.4")])
            key = self.one("producer_byte_rate", "request_percentage", "connection_creation_rate", "nope")
            value = self.one(1000.0, 0.5, -1.0, 0.0)
            return entity, self.one([(key, value, False)], [(key, 0.0, True)], [(key, value, False)] * 2, [])

        request = admin.AlterClientQuotasRequest(entries=self.some(entry, 2), validate_only=self.one(True, False))
        return Drawn("AlterClientQuotas", request, self.one(0, 1))

    def describe_quotas(self) -> Drawn:
        def component() -> tuple[Any, ...]:
            return self.one("user", "client-id", "ip", "nope", ""), *self.one((0, "u"), (1, None), (2, None), (0, None))

        request = admin.DescribeClientQuotasRequest(
            components=self.one([], self.some(component)), strict=self.one(True, False)
        )
        return Drawn("DescribeClientQuotas", request, self.one(0, 1))

    def alter_scram(self) -> Drawn:
        def upsert() -> tuple[Any, ...]:
            return self.one("u", "v", ""), self.one(1, 2, 0, 3), self.one(1, 4096, 16385, 20_000), b"salt", b"salted"

        deletions = self.one([], [(self.one("u", "none", ""), self.one(1, 2, 0, 9))])
        request = admin.AlterUserScramCredentialsRequest(
            deletions=deletions, upsertions=self.one([], self.some(upsert, 2))
        )
        return Drawn("AlterUserScramCredentials", request, 0)

    def describe_scram(self) -> Drawn:
        users = self.one(None, [], [("u",)], [("u",), ("u",)], [("none",)], [("",)])
        return Drawn("DescribeUserScramCredentials", admin.DescribeUserScramCredentialsRequest(users=users), 0)

    def acls(self) -> Drawn:
        request = admin.DescribeAclsRequest(
            resource_type_filter=2,
            resource_name_filter="a",
            pattern_type_filter=3,
            principal_filter=None,
            host_filter=None,
            operation=3,
            permission_type=3,
        )
        return Drawn("DescribeAcls", request, self.one(1, 2, 3))

    # ------------------------------------------------------------------------------------------------ not the one

    def producer_id(self) -> Drawn:
        version = self.one(0, 2, 3, 4)
        request = producer.InitProducerIdRequest(
            transactional_id=self.one(None, "", "x"),
            transaction_timeout_ms=self.one(1000, 0, -1),
            producer_id=self.one(-1, 5),
            producer_epoch=self.one(-1, 5),
        )
        return Drawn("InitProducerId", request, version)

    def coordinator(self) -> Drawn:
        version = self.one(1, 3, 4, 5, 6)
        kind = self.one(2, 3, -1)
        if version < 4:
            return Drawn("FindCoordinator", metadata.FindCoordinatorRequest(key="g", key_type=kind), version)
        request = metadata.FindCoordinatorRequest(coordinator_keys=["g", "h"], key_type=kind)
        return Drawn("FindCoordinator", request, version)

    def transactions(self) -> Drawn:
        states = self.one([], ["Ongoing", "nope"], ["ongoing", "Dead", ""])
        listing = admin.ListTransactionsRequest(state_filters=states, producer_id_filters=[])
        ids = admin.DescribeTransactionsRequest(transactional_ids=self.one(["x"], ["x", ""], []))
        end = producer.EndTxnRequest(
            transactional_id=self.one("x", ""), producer_id=1, producer_epoch=1, committed=True
        )
        offsets = producer.AddOffsetsToTxnRequest(
            transactional_id=self.one("x", ""), producer_id=1, producer_epoch=1, group_id="g"
        )
        return self.drawn(
            Drawn("ListTransactions", listing, self.one(0, 1)),
            Drawn("DescribeTransactions", ids, 0),
            Drawn("EndTxn", end, self.one(0, 2, 3)),
            Drawn("AddOffsetsToTxn", offsets, self.one(0, 2, 3)),
        )

    def groups(self) -> Drawn:
        group = self.one("g", "g", "")
        join = consumer.JoinGroupRequest(
            group_id=group, session_timeout_ms=10_000, member_id="", protocol_type="consumer", protocols=[("r", b"")]
        )
        sync = consumer.SyncGroupRequest(
            group_id=group, generation_id=1, member_id="m", protocol_type=self.one("p", None), protocol_name="n"
        )
        return self.drawn(
            Drawn("JoinGroup", join, self.one(0, 4, 6, 9)),
            Drawn("SyncGroup", sync, self.one(0, 4, 5)),
            Drawn(
                "Heartbeat", consumer.HeartbeatRequest(group_id=group, generation_id=1, member_id="m"), self.one(0, 4)
            ),
            Drawn("LeaveGroup", consumer.LeaveGroupRequest(group_id=group, member_id="m"), self.one(0, 2)),
            Drawn("DescribeGroups", admin.DescribeGroupsRequest(groups=[group, "h"]), self.one(0, 3, 5)),
            Drawn("DeleteGroups", admin.DeleteGroupsRequest(groups_names=[group, "h", "h"]), self.one(0, 2)),
            Drawn(
                "OffsetDelete",
                consumer.OffsetDeleteRequest(group_id=group, topics=[(self.name(), [(0,), (7,)])]),
                0,
            ),
        )

    def offsets(self) -> Drawn:
        group, topic = self.one("g", ""), self.name()
        commit = consumer.OffsetCommitRequest(group_id=group, topics=[(topic, [(0, 5, -1, ""), (7, 5, -1, "")])])
        return self.drawn(
            Drawn("OffsetCommit", commit, self.one(6, 7, 8)),
            Drawn(
                "OffsetFetch",
                consumer.OffsetFetchRequest(group_id=group, topics=self.one([(topic, [0, 7])], [])),
                self.one(2, 5, 7),
            ),
        )

    def records(self) -> Drawn:
        topic = self.name()
        times = self.one(-1, -2, -3, -6, 5)
        listing = consumer.ListOffsetsRequest(
            replica_id=-1,
            isolation_level=0,
            topics=[(topic, self.one([(0, -1, times)], [(0, -1, times), (7, -1, -1)]))],
        )
        return self.drawn(
            Drawn("ListOffsets", listing, self.one(4, 6, 7)),
            Drawn(
                "DeleteRecords",
                admin.DeleteRecordsRequest(topics=[(topic, [(0, 5), (7, 5)])], timeout_ms=1000),
                self.one(0, 2),
            ),
            Drawn("DescribeProducers", admin.DescribeProducersRequest(topics=[(topic, [0, 7])]), 0),
        )

    def next(self) -> Drawn:
        kinds = (
            *[self.create_topics] * 5,
            *[self.delete_topics] * 2,
            *[self.create_partitions] * 2,
            *[self.reassign] * 2,
            self.list_reassignments,
            self.elect,
            *[self.alter_configs] * 2,
            *[self.incremental] * 3,
            self.describe_configs,
            *[self.alter_quotas] * 2,
            self.describe_quotas,
            *[self.alter_scram] * 2,
            self.describe_scram,
            self.acls,
            *[self.producer_id] * 2,
            self.coordinator,
            *[self.transactions] * 2,
            *[self.groups] * 2,
            self.offsets,
            *[self.records] * 2,
        )
        found: Drawn = self.random.choice(kinds)()
        return found


def requests(seed: int, count: int = REQUESTS) -> Iterator[Drawn]:
    """The requests of a seed."""
    draw = _Draw(seed)
    return (draw.next() for _ in range(count))


LEFT_OUT = {"configs", "config", "throttle_time_ms", "topic_id", "authorized_operations", "values", "entries"}
IDENTITY = {
    *("name", "topic", "resource_name", "resource_type", "partition_index", "partition_id", "key", "user", "group_id"),
    *(
        "transactional_id",
        "entity_type",
        "entity_name",
        "num_partitions",
        "replication_factor",
        "unknown_state_filters",
    ),
}


def codes(answer: Any) -> Any:
    """What is compared: which entries the answer has, and the error of each. Their order is left out."""
    if isinstance(answer, dict):
        return {
            key: codes(value)
            for key, value in answer.items()
            if key not in LEFT_OUT and (key in IDENTITY or key.endswith("error_code") or isinstance(value, list | dict))
        }
    if isinstance(answer, list | tuple):
        return sorted((codes(one) for one in answer), key=repr)
    return answer


def succeeded(answer: Any) -> Sequence[str]:
    """The names of the entries of an answer without an error."""
    found = []
    for topics in (value for value in answer.values() if isinstance(value, list)):
        found += [
            one["name"] for one in topics if isinstance(one, dict) and one.get("error_code") == 0 and one.get("name")
        ]
    return found
