"""The file of `--export` keeps what a stock controller has no place for.

    partitions   moves that waited, in order, as for `kafka-reassign --reassignment-json-file`
    originals    of moves in flight: the replicas to which a cancel would have taken them
    settings     of all servers, self-healing's too
    history      as `kafka-reassign --status --json` has it; null where no server of ours has told it

What it has stays: a run that was killed goes on with a queue that is half gone.
"""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kafka_reassign_rpc.core.server_settings import divided
from kafka_reassign_rpc.core.state.partition import BATCH, REQUEST
from kafka_reassign_rpc.leaving.facts import Facts
from kafka_reassign_rpc.support import atomic_files
from kafka_reassign_rpc.support.bounded_files import read_bounded

VERSION = 1
MAX_BYTES = 1 << 30


class WrongFile(ValueError):
    """The file is none of ours, or of another cluster."""


class Moves(msgspec.Struct):
    version: int = VERSION
    partitions: list[dict[str, Any]] = []


class Kept(msgspec.Struct):
    cluster: str
    version: int = VERSION
    partitions: list[dict[str, Any]] = []
    originals: Moves = msgspec.field(default_factory=Moves)
    settings: dict[str, str] = {}
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
    return KeptFile(path, kept)


def save(file: KeptFile) -> None:
    """Raises OSError."""
    data = msgspec.json.format(msgspec.json.encode(file.kept), indent=1)
    atomic_files.write_file(file.path, [data, b"\n"], sync=True)


def with_facts(kept: Kept, facts: Facts) -> Kept:
    cluster = facts.state.cluster
    waiting = [
        _entry(name, move.target, move.route, move.reason, move.throttle)
        for name, move in cluster.queue.first(len(cluster.queue))
    ]
    if cluster.batch is not None:
        waiting += [
            _entry(name, entry.target, BATCH)
            for name, entry in cluster.batch.entries.items()
            if name.partition not in cluster.moving.get(name.topic, ())
        ]
    for request in facts.requests.values():
        waiting += [_entry(name, target, REQUEST) for name, target in request.targets.items()]
    moving = []
    for topic, indexes in cluster.moving.items():
        for index in indexes:
            partition = cluster.get(topic, index)
            if partition is not None and partition.move is not None:
                moving.append(_entry((topic, index), partition.original, partition.move.route, partition.move.reason))
    own, _ = divided(cluster.default_configs)
    return Kept(
        kept.cluster,
        partitions=_merged(kept.partitions, waiting),
        originals=Moves(partitions=_merged(kept.originals.partitions, moving)),
        settings={**kept.settings, **own, **cluster.settings},
        history=kept.history,
    )


def _entry(
    name: tuple[str, int], replicas: tuple[int, ...], route: str, reason: str = "", throttle: int = -1
) -> dict[str, Any]:
    more = {"route": route, "reason": reason, "throttle": throttle}
    wanted = {key: value for key, value in more.items() if value not in ("", -1)}
    return {"topic": name[0], "partition": name[1], "replicas": list(replicas), **wanted}


def _merged(kept: list[dict[str, Any]], found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The later entry of a partition counts, in the place of the first."""
    entries = {(one.get("topic"), one.get("partition")): one for one in (*kept, *found)}
    return list(entries.values())
