"""--execute and --execute-queue: start the moves of a file, or put them into the controller's queue."""

from collections.abc import Mapping, Sequence

from kafka_reassign_rpc.client import KafkaError, ReassignmentClient, TopicPartition, throttle_configs
from kafka_reassign_rpc.client.reassignment_calls import (
    NO_EXPECTATIONS,
    NO_LEASES,
    NO_QUEUE,
    NO_REASONS,
    NO_REPLICATION_FACTOR_GUARD,
    Results,
)
from kafka_reassign_rpc.reassign_command import action_watch, log_dir_moves, set_and_clear_throttles
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed, TerseFailure
from kafka_reassign_rpc.reassign_command.execute_warnings import ProduceRateCheck, warn_of_racks
from kafka_reassign_rpc.reassign_command.java_set_order import joined, set_order
from kafka_reassign_rpc.reassign_command.output import partition_fields
from kafka_reassign_rpc.reassign_command.reassignment_json import (
    Assignment,
    ReassignmentFile,
    assignment_document,
    format_assignment,
    parse_executable_reassignment,
    parse_reassignment,
    read_file,
)
from kafka_reassign_rpc.support.counted import plural

ALREADY_MOVING = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a "
    "new partition assignment in addition to the existing one. The --additional flag can also be used to change the "
    "throttle by resubmitting the current reassignment."
)

NO_LOG_DIRS = (
    "--execute-queue cannot place replicas in log dirs, for they are not there before their move starts: take "
    '"log_dirs" out of the file, and use --execute with it once --verify-queue says that all is done.'
)


def run(context: ActionContext) -> None:
    execute(context, queue=False)


def execute(context: ActionContext, *, queue: bool) -> None:
    """`queue`: put the moves into the controller's queue."""
    options, output = context.options, context.output
    reassignment = parse_executable_reassignment(read_file(options.value("reassignment-json-file") or ""))
    if queue and reassignment.log_dirs:
        raise CommandFailed(NO_LOG_DIRS)
    rate, log_dir_rate = options.number("throttle"), options.number("replica-alter-log-dirs-throttle")
    lease = rate if options.has("lease") else None
    if lease is not None and lease < 0:
        raise CommandFailed(set_and_clear_throttles.LEASE_NEEDS_THROTTLE)
    reason = options.value("reason")
    timeout_ms = options.number("timeout")
    expected = expected_replicas(reassignment, options.value("expect-current")) if options.has("expect-current") else {}
    client = context.client
    in_flight = client.list_partition_reassignments()
    if in_flight and not queue and not options.has("additional"):
        raise TerseFailure(ALREADY_MOVING)
    targets = reassignment.targets
    racks = {node.id: node.rack for node in client.describe_cluster()}
    for broker in set_order(broker for replicas in targets.values() for broker in replicas):
        if broker not in racks:
            raise CommandFailed(f"Unknown broker id {broker}")
    current = context.assignment_of(list(targets))
    output.line(
        f"Current partition replica assignment\n\n{format_assignment(current)}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback"
    )
    output.note(current=assignment_document(current))
    may_change = not options.has("disallow-replication-factor-change")
    # This comes before the throttles: a reassignment that the controller cannot do must leave nothing behind.
    unsupported = _unsupported_option(
        client, may_change=may_change, expected=expected, queue=queue, lease=lease, reason=reason
    )
    if unsupported is not None:
        raise _refused(dict.fromkeys(targets, unsupported))
    warn_of_racks(targets, current, in_flight, racks)
    produce_rates = ProduceRateCheck(client, targets, in_flight, rate)
    of_moves = throttle_configs.all_moves(in_flight, targets, current)
    _throttle(context, reassignment, of_moves, -1 if lease is not None else rate, log_dir_rate)
    results = start(context, targets, may_change=may_change, expected=expected, queue=queue, lease=lease, reason=reason)
    refused = _refusals(results)
    if lease is not None and len(refused) < len(targets):
        output.line(set_and_clear_throttles.leased(lease))
        output.note(throttle=lease, lease=True)
    accepted = [partition_fields(partition) for partition in sorted(targets) if partition not in refused]
    output.note(**{"queued" if queue else "started": accepted})
    if refused:
        raise _refused(refused)
    done = "queued" if queue else "started"
    output.line(f"Successfully {done} partition reassignment{plural(len(targets))} for {joined(sorted(targets))}")
    produce_rates.warn()
    if reassignment.log_dirs:
        log_dir_moves.start(context, reassignment.log_dirs, timeout_ms)
    if options.has("watch"):
        action_watch.follow(context, list(targets))


def _throttle(
    context: ActionContext,
    reassignment: ReassignmentFile,
    of_moves: throttle_configs.Moves,
    rate: int,
    log_dir_rate: int,
) -> None:
    """Set the throttles that stay until --verify clears them. A rate below 0: no throttle."""
    if rate < 0 and log_dir_rate < 0:
        return
    context.output.line(set_and_clear_throttles.VERIFY_LATER)
    if rate >= 0:
        set_and_clear_throttles.throttle_replication(context, of_moves, rate)
        context.output.note(throttle=rate)
    if log_dir_rate >= 0:
        set_and_clear_throttles.throttle_log_dirs(
            context, (replica.broker for replica in reassignment.log_dirs), log_dir_rate
        )
        context.output.note(replica_alter_log_dirs_throttle=log_dir_rate)


def _unsupported_option(
    client: ReassignmentClient,
    *,
    may_change: bool,
    expected: Assignment,
    queue: bool,
    lease: int | None,
    reason: str | None,
) -> str | None:
    """Why the controller cannot do what the options ask for; None if it can."""
    if not may_change and not client.can_forbid_replication_factor_change():
        return NO_REPLICATION_FACTOR_GUARD
    if expected and not client.can_compare_replicas():
        return NO_EXPECTATIONS
    if queue and not client.can_queue():
        return NO_QUEUE
    if lease is not None and not client.can_lease_throttles():
        return NO_LEASES
    return NO_REASONS if reason and not client.can_keep_reasons() else None


def start(
    context: ActionContext,
    targets: Assignment,
    *,
    may_change: bool,
    expected: Assignment,
    queue: bool,
    lease: int | None = None,
    reason: str | None = None,
) -> Results:
    """The result of each partition. An error of the whole request counts for every partition, as in Java."""
    try:
        return context.client.alter_partition_reassignments(
            targets,
            allow_replication_factor_change=may_change,
            expected_replicas=expected,
            queue=queue,
            throttle=lease,
            reason=reason,
        )
    except KafkaError as error:
        return dict.fromkeys(targets, error)


def expected_replicas(reassignment: ReassignmentFile, path: str | None) -> Assignment:
    """The replicas that --expect-current expects of every partition. Raises CommandFailed if a partition has none."""
    source = f"the entries of {path}" if path else '"expected_replicas"'
    found = parse_reassignment(read_file(path)).targets if path else dict(reassignment.expected)
    missing = [partition for partition, _ in reassignment.entries if partition not in found]
    if missing:
        raise CommandFailed(f"--expect-current: {source} do not say what to expect of {joined(sorted(missing), ', ')}")
    return {partition: found[partition] for partition, _ in reassignment.entries}


def _refusals(results: Results) -> dict[TopicPartition, str]:
    return {partition: error.message for partition, error in results.items() if error is not None}


def _refused(reasons: Mapping[TopicPartition, str]) -> TerseFailure:
    lines: Sequence[str] = [f"{partition}: {reasons[partition]}" for partition in sorted(reasons)]
    return TerseFailure("\n".join(["Error reassigning partition(s):", *lines]))
