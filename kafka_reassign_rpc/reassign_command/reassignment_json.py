"""Reads and writes the JSON files; reports the errors of a file in the stock tool's words, and its sets in their order.

Sources: ReassignPartitionsCommand.parsePartitionReassignmentData, parseExecuteAssignmentArgs,
parseGenerateAssignmentArgs, formatAsReassignmentJson; org.apache.kafka.server.util.Json.

The order of a set is that in which Java iterates over a hash set: the stock tool prints such sets, and scripts read the
texts.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from kafka_reassign_rpc.client import Replica, TopicPartition
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed
from kafka_reassign_rpc.support.secrecy import told_path

_Element = TypeVar("_Element", bound=int | str | TopicPartition)

_LOAD_FACTOR = 0.75


def set_order(values: Iterable[_Element]) -> list[_Element]:
    """The order of a java.util.HashSet to which these values were added."""
    distinct = list(dict.fromkeys(values))
    buckets = 16
    while len(distinct) > _LOAD_FACTOR * buckets:
        buckets *= 2
    return sorted(distinct, key=lambda value: _spread(_hash_code(value)) & (buckets - 1))


def joined(values: Iterable[object], separator: str = ",") -> str:
    return separator.join(map(str, values))


def _hash_code(value: int | str | TopicPartition) -> int:
    if isinstance(value, int):
        return value & 0xFFFFFFFF
    if isinstance(value, tuple):  # org.apache.kafka.common.TopicPartition
        topic, partition = value
        return (31 * (31 + partition) + _hash_code(topic)) & 0xFFFFFFFF
    code = 0
    units = value.encode("utf-16-be")
    for index in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[index : index + 2])) & 0xFFFFFFFF
    return code


def _spread(code: int) -> int:
    return code ^ (code >> 16)


ANY_LOG_DIR = "any"
_HOLDS = ("held", "unapproved_since")
_INT32 = 2**31

T = TypeVar("T", int, str)

Assignment = dict[TopicPartition, tuple[int, ...]]


@dataclass(frozen=True)
class ReassignmentFile:
    """The content of --reassignment-json-file, possibly with duplicates.

    log_dirs    by replica: the log dir that the file asks for
    expected    by partition: its `expected_replicas`, where the entry has them
    held        partitions whose entry says that it is held or waits for approval, as the queue of `leave --export` does
    """

    entries: Sequence[tuple[TopicPartition, tuple[int, ...]]]
    log_dirs: Mapping[Replica, str]
    expected: Mapping[TopicPartition, tuple[int, ...]]
    held: Sequence[TopicPartition] = ()

    @property
    def targets(self) -> Assignment:
        return dict(self.entries)

    @property
    def target_brokers(self) -> Iterable[int]:
        return (broker for _, replicas in self.entries for broker in replicas)

    @property
    def topics(self) -> list[str]:
        return list(dict.fromkeys(partition.topic for partition, _ in self.entries))


def read_file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(
            f"Unable to read file {told_path(path)}: {getattr(error, 'strerror', None) or 'it is not UTF-8'}"
        ) from None


def parse_reassignment(text: str) -> ReassignmentFile:
    """Raises CommandFailed."""
    if not text:
        raise CommandFailed("The input string shouldn't be empty")
    try:
        document = _decode(text)
    except ValueError as error:
        raise CommandFailed(f"The input string is not a valid JSON: {error}") from None
    fields = _object(document)
    _check_version(fields)
    entries = []
    log_dirs: dict[Replica, str] = {}
    expected = {}
    held = []
    for entry in _array(fields["partitions"]) if "partitions" in fields else ():
        of_partition = _object(entry)
        topic = _string(_field(of_partition, "topic"))
        partition = TopicPartition(topic, _integer(_field(of_partition, "partition")))
        replicas = _integers(_field(of_partition, "replicas"))
        wanted = [ANY_LOG_DIR] * len(replicas)
        if "log_dirs" in of_partition:
            wanted = [_string(log_dir) for log_dir in _list(of_partition["log_dirs"])]
        if len(wanted) != len(replicas):
            raise CommandFailed(
                f"Size of replicas list [{joined(replicas, ', ')}] is different from size of log dirs list "
                f"[{joined(wanted, ', ')}] for partition {partition}"
            )
        entries.append((partition, replicas))
        for replica, log_dir in zip(replicas, wanted, strict=True):
            if log_dir != ANY_LOG_DIR:
                log_dirs[Replica(replica, *partition)] = log_dir
        if "expected_replicas" in of_partition:
            expected[partition] = _integers(of_partition["expected_replicas"])
        if any(of_partition.get(name) is not None for name in _HOLDS):
            held.append(partition)
    return ReassignmentFile(entries, log_dirs, expected, held)


def parse_executable_reassignment(text: str) -> ReassignmentFile:
    """For --execute a file is not empty and has no duplicates. Raises CommandFailed."""
    reassignment = parse_reassignment(text)
    if not reassignment.entries:
        raise CommandFailed("Partition reassignment list cannot be empty")
    if any(not replicas for _, replicas in reassignment.entries):
        raise CommandFailed("Partition replica list cannot be empty")
    twice = _duplicates([str(partition) for partition, _ in reassignment.entries])
    if twice:
        raise CommandFailed(f"Partition reassignment contains duplicate topic partitions: {joined(twice)}")
    problems = [
        f"{partition} contains multiple entries for {joined(set_order(_duplicates(replicas)))}"
        for partition, replicas in reassignment.entries
        if _duplicates(replicas)
    ]
    if problems:
        raise CommandFailed(f"Partition replica lists may not contain duplicate entries: {'. '.join(problems)}")
    if reassignment.held:
        raise CommandFailed(
            "Nothing was started: the file says that moves are held or wait for approval: "
            f"{joined(reassignment.held, ', ')}. Take these out, or their {' and '.join(_HOLDS)} to start them all"
            " the same"
        )
    return reassignment


def parse_topics(text: str) -> list[str]:
    """The topics of --topics-to-move-json-file. Raises CommandFailed."""
    try:
        document = _decode(text)
    except ValueError:
        raise CommandFailed("The input string is not a valid JSON") from None
    fields = _object(document)
    _check_version(fields)
    topics = [_string(_field(_object(one), "topic")) for one in _array(fields.get("topics", []))]
    twice = _duplicates(topics)
    if twice:
        raise CommandFailed(
            f"List of topics to reassign contains duplicate entries: [{joined(set_order(twice), ', ')}]"
        )
    return topics


def parse_brokers(text: str) -> list[int]:
    """The ids of --broker-list. Raises CommandFailed."""
    words = text.split(",")
    while text and words and not words[-1]:  # as String.split
        words.pop()
    brokers = []
    for word in words:
        digits = word[1:] if word[:1] in ("-", "+") else word
        if not (digits.isascii() and digits.isdigit() and -_INT32 <= int(word) < _INT32):
            raise CommandFailed(f'For input string: "{word}"')
        brokers.append(int(word))
    twice = _duplicates(brokers)
    if twice:
        raise CommandFailed(f"Broker list contains duplicate entries: [{joined(set_order(twice), ', ')}]")
    return brokers


def format_assignment(
    assignment: Mapping[TopicPartition, Sequence[int]], log_dirs: Mapping[Replica, str] | None = None
) -> str:
    """One line in the form of --reassignment-json-file."""
    return compact(assignment_document(assignment, log_dirs))


def assignment_document(
    assignment: Mapping[TopicPartition, Sequence[int]], log_dirs: Mapping[Replica, str] | None = None
) -> dict[str, Any]:
    """`log_dirs`: where replicas lie; of all others any log dir will do."""
    known = log_dirs or {}
    return {
        "version": 1,
        "partitions": [
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "replicas": list(replicas),
                "log_dirs": [known.get(Replica(broker, *partition), ANY_LOG_DIR) for broker in replicas],
            }
            for partition, replicas in sorted(assignment.items())
        ],
    }


def compact(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _decode(text: str) -> Any:
    """Ignores text after the first JSON value, as the stock tool does."""
    document, _ = json.JSONDecoder(parse_constant=_no_constant).raw_decode(text.lstrip(" \t\r\n\ufeff"))
    return document


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _check_version(fields: Mapping[str, Any]) -> None:
    version = _integer(fields["version"]) if "version" in fields else 1
    if version != 1:
        raise CommandFailed(f"Not supported version field value {version}")


def _field(fields: Mapping[str, Any], name: str) -> Any:
    if name not in fields:
        raise CommandFailed(f"No such field exists: `{name}`")
    return fields[name]


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CommandFailed(f"Expected JSON object, received {compact(value)}")
    return value


def _array(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise CommandFailed(f"Expected JSON array, received {compact(value)}")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise CommandFailed(f"Expected `JSON array` value, received {compact(value)}")
    return value


def _integers(value: Any) -> tuple[int, ...]:
    return tuple(_integer(one) for one in _list(value))


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -_INT32 <= value < _INT32:
        raise CommandFailed(f"Expected `Integer` value, received {compact(value)}")
    return value


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise CommandFailed(f"Expected `String` value, received {compact(value)}")
    return value


def _duplicates(values: Iterable[T]) -> list[T]:
    return [value for value, count in Counter(values).items() if count > 1]
