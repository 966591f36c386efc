"""`kafka-reassign describe`: shows each move in flight as KIP-240 describes it, with its progress.

Then come the moves in the queue. Moves of one request are together.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count, groupby
from typing import Any

from kafka_reassign_rpc.client import (
    NO_THROTTLE,
    LogDirProgressTracker,
    PartitionReassignment,
    Progress,
    ReassignmentClient,
    ReassignmentDescription,
    TopicPartition,
    UnsupportedHere,
    text_format,
)
from kafka_reassign_rpc.client.move_progress import Listed, read_progress
from kafka_reassign_rpc.reassign_command import action_list
from kafka_reassign_rpc.reassign_command.action_context import ActionContext, partition_fields
from kafka_reassign_rpc.reassign_command.command_errors import TerseFailure
from kafka_reassign_rpc.reassign_command.subcommands import OurCommand
from kafka_reassign_rpc.support.bounded_text import printable
from kafka_reassign_rpc.support.counted import plural
from kafka_reassign_rpc.support.text_table import wrapped

Sizes = Mapping[TopicPartition, Progress]

WIDTH = 80
"""Columns of a line; the name of a topic may be longer."""
MOVES_PER_PAGE = 500
SAME_REQUEST_MS = 2_000
"""Moves of one route and reason belong to one request if no two of them started further apart than this."""


def run(context: ActionContext) -> None:
    client, output = context.client, context.output
    try:
        found = [one for one in client.describe_reassignments().values() if one is not None]
    except UnsupportedHere as error:
        raise TerseFailure(f"{error.message} `kafka-reassign --list` and `kafka-reassign watch` work here.") from None
    listed, snapshot = read_progress(client, LogDirProgressTracker(), 0.0)
    found = [one for one in found if _is_in_flight(one, listed)]  # others have ended in between
    found.sort(key=lambda one: one.reassignment.topic_partition)
    waiting = {partition: move for partition, move in sorted(listed.items()) if move.is_waiting}
    waiting.update(snapshot.waiting_beside)
    sizes = snapshot.moves
    waits: Mapping[TopicPartition, str] = why_they_wait(client) if waiting else {}
    if not found and not waiting:
        output.line(action_list.NOTHING)
    else:
        for group in grouped(found, listed):
            output.lines(_group_lines(group, listed, sizes))
        output.lines(_waiting_lines(waiting, waits))
        for partition, progress in sorted(sizes.items()):
            if progress.stalled is not None:
                output.lines(_wrapped(f"{partition} is stalled: {progress.stalled}", ""))
    output.collect(
        reassignments=[_document(one, listed, sizes) for one in found],
        waiting=[
            {**one, "waits_for": waits.get(TopicPartition(one["topic"], one["partition"]))}
            for one in action_list.documents(waiting)
        ],
    )


def why_they_wait(client: ReassignmentClient) -> dict[TopicPartition, str]:
    """What each waiting move waits for: empty where the controller does not say."""
    found: dict[TopicPartition, str] = {}
    with suppress(UnsupportedHere):
        for offset in count(step=MOVES_PER_PAGE):
            page = client.moves(state="waiting", limit=MOVES_PER_PAGE, offset=offset)
            found |= {TopicPartition(one.topic, one.partition): one.waits_for for one in page.moves if one.waits_for}
            if offset + MOVES_PER_PAGE >= page.count:
                break
    return found


def _is_in_flight(one: ReassignmentDescription, listed: Listed) -> bool:
    move = listed.get(one.reassignment.topic_partition)
    return move is not None and move.id == one.reassignment.id


def grouped(found: Sequence[ReassignmentDescription], listed: Listed) -> list[list[ReassignmentDescription]]:
    """The oldest request comes first, its partitions in their order."""

    def kind(one: ReassignmentDescription) -> tuple[str, str]:
        move = listed[one.reassignment.topic_partition]
        return move.route, move.reason

    groups: list[list[ReassignmentDescription]] = []
    for one in sorted(found, key=lambda one: (kind(one), one.start_time)):
        last = groups[-1][-1] if groups else None
        if last is not None and kind(last) == kind(one) and one.start_time - last.start_time <= SAME_REQUEST_MS:
            groups[-1].append(one)
        else:
            groups.append([one])
    groups.sort(key=lambda group: group[0].start_time)
    return [sorted(group, key=lambda one: one.reassignment.topic_partition) for group in groups]


def _group_lines(group: Sequence[ReassignmentDescription], listed: Listed, sizes: Sizes) -> Iterator[str]:
    started = datetime.fromtimestamp(min(one.start_time for one in group) / 1000, UTC)
    moves = f"{len(group)} move{plural(len(group))}"
    first = listed[group[0].reassignment.topic_partition]
    reason = f": {first.reason}" if first.reason else ""
    yield from _wrapped(f"{moves} by {first.route}, started {started:%Y-%m-%d %H:%M:%S} UTC{reason}", "", breaks=True)
    for one in group:
        name = one.reassignment.topic_partition
        yield from _move_lines(one, listed[name], sizes.get(name))


def _move_lines(one: ReassignmentDescription, move: PartitionReassignment, progress: Progress | None) -> Iterator[str]:
    leader = (
        f"{one.current_leader} ({text_format.throttle(one.leader_throttle)})"
        if one.current_leader is not None
        else "none"
    )
    yield from _wrapped(f"{one.reassignment.topic_partition}, id {one.reassignment.id}, leader {leader}", "  ")
    if not move.adding_replicas:
        yield from _wrapped(f"nothing to copy; removes {', '.join(map(str, move.removing_replicas))}", "    ")
        return
    rates = one.new_assigned_throttles
    adding = [broker for broker in one.new_assigned_brokers if broker in move.adding_replicas]
    new = ", ".join(f"{broker} ({text_format.throttle(rates[broker])})" for broker in adding)
    copied = ""
    if progress is not None and progress.total is not None:
        done = "unknown" if progress.done is None else text_format.size(progress.done)
        copied = f"{done} of {text_format.size(progress.total)}"
        if progress.waits_for is not None:
            copied += f", waits for {progress.waits_for}"
        if progress.remaining_seconds is not None:
            copied += f", {text_format.duration(progress.remaining_seconds)} left"
        copied += "; "
    yield from _wrapped(f"{copied}to {new}", "    ")


def _waiting_lines(waiting: Listed, waits: Mapping[TopicPartition, str]) -> Iterator[str]:
    for (route, reason), moves in groupby(
        sorted(waiting.items(), key=lambda item: (item[1].route, item[1].reason, item[0])),
        lambda item: (item[1].route, item[1].reason),
    ):
        listed = list(moves)
        why = f": {reason}" if reason else ""
        yield from _wrapped(f"{len(listed)} waiting move{plural(len(listed))} by {route}{why}", "", breaks=True)
        for partition, move in listed:
            adds = ", ".join(map(str, move.adding_replicas)) or "none"
            why = f", waits for {waits[partition]}" if partition in waits else ""
            yield from _wrapped(f"{partition}, adds {adds}{why}", "  ")


def _wrapped(text: str, indent: str, *, breaks: bool = False) -> list[str]:
    """Words stay whole, such as names of topics, unless `breaks`."""
    return wrapped(printable(text), WIDTH, first=indent, following=f"{indent}  ", breaks=breaks)


def _rate(bytes_per_second: int) -> int | None:
    return None if bytes_per_second >= NO_THROTTLE else bytes_per_second


def _document(one: ReassignmentDescription, listed: Listed, sizes: Sizes) -> dict[str, Any]:
    name = one.reassignment.topic_partition
    move, progress = listed[name], sizes.get(name)
    return {
        **partition_fields(name),
        "id": one.reassignment.id,
        "start_time_ms": one.start_time,
        "leader": one.current_leader,
        "leader_throttle": _rate(one.leader_throttle),
        "new_assigned": [
            {
                "broker": broker,
                "throttle": _rate(rate),
                "copied_bytes": progress.copied.get(broker) if progress else None,
            }
            for broker, rate in one.new_assigned_throttles.items()
        ],
        "adding_replicas": move.adding_replicas,
        "removing_replicas": move.removing_replicas,
        "total_bytes": progress.total if progress else None,
        "bytes_per_second": progress.rate if progress else None,
        "remaining_seconds": progress.remaining_seconds if progress else None,
        "stalled": progress.stalled if progress else None,
        "route": move.route,
        "reason": move.reason,
    }


COMMAND = OurCommand(
    "describe",
    "show each move in flight and in the queue",
    "Shows each active reassignment: when it started, its route, leader and throttles, the bytes copied and the "
    "remaining time.",
    lambda context, _: run(context),
)
