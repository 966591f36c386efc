"""`move --leaders`: replicas change their order, so that others lead. Nothing is copied. Works with any Kafka."""

from collections.abc import Mapping

from kafka_reassign_rpc.client import MoveTerms, PartitionInfo, TopicPartition
from kafka_reassign_rpc.reassign_command import action_execute, started_moves
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.action_describe_topic import brokers
from kafka_reassign_rpc.reassign_command.command_errors import TerseFailure
from kafka_reassign_rpc.reassign_command.dry_run import NOTHING_CHANGED
from kafka_reassign_rpc.reassign_command.options import PROGRAM
from kafka_reassign_rpc.reassign_command.output import partition_fields
from kafka_reassign_rpc.reassign_command.reassignment_json import Assignment


def run(context: ActionContext, wanted: Assignment) -> None:
    """`wanted`, of one topic: all replicas in their new order, or the one that is to lead. Raises TerseFailure,
    CommandFailed.
    """
    context.assignment_of(list(wanted))
    found = context.partitions({name.topic for name in wanted})
    targets = {name: _order(found[name].replicas, first) for name, first in wanted.items()}
    moving = context.client.list_partition_reassignments(targets)
    _fail("Nothing was changed", {name: why for name in targets if (why := _problem(found[name], targets[name]))})
    _fail("Nothing was changed", dict.fromkeys(moving, "it moves: its move says who leads in the end"))
    for name, target in sorted(targets.items()):
        context.output.line(_line(name, found[name], target))
    if context.options.has("dry-run"):
        context.output.line(NOTHING_CHANGED)
        context.output.collect(dry_run=[_document(name, found[name], targets[name]) for name in sorted(targets)])
        return
    waiting = _put_in_order(context, found, targets)
    elected = context.client.elect_preferred_leaders([name for name in targets if name not in waiting])
    _fail("No election", {name: error.message for name, error in elected.items() if error is not None})
    for name in sorted(elected):
        context.output.line(f"{name}: broker {targets[name][0]} leads")
    if changed := sorted(name for name in elected if targets[name] != found[name].replicas):
        back = " ".join(f"-p {name.partition}:{brokers(found[name].replicas)}" for name in changed)
        context.output.line(f"The way back: {PROGRAM} move {changed[0].topic} {back} --leaders")
    context.output.collect(leaders=[_document(name, found[name], targets[name]) for name in sorted(elected)])


def _put_in_order(
    context: ActionContext, found: Mapping[TopicPartition, PartitionInfo], targets: Assignment
) -> frozenset[TopicPartition]:
    """Returns which wait for their new order in the controller's queue: until then, others are preferred."""
    changed = {name: target for name, target in targets.items() if target != found[name].replicas}
    if not changed:
        return frozenset()
    compares, reason = context.client.can_compare_replicas(), context.options.value("reason") or ""
    moves = {
        name: MoveTerms(target, reason=reason, expected=found[name].replicas if compares else None)
        for name, target in changed.items()
    }
    wanted = action_execute.Wanted(moves)
    unsupported = action_execute.unsupported_option(context.client, wanted)
    if unsupported is not None:
        raise TerseFailure(unsupported)
    results = action_execute.start(context, wanted)
    _fail("Error reassigning partition(s)", {name: error.message for name, error in results.items() if error})
    waiting = started_moves.waiting_of(context.client, list(changed))
    if waiting.moves:
        for line in started_moves.lines(waiting.moves, waiting):
            context.output.line(line)
    return frozenset(waiting.moves)


def _order(replicas: tuple[int, ...], first: tuple[int, ...]) -> tuple[int, ...]:
    return (*first, *(broker for broker in replicas if broker not in first)) if len(first) == 1 else first


def _problem(found: PartitionInfo, target: tuple[int, ...]) -> str | None:
    if sorted(target) != sorted(found.replicas):
        strange = [broker for broker in target if broker not in found.replicas]
        which = brokers(tuple(strange)) if strange else f"only {brokers(target)}"
        return f"its replicas are {brokers(found.replicas)}, not {which}: --leaders copies nothing"
    if target[0] not in found.isr:
        return f"broker {target[0]} is not in sync (in sync: {brokers(found.isr)})"
    return None


def _line(name: TopicPartition, found: PartitionInfo, target: tuple[int, ...]) -> str:
    leads = f"{target[0]} leads" if found.leader == target[0] else f"leader {found.leader} -> {target[0]}"
    if target == found.replicas:
        return f"{name}: {leads}, and {target[0]} is preferred already"
    return f"{name}: {leads}, replicas {brokers(found.replicas)} -> {brokers(target)}: another order"


def _document(name: TopicPartition, found: PartitionInfo, target: tuple[int, ...]) -> dict[str, object]:
    return {**partition_fields(name), "leader": found.leader, "replicas": found.replicas, "target": target}


def _fail(what: str, reasons: Mapping[TopicPartition, str]) -> None:
    if reasons:
        raise TerseFailure("\n".join([f"{what}:", *(f"{name}: {reasons[name]}" for name in sorted(reasons))]))
