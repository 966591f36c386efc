"""--execute and --execute-queue: start moves, or put them into the controller's queue; --dry-run only shows them."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.client import (
    KafkaError,
    MoveTerms,
    ReassignmentClient,
    Replica,
    TopicPartition,
    throttle_configs,
)
from kafka_reassign_rpc.client.reassignment_calls import NO_REPLICATION_FACTOR_GUARD, Results, needs_our_server
from kafka_reassign_rpc.client.standing_rates import rated_window, standing_rates
from kafka_reassign_rpc.core.state.partition import QUEUE, RPC
from kafka_reassign_rpc.core.throttling.standing_rates import StandingRates, lease_lines, stricter_document
from kafka_reassign_rpc.reassign_command import action_watch, log_dir_moves, set_and_clear_throttles
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, partition_fields
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed, TerseFailure, failure_of
from kafka_reassign_rpc.reassign_command.execute_reports import (
    ProduceRateCheck,
    refused_by_options,
    report_started,
    show_changes,
    standing,
    warn_of_racks,
    warn_of_rate,
    warn_of_targets,
)
from kafka_reassign_rpc.reassign_command.log_dir_moves import present_log_dirs
from kafka_reassign_rpc.reassign_command.reassignment_json import (
    Assignment,
    ReassignmentFile,
    assignment_document,
    format_assignment,
    joined,
    parse_executable_reassignment,
    parse_reassignment,
    read_file,
    set_order,
)

ALREADY_MOVING = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a "
    "new partition assignment in addition to the existing one. The --additional flag can also be used to change the "
    "throttle by resubmitting the current reassignment."
)

REFUSED = "Error reassigning partition(s)"
NO_LOG_DIRS = (
    "--execute-queue cannot place replicas in log dirs, for they are not there before their move starts: take "
    '"log_dirs" out of the file, and use --execute with it once --verify-queue says that all is done.'
)


def run(context: ActionContext) -> None:
    execute(context, of_file(context), queue=False)


def of_file(context: ActionContext) -> ReassignmentFile:
    return parse_executable_reassignment(read_file(context.options.value("reassignment-json-file") or ""))


class Wanted(NamedTuple):
    """`moves`: by partition its terms, which differ in target and expected replicas alone. `may_change`: a replication
    factor may change.
    """

    moves: Mapping[TopicPartition, MoveTerms]
    may_change: bool = True

    @property
    def terms(self) -> MoveTerms:
        """The terms of any of the moves: either all have expected replicas, or none."""
        return next(iter(self.moves.values()))


def execute(context: ActionContext, reassignment: ReassignmentFile, *, queue: bool) -> None:
    options = context.options
    if queue and reassignment.log_dirs:
        raise CommandFailed(NO_LOG_DIRS)
    wanted = _wanted(context, reassignment, queue=queue)
    lease, lifts = wanted.terms.throttle, wanted.terms.lifts
    rate, log_dir_rate = options.number("throttle"), options.number("replica-alter-log-dirs-throttle")
    timeout_ms = options.number("timeout")
    client = context.client
    in_flight = client.list_partition_reassignments()
    if in_flight and not queue and not options.has("additional"):
        raise TerseFailure(ALREADY_MOVING)
    targets = reassignment.targets
    racks = {node.id: node.rack for node in client.describe_cluster()}
    unknown = [broker for broker in set_order(reassignment.target_brokers) if broker not in racks]
    if unknown:
        raise CommandFailed(f"Unknown broker id {unknown[0]}")
    current = context.assignment_of(list(targets))
    concerned = {broker for name, target in targets.items() for broker in (*target, *current[name])}
    is_dry = options.has("dry-run")
    if not is_dry:
        _say_current(context, current, {} if queue else present_log_dirs(client, current, racks))
    # This comes before the throttles: a reassignment that the controller cannot do must leave nothing behind.
    unsupported = unsupported_option(client, wanted)
    if unsupported is not None:
        raise failure_of(REFUSED, dict.fromkeys(targets, unsupported))
    warn_of_racks(targets, current, in_flight, racks)
    have_throttle = rate >= 0 if lease is None else lease > 0
    warn_of_targets(client, targets, current, in_flight, have_throttle=have_throttle)
    again = "" if queue else "--additional and "
    warn_of_rate(options.value("throttle") or "", targets, current, is_lease=lease is not None, again=again)
    produce_rates = ProduceRateCheck(client, targets, in_flight, rate, again)
    if is_dry:
        before = {name: tuple(standing(found, in_flight.get(name))) for name, found in current.items()}
        show_changes(context, targets, before)
        if lease:
            _say_what_holds(context, lease, standing_rates(client, concerned), concerned, lifts=lifts)
        refused = refused_by_options(wanted.moves, before, current, may_change=wanted.may_change)
    else:
        of_moves = throttle_configs.all_moves(in_flight, targets, current)
        _throttle(context, reassignment, of_moves, -1 if lease is not None else rate, log_dir_rate)
        refused = _start(context, wanted, concerned)
    if refused:
        raise failure_of(REFUSED, refused)
    if is_dry:
        produce_rates.warn()
        return
    report_started(context, targets.keys(), queued=queue)
    produce_rates.warn()
    if reassignment.log_dirs:
        log_dir_moves.start(context, reassignment.log_dirs, timeout_ms)
    if options.has("watch"):
        action_watch.follow(context, list(targets))


def _say_current(context: ActionContext, current: Assignment, log_dirs: Mapping[Replica, str]) -> None:
    """`log_dirs`: where replicas lie; none for the queue, through which no way back can name them."""
    context.output.line(
        f"Current partition replica assignment\n\n{format_assignment(current, log_dirs)}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback"
    )
    context.output.collect(current=assignment_document(current, log_dirs))


def _wanted(context: ActionContext, reassignment: ReassignmentFile, *, queue: bool) -> Wanted:
    options = context.options
    lease = options.number("throttle") if options.has("lease") else None
    if lease is not None and lease < 0:
        raise CommandFailed(set_and_clear_throttles.LEASE_NEEDS_THROTTLE)
    lifts = options.has("lift-stricter")
    if lifts and not lease:
        raise CommandFailed(set_and_clear_throttles.LIFT_NEEDS_LEASE)
    expected = expected_replicas(reassignment, options.value("expect-current")) if options.has("expect-current") else {}
    route, reason = QUEUE if queue else RPC, options.value("reason") or ""
    moves = {
        name: MoveTerms(target, route, reason, lease, lifts, expected=expected.get(name))
        for name, target in reassignment.targets.items()
    }
    return Wanted(moves, may_change=not options.has("disallow-replication-factor-change"))


def _start(context: ActionContext, wanted: Wanted, brokers: Collection[int]) -> dict[TopicPartition, str]:
    """Returns why partitions were refused. `brokers`: those that the moves concern."""
    output, terms = context.output, wanted.terms
    standing_before = standing_rates(context.client, brokers) if terms.throttle else None
    former = set_and_clear_throttles.former_leases(context.client) if terms.throttle == 0 else {}
    refused = _refusals(start(context, wanted))
    if terms.throttle is not None and len(refused) < len(wanted.moves):
        output.collect(throttle=terms.throttle, lease=True)
        if standing_before is None:
            output.line(set_and_clear_throttles.LEASE_ENDED)
            output.lines(set_and_clear_throttles.limits_that_go_on(context.client, brokers, former, lease=0))
        else:
            _say_what_holds(context, terms.throttle, standing_before, brokers, lifts=terms.lifts)
    accepted = [partition_fields(partition) for partition in sorted(wanted.moves) if partition not in refused]
    output.collect(**{"queued" if terms.route == QUEUE else "started": accepted})
    return refused


def _say_what_holds(
    context: ActionContext, lease: int, standing: StandingRates, brokers: Collection[int], *, lifts: bool
) -> None:
    context.output.lines(lease_lines(lease, standing, brokers, lifts=lifts))
    window = rated_window(context.client)
    if window is not None:
        context.output.line(f"The rate of the window goes before it: {window.now}.")
    context.output.collect(stricter=stricter_document(lease, standing, lifts=lifts))


def _throttle(
    context: ActionContext,
    reassignment: ReassignmentFile,
    of_moves: throttle_configs.Moves,
    rate: int,
    log_dir_rate: int,
) -> None:
    """These throttles stay until --verify clears them. A rate below 0: no throttle."""
    if rate < 0 and log_dir_rate < 0:
        return
    context.output.line(set_and_clear_throttles.VERIFY_LATER)
    if rate >= 0:
        set_and_clear_throttles.throttle_replication(context, of_moves, rate)
        context.output.collect(throttle=rate)
    if log_dir_rate >= 0:
        set_and_clear_throttles.throttle_log_dirs(
            context, (replica.broker for replica in reassignment.log_dirs), log_dir_rate
        )
        context.output.collect(replica_alter_log_dirs_throttle=log_dir_rate)


def unsupported_option(client: ReassignmentClient, wanted: Wanted) -> str | None:
    """None if the controller can do what the options ask for."""
    if not wanted.may_change and not client.can_forbid_replication_factor_change():
        return NO_REPLICATION_FACTOR_GUARD
    needed = needs_our_server(wanted.terms)
    return needed if needed is not None and not client.can_compare_replicas() else None


def start(context: ActionContext, wanted: Wanted) -> Results:
    """An error of the whole request counts for every partition, as in Java."""
    try:
        return context.client.alter_partition_reassignments(
            wanted.moves, allow_replication_factor_change=wanted.may_change
        )
    except KafkaError as error:
        return dict.fromkeys(wanted.moves, error)


def expected_replicas(reassignment: ReassignmentFile, path: str | None) -> Assignment:
    """Raises CommandFailed if --expect-current says nothing of a partition."""
    source = f"the entries of {path}" if path else '"expected_replicas"'
    found = parse_reassignment(read_file(path)).targets if path else dict(reassignment.expected)
    missing = [partition for partition, _ in reassignment.entries if partition not in found]
    if missing:
        raise CommandFailed(f"--expect-current: {source} do not say what to expect of {joined(sorted(missing), ', ')}")
    return {partition: found[partition] for partition, _ in reassignment.entries}


def _refusals(results: Results) -> dict[TopicPartition, str]:
    return {partition: error.message for partition, error in results.items() if error is not None}
