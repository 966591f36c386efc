"""Moves of replicas between the log dirs of one broker; and what brokers report of log dirs: how large partitions are,
and where replicas lie."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from kafka_reassign_rpc.client import KafkaError, ReassignmentClient, Replica, ReplicaLogDir
from kafka_reassign_rpc.core.kafka_errors import ReplicaNotAvailable
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, partition_fields
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed, TerseFailure
from kafka_reassign_rpc.reassign_command.reassignment_json import joined
from kafka_reassign_rpc.support.counted import plural

RETRY_S = 0.1


@dataclass(frozen=True)
class LogDirState:
    """`target` is what the file asks for."""

    target: str
    found: ReplicaLogDir

    @property
    def is_moving(self) -> bool:
        return self.found.current is not None and self.found.future is not None

    @property
    def is_done(self) -> bool:
        return self.found.current is not None and self.found.future is None


def states(context: ActionContext, targets: Mapping[Replica, str]) -> dict[Replica, LogDirState]:
    by_broker: dict[int, list[TopicPartition]] = {}
    for replica in targets:
        by_broker.setdefault(replica.broker, []).append(replica.topic_partition)
    found = {}
    for answer in context.client.describe_log_dirs(by_broker):
        if answer.error is not None:
            raise CommandFailed(f"Broker {answer.broker} does not report its log dirs: {answer.error}")
        found[answer.broker] = answer.replicas
    return {
        replica: LogDirState(target, found[replica.broker].get(replica.topic_partition, ReplicaLogDir()))
        for replica, target in targets.items()
    }


def text(of_replicas: Mapping[Replica, LogDirState]) -> str:
    return "\n".join(_line(replica, of_replicas[replica]) for replica in sorted(of_replicas))


def _line(replica: Replica, state: LogDirState) -> str:
    name, broker = f"Partition {replica.topic_partition}", f"broker {replica.broker}"
    found = state.found
    if found.current is None:
        return (
            f"{name} is not found in any live log dir on {broker}. There is likely an offline log directory on the "
            "broker."
        )
    if found.future == state.target:
        return f"Reassignment of replica {replica} is still in progress."
    if found.future is not None:
        return f"{name} on {broker} is being moved to log dir {found.future} instead of {state.target}."
    if found.current == state.target:
        return f"Reassignment of replica {replica} completed successfully."
    return f"{name} on {broker} is not being moved from log dir {found.current} to {state.target}."


def start(
    context: ActionContext,
    targets: Mapping[Replica, str],
    timeout_ms: int,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """A broker that gets its replica only by the reassignment is asked until it has the replica.

    Raises CommandFailed if a broker refuses for another reason, TerseFailure after the timeout.
    """
    deadline = clock() + timeout_ms / 1000
    pending = dict(targets)
    while True:
        started = []
        for replica, error in context.client.alter_replica_log_dirs(pending).items():
            if error is None:
                started.append(replica)
            elif error.code != ReplicaNotAvailable.code:
                raise CommandFailed(f"CommandFailed to alter dir for {replica}: {error.message}")
        for replica in sorted(started):
            context.output.line(
                f"Successfully started moving log directory to {pending.pop(replica)} for replica "
                f"{replica.topic}-{replica.partition} with broker {replica.broker} "
            )
        if not pending:
            break
        if clock() >= deadline:
            raise TerseFailure(
                f"Timed out before log directory move{plural(len(pending))} could be started for: "
                f"{joined(sorted(pending))}"
            )
        sleep(RETRY_S)
    context.output.collect(
        log_dirs=[
            {**partition_fields(replica.topic_partition), "broker": replica.broker, "log_dir": targets[replica]}
            for replica in sorted(targets)
        ]
    )


ANSWER_MS = 2_000
"""How long brokers may take to report sizes. Of one that does not, nothing is known."""


def leader_sizes(client: ReassignmentClient, leaders: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Sizes in bytes, where the leader reports them."""
    asked: dict[int, list[TopicPartition]] = {}
    for name, leader in leaders.items():
        if leader >= 0:
            asked.setdefault(leader, []).append(name)
    answers = client.describe_log_dirs(asked, timeout_ms=ANSWER_MS) if asked else []
    return {name: found.size for one in answers if one.error is None for name, found in one.replicas.items()}


def present_log_dirs(
    client: ReassignmentClient, assignment: Mapping[TopicPartition, Sequence[int]], live: Collection[int]
) -> dict[Replica, str]:
    """For JSON that brings them back, as by Kafka's tool from 4.3 on. Waits two seconds for live brokers.

    Source: ReassignPartitionsCommand.getReplicaToLogDir. There a broker that refuses ends the command; here its
    replicas count as `any`, so that a command about other things does not fail for it.
    """
    asked: dict[int, list[TopicPartition]] = {}
    for name, replicas in assignment.items():
        for broker in replicas:
            if broker in live:
                asked.setdefault(broker, []).append(name)
    try:
        answers = client.describe_log_dirs(asked, timeout_ms=ANSWER_MS) if asked else []
    except KafkaError:
        return {}
    return {
        Replica(one.broker, *name): found.current
        for one in answers
        if one.error is None
        for name, found in one.replicas.items()
        if found.current is not None
    }
