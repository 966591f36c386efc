"""--execute and --execute-queue: start moves, or let them wait for their turn."""

from collections.abc import Mapping, Sequence

from kafka_reassign_rpc.client import KafkaError, ReassignmentClient, TopicPartition, throttle_configs
from kafka_reassign_rpc.client.reassignment_calls import (
    NO_EXPECTATIONS,
    NO_GUARD,
    NO_LEASES,
    NO_QUEUE,
    NO_REASONS,
    Results,
)
from kafka_reassign_rpc.reassign_command import action_watch, log_dir_moves, throttle_changes
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import Failed, Terse
from kafka_reassign_rpc.reassign_command.java_set_order import joined, set_order
from kafka_reassign_rpc.reassign_command.output import named, plural
from kafka_reassign_rpc.reassign_command.reassignment_json import (
    Assignment,
    ReassignmentFile,
    assignment_document,
    format_assignment,
    parse_executable,
    parse_plan,
    read_file,
)

ALREADY_MOVING = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a "
    "new partition assignment in addition to the existing one. The --additional flag can also be used to change the "
    "throttle by resubmitting the current reassignment."
)


NO_LOG_DIRS = (
    "--execute-queue cannot place replicas in log dirs, for they are not there before their move starts: take "
    '"log_dirs" out of the file, and use --execute with it once --verify-queue says that all is done.'
)


def run(session: ActionContext) -> None:
    execute(session, queue=False)


def execute(session: ActionContext, *, queue: bool) -> None:
    """`queue`: the moves join the controller's queue."""
    given, output = session.given, session.output
    plan = parse_executable(read_file(given.value("reassignment-json-file") or ""))
    if queue and plan.log_dirs:
        raise Failed(NO_LOG_DIRS)
    rate, log_dir_rate = given.number("throttle"), given.number("replica-alter-log-dirs-throttle")
    lease = rate if given.has("lease") else None
    if lease is not None and lease < 0:
        raise Failed(throttle_changes.LEASE_NEEDS_THROTTLE)
    reason = given.value("reason")
    timeout_ms = given.number("timeout")
    expected = expectations(plan, given.value("expect-current")) if given.has("expect-current") else {}
    client = session.client
    in_flight = client.list_partition_reassignments()
    if in_flight and not queue and not given.has("additional"):
        raise Terse(ALREADY_MOVING)
    targets = plan.targets
    known = set(session.brokers())
    for broker in set_order(broker for replicas in targets.values() for broker in replicas):
        if broker not in known:
            raise Failed(f"Unknown broker id {broker}")
    current = session.assignment_of(list(targets))
    output.line(
        f"Current partition replica assignment\n\n{format_assignment(current)}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback"
    )
    output.note(current=assignment_document(current))
    may_change = not given.has("disallow-replication-factor-change")
    # Before any throttle is set: what cannot be done must leave nothing behind.
    missing = _missing(client, may_change=may_change, expected=expected, queue=queue, lease=lease, reason=reason)
    if missing is not None:
        raise _refused(dict.fromkeys(targets, missing))
    of_moves = throttle_configs.moves(in_flight, targets, current)
    _throttle(session, plan, of_moves, -1 if lease is not None else rate, log_dir_rate)
    results = start(session, targets, may_change=may_change, expected=expected, queue=queue, lease=lease, reason=reason)
    refused = _refusals(results)
    if lease is not None and len(refused) < len(targets):
        output.line(throttle_changes.leased(lease))
        output.note(throttle=lease, lease=True)
    accepted = [named(partition) for partition in sorted(targets) if partition not in refused]
    output.note(**{"queued" if queue else "started": accepted})
    if refused:
        raise _refused(refused)
    done = "queued" if queue else "started"
    output.line(f"Successfully {done} partition reassignment{plural(len(targets))} for {joined(sorted(targets))}")
    if plan.log_dirs:
        log_dir_moves.start(session, plan.log_dirs, timeout_ms)
    if given.has("watch"):
        action_watch.follow(session, list(targets))


def _throttle(
    session: ActionContext, plan: ReassignmentFile, of_moves: throttle_configs.Moves, rate: int, log_dir_rate: int
) -> None:
    """Set what is to stay until --verify; below 0: nothing."""
    if rate < 0 and log_dir_rate < 0:
        return
    session.output.line(throttle_changes.VERIFY_LATER)
    if rate >= 0:
        throttle_changes.throttle_replication(session, of_moves, rate)
        session.output.note(throttle=rate)
    if log_dir_rate >= 0:
        throttle_changes.throttle_log_dirs(session, (replica.broker for replica in plan.log_dirs), log_dir_rate)
        session.output.note(replica_alter_log_dirs_throttle=log_dir_rate)


def _missing(
    client: ReassignmentClient,
    *,
    may_change: bool,
    expected: Assignment,
    queue: bool,
    lease: int | None,
    reason: str | None,
) -> str | None:
    """What the controller lacks."""
    if not may_change and not client.can_forbid_replication_factor_change():
        return NO_GUARD
    if expected and not client.can_compare_replicas():
        return NO_EXPECTATIONS
    if queue and not client.can_queue():
        return NO_QUEUE
    if lease is not None and not client.can_lease_throttles():
        return NO_LEASES
    return NO_REASONS if reason and not client.can_keep_reasons() else None


def start(
    session: ActionContext,
    targets: Assignment,
    *,
    may_change: bool,
    expected: Assignment,
    queue: bool,
    lease: int | None = None,
    reason: str | None = None,
) -> Results:
    """What became of each partition; an error of the whole request is one of every partition, as in Java."""
    try:
        return session.client.alter_partition_reassignments(
            targets,
            allow_replication_factor_change=may_change,
            expected_replicas=expected,
            queue=queue,
            throttle=lease,
            reason=reason,
        )
    except KafkaError as error:
        return dict.fromkeys(targets, error)


def expectations(plan: ReassignmentFile, path: str | None) -> Assignment:
    """What is to stand there now, for every partition of the plan. Raises Failed where something is missing."""
    source = f"the entries of {path}" if path else '"expected_replicas"'
    found = parse_plan(read_file(path)).targets if path else dict(plan.expected)
    missing = [partition for partition, _ in plan.entries if partition not in found]
    if missing:
        raise Failed(f"--expect-current: {source} do not say what to expect of {joined(sorted(missing), ', ')}")
    return {partition: found[partition] for partition, _ in plan.entries}


def _refusals(results: Results) -> dict[TopicPartition, str]:
    return {partition: error.message for partition, error in results.items() if error is not None}


def _refused(reasons: Mapping[TopicPartition, str]) -> Terse:
    lines: Sequence[str] = [f"{partition}: {reasons[partition]}" for partition in sorted(reasons)]
    return Terse("\n".join(["Error reassigning partition(s):", *lines]))
