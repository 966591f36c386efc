"""The file of `--export`, with what a stock controller has no place for.

    partitions   moves that waited and might start, in order, as for `kafka-reassign --reassignment-json-file`
    queue        all moves that waited, in order and with all that was said of them, as the znode
                 `/admin/reassign_partitions_queue` holds them: from there a server goes on, and what was held is held
    originals    of moves in flight: the replicas to which a cancel would have taken them, and the rest of their record
    settings     of all servers, self-healing's too
    configs      dynamic configs of the servers' own ids, without passwords
    failed       since when brokers are gone, ms since 1970
    missing      by topic and partition: replicas for which no broker was free
    history      as `kafka-reassign status --json` has it; null where no server of ours has sent it

What it has stays: a run that was killed goes on with a queue that is half gone.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.config_values import DEFAULT
from kafka_reassign_rpc.core.configs.config_definitions import is_password
from kafka_reassign_rpc.core.reassignment.move_sums import origin_of
from kafka_reassign_rpc.core.settings.server_settings import divided
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import MoveRecord
from kafka_reassign_rpc.core.state.queue_entries import StoredName, WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition, names_in
from kafka_reassign_rpc.leaving.facts import Facts
from kafka_reassign_rpc.support import files
from kafka_reassign_rpc.support.files import read_bounded
from kafka_reassign_rpc.zookeeper.reassign_partitions_znode import QueuePartContent, decode_queue
from kafka_reassign_rpc.zookeeper.reassignments_znodes import encode_move_record
from kafka_reassign_rpc.zookeeper.znode_contents import decode_config
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode

VERSION = 1
MAX_BYTES = 1 << 30


class WrongFile(ValueError):
    """The file is none of ours, or of another cluster."""


class Moves(msgspec.Struct):
    version: int = VERSION
    partitions: list[dict[str, Any]] = []


class Kept(msgspec.Struct):
    """`queue`: see `waiting`; None: written by a version that kept only `partitions`."""

    cluster: str
    version: int = VERSION
    partitions: list[dict[str, Any]] = []
    queue: dict[str, Any] | None = None
    originals: Moves = msgspec.field(default_factory=Moves)
    settings: dict[str, str] = {}
    configs: dict[str, dict[str, str]] = {}
    failed: dict[str, int] = {}
    missing: dict[str, dict[str, int]] = {}
    history: Any = None


class KeptFile(NamedTuple):
    path: Path
    kept: Kept
    is_new: bool = False


def load(path: Path, cluster: str) -> KeptFile:
    """Raises WrongFile."""
    try:
        data = read_bounded(path, MAX_BYTES)
    except FileNotFoundError:
        return KeptFile(path, Kept(cluster), is_new=True)
    except OSError as error:
        raise WrongFile(f"{path} cannot be read: {error.strerror or error}") from None
    try:
        kept = msgspec.json.decode(data, type=Kept)
    except msgspec.MsgspecError as error:
        raise WrongFile(f"{path} exists, and is no file of leave: {error}") from None
    if kept.version != VERSION or kept.cluster != cluster:
        raise WrongFile(f"{path} is of cluster {kept.cluster}, this one is {cluster}")
    try:
        waiting(kept)
    except ValueError as error:
        raise WrongFile(f"{path}: what it keeps of the queue cannot be understood: {error}") from None
    return KeptFile(path, kept)


def save(file: KeptFile) -> None:
    """Raises OSError."""
    data = msgspec.json.format(msgspec.json.encode(file.kept), indent=1)
    files.write_file(file.path, [data, b"\n"], sync=True)


def waiting(kept: Kept) -> dict[StoredName, WaitingMove]:
    """The moves that waited, in order. Raises ValueError: no entry is left out in silence."""
    queue = {"version": kept.version, "partitions": kept.partitions} if kept.queue is None else kept.queue
    try:
        found = decode_queue(msgspec.json.encode(queue), "queue")
    except BadZnode as error:
        raise ValueError(error.reason) from None
    if found.problems:
        raise ValueError(found.problems[0])
    return found.entries


def with_facts(kept: Kept, facts: Facts) -> Kept:
    cluster = facts.state.cluster
    found = dict(_waiting(facts))
    moves = {**waiting(kept), **found}  # the later move of a partition counts, in the place of the first
    known = {(one.get("topic"), one.get("partition")): one for one in kept.partitions}
    own, _ = divided(cluster.default_configs)
    since = {str(broker): since for broker, since in cluster.failed.items() if since is not None}
    missing = {topic.name: {str(one): n for one, n in topic.missing.items()} for topic in cluster.topics.values()}
    return Kept(
        kept.cluster,
        partitions=[
            _entry(cluster, name, move) if name in found or name not in known else known[name]
            for name, move in moves.items()
            if move.may_start
        ],
        queue=_queue(moves),
        originals=Moves(partitions=_merged(kept.originals.partitions, _in_flight(cluster))),
        settings={**kept.settings, **own, **cluster.settings},
        configs={**kept.configs, **_configs_of_servers(facts)},
        failed={**kept.failed, **since},
        missing={**kept.missing, **{name: found for name, found in missing.items() if found}},
        history=kept.history,
    )


def with_moves(
    kept: Kept,
    found: Mapping[StoredName, WaitingMove],
    started: Mapping[TopicPartition, MoveRecord],
    settings: Mapping[str, str],
) -> Kept:
    """What waits, moves and is set in front of KRaft. Settings that a run has kept before are those of before it."""
    moves = {**waiting(kept), **found}
    in_flight = [
        {"topic": name.topic, "partition": name.partition, **_record_fields(move)} for name, move in started.items()
    ]
    return replace(
        kept,
        partitions=[
            _wanted(name, move, move.terms.expected or move.origin or ())
            for name, move in moves.items()
            if move.may_start
        ],
        queue=_queue(moves),
        originals=Moves(partitions=_merged(kept.originals.partitions, in_flight)),
        settings={**settings, **kept.settings},
    )


def _waiting(facts: Facts) -> Iterable[tuple[StoredName, WaitingMove]]:
    cluster = facts.state.cluster
    for name, move in cluster.queue.first(len(cluster.queue)):
        yield (name.topic, name.partition), move
    if cluster.batch is not None:
        for name, entry in cluster.batch.entries.items():
            partition = cluster.get(*name)
            if partition is None or not partition.is_moving or partition.target != entry.target:
                yield (name.topic, name.partition), WaitingMove(entry.terms, origin=entry.original)
    for asked in facts.requests.values():
        for name, terms in asked.items():
            yield (name.topic, name.partition), WaitingMove(terms)


def _queue(moves: Mapping[StoredName, WaitingMove]) -> dict[str, Any]:
    content = QueuePartContent()
    for name, move in moves.items():
        content.add(name, move)
    queue: dict[str, Any] = msgspec.json.decode(content.encode())
    return queue


def _entry(cluster: Cluster, name: StoredName, move: WaitingMove) -> dict[str, Any]:
    """With the replicas from which it was meant, for `--expect-current`."""
    partition = cluster.get(*name)
    now = () if partition is None else origin_of(partition)
    return _wanted(name, move, move.terms.expected or move.origin or now)


def _wanted(name: StoredName, move: WaitingMove, expected: tuple[int, ...]) -> dict[str, Any]:
    return {
        "topic": name[0],
        "partition": name[1],
        "replicas": list(move.terms.target),
        **({"expected_replicas": list(expected)} if expected else {}),
    }


def _in_flight(cluster: Cluster) -> Iterable[dict[str, Any]]:
    for topic, index in names_in(cluster.moving):
        partition = cluster.get(topic, index)
        if partition is not None and partition.move is not None:
            fields = _record_fields(partition.move)
            yield {"topic": topic, "partition": index, **fields, "replicas": list(partition.original)}


def _record_fields(move: MoveRecord) -> dict[str, Any]:
    """`replicas` are the original ones."""
    record = msgspec.json.decode(encode_move_record(move), type=dict[str, Any])
    original = record.pop("original_replicas")
    return {"replicas": original, **{key: value for key, value in record.items() if key != "version"}}


def _configs_of_servers(facts: Facts) -> dict[str, dict[str, str]]:
    """Configs by server. One that cannot be read is left out: there is nothing to keep."""
    found = {}
    for path, (data, _) in facts.configs.items():
        name = path.rpartition("/")[2]
        try:
            configs = {} if name == DEFAULT else decode_config(data, path)
        except BadZnode:
            continue
        if kept := {key: value for key, value in configs.items() if not is_password(key)}:
            found[f"brokers/{name}"] = kept
    return found


def _merged(kept: Iterable[dict[str, Any]], found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The later entry of a partition counts, in the place of the first."""
    entries = {(one.get("topic"), one.get("partition")): one for one in (*kept, *found)}
    return list(entries.values())
