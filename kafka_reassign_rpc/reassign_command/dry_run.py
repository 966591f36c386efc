"""What --dry-run shows in place of starting moves."""

from collections.abc import Mapping

from kafka_reassign_rpc.client import MoveTerms, PartitionReassignment, TopicPartition, text_format
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.action_describe_topic import brokers, comes_and_goes
from kafka_reassign_rpc.reassign_command.leader_sizes import leader_sizes
from kafka_reassign_rpc.reassign_command.output import partition_fields
from kafka_reassign_rpc.reassign_command.reassignment_json import Assignment

NOTHING_CHANGED = "Nothing was changed: this is a dry run. The controller has not been asked."


def show(context: ActionContext, targets: Assignment, current: Assignment) -> None:
    leaders = {name: one.leader for name, one in context.partitions({name.topic for name in targets}).items()}
    sizes = leader_sizes(context.client, {name: leaders[name] for name in targets})
    documents = []
    for name, target in sorted(targets.items()):
        adding = tuple(broker for broker in target if broker not in current[name])
        removing = tuple(broker for broker in current[name] if broker not in target)
        copied = len(adding) * sizes[name] if name in sizes else None
        amount = f"{'an unknown size' if copied is None else text_format.size(copied)} to copy"
        change = comes_and_goes(PartitionReassignment(target, adding, removing))
        if not adding and not removing and target == current[name]:
            change = "as it is"
        parts = [change, amount] if adding else [change]
        context.output.line(f"{name}: {brokers(current[name])} -> {brokers(target)}: {', '.join(parts)}")
        documents.append(
            {
                **partition_fields(name),
                "replicas": current[name],
                "target": target,
                "adding_replicas": adding,
                "removing_replicas": removing,
                "bytes": copied if adding else 0,
            }
        )
    context.output.line(NOTHING_CHANGED)
    context.output.collect(dry_run=documents)


def refused(
    moves: Mapping[TopicPartition, MoveTerms], before: Assignment, current: Assignment, *, may_change: bool
) -> dict[TopicPartition, str]:
    """Says what the options of this command line make the controller refuse.

    before     replicas without those that a move in flight adds: the replication factor is theirs
    current    all replicas: the controller compares these with the expected ones
    """
    why = {}
    for name, terms in moves.items():
        if not may_change and len(terms.target) != len(before[name]):
            why[name] = f"The replication factor is changed from {len(before[name])} to {len(terms.target)}"
        elif terms.expected is not None and terms.expected != current[name]:
            why[name] = f"It has the replicas {brokers(current[name])}, not {brokers(terms.expected)} as expected"
    return why
