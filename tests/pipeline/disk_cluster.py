"""Brokers in memory that take the place of the client in tests of `submit` of plans between log dirs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_reassign_rpc.client import ClusterNode, KafkaError, PartitionInfo, Replica, Unreachable
from kafka_reassign_rpc.client.config_calls import BROKER, OF_BROKER, Config
from kafka_reassign_rpc.client.log_dir_calls import BrokerLogDirs, HeldReplica, LogDir
from kafka_reassign_rpc.client.metadata_calls import Everything, TopicInfo
from kafka_reassign_rpc.core.throttling.replication_throttles import LOG_DIRS_RATE


@dataclass
class DiskCluster:
    """Brokers 1 and 2 with topic t. A copy is done when it has been looked at `looks` times.

    where      by replica: its log dir
    copies     by replica: where its copy is, and how often it was looked at
    free       bytes free in each log dir; None: not told
    silent     brokers that give no answer
    refusals   by replica: errors that its requests get, one after the other
    rates      by broker: its throttle; `seen` has each that was in force when a copy began
    most       the most copies of a broker at a time
    interrupt_at  the request after which submit is interrupted
    """

    where: dict[Replica, str]
    looks: int = 2
    copies: dict[Replica, tuple[str, int]] = field(default_factory=dict)
    free: int | None = None
    silent: set[int] = field(default_factory=set)
    refusals: dict[Replica, list[KafkaError]] = field(default_factory=dict)
    rates: dict[int, str | None] = field(default_factory=dict)
    seen: list[str | None] = field(default_factory=list)
    most: int = 0
    live: set[int] = field(default_factory=lambda: {1, 2})
    topic_id: str = "id-of-t"
    asked: list[dict[Replica, str]] = field(default_factory=list)
    interrupt_at: int = -1

    def describe_everything(self) -> Everything:
        nodes = [ClusterNode(broker, "h", 1, None) for broker in sorted(self.live)]
        partitions = {one.partition: PartitionInfo(1, (1, 2), (1, 2)) for one in [Replica(1, "t", 0), *self.where]}
        return Everything("c1", 1, nodes, iter([TopicInfo("t", partitions, None)]))

    def list_partition_reassignments(self, _: object = None) -> dict[Any, Any]:
        return {}

    def find_topics(self, topics: Iterable[str], *, of_controller: bool) -> dict[str, TopicInfo]:
        return {name: TopicInfo(name, {}, None, self.topic_id) for name in topics}

    def describe_brokers(
        self, asked: Mapping[int, Mapping[str, Sequence[int]]]
    ) -> dict[int, BrokerLogDirs | KafkaError]:
        return {
            broker: Unreachable("It is gone.") if broker in self.silent else self._describe(broker, wanted)
            for broker, wanted in asked.items()
        }

    def _describe(self, broker: int, wanted: Mapping[str, Sequence[int]]) -> BrokerLogDirs:
        held = []
        for replica in [Replica(broker, topic, index) for topic, some in wanted.items() for index in some]:
            if replica in self.copies:
                to, looks = self.copies.pop(replica)
                if looks >= self.looks:
                    self.where[replica] = to
                else:
                    self.copies[replica] = to, looks + 1
                    held.append(HeldReplica(replica.topic, replica.partition, 50, to, True))
            if replica in self.where:
                held.append(HeldReplica(replica.topic, replica.partition, 100, self.where[replica], False))
        return BrokerLogDirs(held, [LogDir(path, True, 1000, self.free) for path in ("/a", "/b")])

    def alter_replica_log_dirs(self, moves: Mapping[Replica, str]) -> dict[Replica, KafkaError | None]:
        self.asked.append(dict(moves))
        results: dict[Replica, KafkaError | None] = {}
        for replica, path in moves.items():
            results[replica] = self.refusals[replica].pop(0) if self.refusals.get(replica) else None
            if results[replica] is None:
                self.copies.pop(replica, None)
                if self.where[replica] != path:
                    self.copies[replica] = path, 0
                    self.seen.append(self.rates.get(replica.broker))
        for broker in (1, 2):
            self.most = max(self.most, sum(one.broker == broker for one in self.copies))
        if len(self.asked) == self.interrupt_at:
            raise KeyboardInterrupt
        return results

    def describe_broker_configs(self, brokers: Iterable[int]) -> dict[int, list[Config] | KafkaError]:
        return {
            broker: Unreachable("It is gone.")
            if broker in self.silent
            else [Config(LOG_DIRS_RATE, self.rates[broker], OF_BROKER)]
            if self.rates.get(broker)
            else []
            for broker in brokers
        }

    def change_configs(
        self, changes: Mapping[tuple[int, str], Mapping[str, str | None]]
    ) -> dict[tuple[int, str], KafkaError | None]:
        for (kind, name), values in changes.items():
            assert kind == BROKER
            self.rates[int(name)] = values[LOG_DIRS_RATE]
        return dict.fromkeys(changes)
