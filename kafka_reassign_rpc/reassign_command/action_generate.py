"""--generate and --generate-queue: print an assignment that spreads topics over brokers. They change nothing."""

import random
from collections.abc import Callable, Collection

from kafka_reassign_rpc.client import ClusterNode, ReassignmentClient, TopicPartition
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.topics.replica_placement import placements
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, say
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed
from kafka_reassign_rpc.reassign_command.log_dir_moves import present_log_dirs
from kafka_reassign_rpc.reassign_command.reassignment_json import (
    Assignment,
    assignment_document,
    format_assignment,
    parse_brokers,
    parse_topics,
    read_file,
)

SOME_BROKERS_WITHOUT_RACK = (
    "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica assignment "
    "without rack information."
)

RandomBelow = Callable[[int], int]
"""A random number below the given one."""


def run(context: ActionContext) -> None:
    generate(context, {})


def generate(context: ActionContext, coming: Assignment) -> None:
    """`coming`: the targets of partitions that move or wait; they count in place of the present replicas."""
    options = context.options
    text = read_file(options.value("topics-to-move-json-file") or "")
    wanted = parse_brokers(options.value("broker-list") or "")
    topics = parse_topics(text)
    current: Assignment = {
        TopicPartition(name, index): info.replicas
        for name, partitions in context.topics(topics).items()
        for index, info in partitions.items()
    }
    nodes = _brokers(context.client, wanted)
    foreseen = {partition: coming.get(partition, replicas) for partition, replicas in current.items()}
    proposed = propose(foreseen, nodes, rack_aware=not options.has("disable-rack-aware"))
    output = context.output
    live = {node.id for node in context.client.describe_cluster()}
    lie = present_log_dirs(context.client, current, live)
    output.line(f"Current partition replica assignment\n{format_assignment(current, lie)}\n")
    output.line(f"Proposed partition reassignment configuration\n{format_assignment(proposed)}")
    output.collect(current=assignment_document(current, lie), proposed=assignment_document(proposed))


def _brokers(client: ReassignmentClient, wanted: Collection[int]) -> list[ClusterNode]:
    """Leaves out our servers, which are nodes too but hold no replicas."""
    nodes = [node for node in client.describe_cluster() if node.id in wanted]
    servers = client.servers_among(node.id for node in nodes)
    if servers:
        left_out = ", ".join(map(str, sorted(servers)))
        say(f"Warning: --broker-list: {left_out} is left out: a reassignment server, which is no broker.")
    return [node for node in nodes if node.id not in servers]


def propose(
    current: Assignment,
    nodes: list[ClusterNode],
    *,
    rack_aware: bool,
    below: RandomBelow = random.randrange,
) -> Assignment:
    """Each topic keeps the replication factor of its first partition. Raises CommandFailed."""
    racks = {node.id: node.rack if rack_aware else None for node in nodes}
    if len({rack is None for rack in racks.values()}) > 1:
        raise CommandFailed(SOME_BROKERS_WITHOUT_RACK)
    brokers = [Broker(id=node, epoch=-1, endpoints=(), rack=rack) for node, rack in racks.items()]
    by_topic: dict[str, list[tuple[int, ...]]] = {}
    for partition in sorted(current):
        by_topic.setdefault(partition.topic, []).append(current[partition])
    proposed: Assignment = {}
    for topic, replicas in by_topic.items():
        size = max(1, len(brokers))
        try:
            placed = dict(placements(brokers, len(replicas), len(replicas[0]), start=below(size), shift=below(size)))
        except KafkaError as error:
            raise CommandFailed(error.message) from None
        proposed |= {TopicPartition(topic, index): target for index, target in placed.items()}
    return proposed
