"""Moves of replicas between the log dirs of one broker."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafka_reassign_rpc.client import Replica, ReplicaLogDir
from kafka_reassign_rpc.core.kafka_errors import ReplicaNotAvailable
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed, TerseFailure
from kafka_reassign_rpc.reassign_command.java_set_order import joined
from kafka_reassign_rpc.reassign_command.output import partition_fields
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
