"""--verify: shows which moves of a file are completed; when no move is in flight it clears the throttles."""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_reassign_rpc.client import KafkaError, PartitionReassignment, TopicPartition
from kafka_reassign_rpc.reassign_command import log_dir_moves, set_and_clear_throttles
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, partition_fields
from kafka_reassign_rpc.reassign_command.command_errors import from_server
from kafka_reassign_rpc.reassign_command.reassignment_json import Assignment, joined, parse_reassignment, read_file

UNKNOWN_TOPIC_OR_PARTITION = 3


MOVING, COMPLETED, NOT_AS_PLANNED = "in progress", "completed", "not as planned"


class EntryState(NamedTuple):
    """The state of an entry of the file, and the replicas that the partition has now: none if it does not exist."""

    word: str
    text: str
    replicas: tuple[int, ...]


def _at_rest(partition: TopicPartition, current: tuple[int, ...], target: tuple[int, ...]) -> EntryState:
    if current == target:
        return EntryState(COMPLETED, f"Reassignment of partition {partition} is completed.", current)
    text = (
        f"There is no active reassignment of partition {partition}, but replica set is {joined(current)} "
        f"rather than {joined(target)}."
    )
    return EntryState(NOT_AS_PLANNED, text, current)


def run(context: ActionContext) -> None:
    reassignment = parse_reassignment(read_file(context.options.value("reassignment-json-file") or ""))
    in_flight = context.client.list_partition_reassignments()
    states = find_states(context, reassignment.targets, in_flight)
    output = context.output
    output.line("\n".join(["Status of partition reassignment:", *(states[p].text for p in sorted(states))]))
    log_dirs = log_dir_moves.states(context, reassignment.log_dirs)
    output.line(log_dir_moves.text(log_dirs))
    output.collect(
        partitions=[
            {**partition_fields(p), "state": one.word, "replicas": one.replicas, "target": reassignment.targets[p]}
            for p, one in sorted(states.items(), key=lambda item: item[0])
        ],
        log_dirs=[
            {
                **partition_fields(replica.topic_partition),
                "broker": replica.broker,
                "log_dir": state.found.current,
                "moving_to": state.found.future,
                "target": state.target,
            }
            for replica, state in sorted(log_dirs.items(), key=lambda item: item[0])
        ],
        reassignments_in_flight=len(in_flight),
    )
    still = bool(in_flight) or any(not state.is_done for state in log_dirs.values())
    if not still and not context.options.has("preserve-throttles"):
        set_and_clear_throttles.clear(context, reassignment.target_brokers, reassignment.topics).raise_first()


def find_states(
    context: ActionContext, targets: Assignment, in_flight: Mapping[TopicPartition, PartitionReassignment]
) -> dict[TopicPartition, EntryState]:
    resting = [partition for partition in targets if partition not in in_flight]
    topics = context.client.describe_topics(dict.fromkeys(partition.topic for partition in resting))
    states = {}
    for partition, target in targets.items():
        if partition in in_flight:
            text = f"Reassignment of partition {partition} is still in progress."
            states[partition] = EntryState(MOVING, text, in_flight[partition].replicas)
            continue
        topic = topics[partition.topic]
        if isinstance(topic, KafkaError):
            if topic.code != UNKNOWN_TOPIC_OR_PARTITION:
                raise from_server(topic)
            topic = {}
        found = topic.get(partition.partition)
        states[partition] = _at_rest(partition, found.replicas if found else (), target)
    return states
