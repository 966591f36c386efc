"""What `leave --export` kept in ZooKeeper mode becomes part of the state log, once: a file that the log knows changes
nothing. Where the log has a decision about a partition already, that is the later one, and stays.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS
from kafka_reassign_rpc.core.state.partition import MoveRecord, Phase
from kafka_reassign_rpc.core.state.queue_entries import StoredName, WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.cluster_seen import id_text
from kafka_reassign_rpc.kraft.ports import Look
from kafka_reassign_rpc.kraft.round_records import JOINS, Intents, Move, RoundRecord, Setting, Waiting
from kafka_reassign_rpc.leaving import kept_file
from kafka_reassign_rpc.leaving.kept_file import Kept, WrongFile
from kafka_reassign_rpc.support.bounded_text import shown
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.zookeeper.reassignments_znodes import decode_move_record
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode


class ToImport(NamedTuple):
    """digest    of what is taken in: the file may be written again
    waiting   in order
    started   moves that were in flight, with their original replicas
    settings  of all servers that this release knows, and `others`, which are not taken in
    """

    path: Path
    digest: str
    waiting: Mapping[StoredName, WaitingMove]
    started: Mapping[TopicPartition, MoveRecord]
    settings: Mapping[str, str]
    others: Mapping[str, str]

    @property
    def topics(self) -> set[str]:
        return {name.topic for name in self.started} | {topic for topic, _ in self.waiting}


class Imported(NamedTuple):
    """`text`: for the operator."""

    record: RoundRecord
    text: str


def read(path: Path, cluster_id: str) -> ToImport:
    """Blocks. Raises WrongFile, with one line."""
    file = kept_file.load(path, cluster_id)
    if file.is_new:
        raise WrongFile(f"there is no file {path}: give what `kafka-reassign-rpc leave` keeps with --export")
    kept = file.kept
    waiting = kept_file.waiting(kept)
    for topic, index in waiting:
        _check(path, topic, index)
    settings = {name: value for name, value in kept.settings.items() if _can_be_set(name, value)}
    others = {name: value for name, value in kept.settings.items() if name not in settings}
    return ToImport(path, _digest(kept), waiting, dict(_started(path, kept)), settings, others)


def _can_be_set(name: str, value: str) -> bool:
    known = SERVER_SETTINGS.get(name)
    return known is not None and known.kind.read(value) is not None


def _digest(kept: Kept) -> str:
    taken = replace(kept, history=None, configs={}, failed={}, missing={})
    return hashlib.sha256(msgspec.json.encode(taken)).hexdigest()


def _check(path: Path, topic: object, index: object) -> None:
    if not (isinstance(topic, str) and topic and isinstance(index, int) and 0 <= index <= INT32):
        raise WrongFile(f"{path}: it names a partition that cannot be")


def _started(path: Path, kept: Kept) -> Iterable[tuple[TopicPartition, MoveRecord]]:
    for entry in kept.originals.partitions:
        fields: dict[str, Any] = dict(entry)
        topic, index = fields.pop("topic", None), fields.pop("partition", None)
        _check(path, topic, index)
        data = msgspec.json.encode({"version": 1, "original_replicas": fields.pop("replicas", None), **fields})
        try:
            yield TopicPartition(topic, index), decode_move_record(data, "originals")
        except BadZnode as error:
            raise WrongFile(f"{path}: the move of {topic}-{index} cannot be understood: {error.reason}") from None


def imported(asked: ToImport, look: Look, intents: Intents, at: int) -> Imported:
    """What becomes durable, in one commit. `look`: at the topics of the file."""
    known = {name for part in intents.queue.values() for name in part.entries}
    started, over = [], 0
    for name, record in asked.started.items():
        if name in intents.moves:
            continue
        if _is_still(name, record, look):
            started.append(Move(*name, replace(record, id=None, started=None, retained=(), phase=Phase.MOVING)))
        else:
            over += 1
    moving = {(move.topic, move.partition) for move in started} | {tuple(name) for name in intents.moves}
    waiting = [
        Waiting(JOINS, *name, move) for name, move in asked.waiting.items() if name not in known and name not in moving
    ]
    waited_for = {one.topic for one in waiting if one.topic in look.topics} - {name.topic for name in intents.moves}
    round_ = RoundRecord(
        at=at,
        ids={topic: id_text(look.topics[topic].id) for topic in {move.topic for move in started} | waited_for},
        moves=started,
        waiting=waiting,
        settings=[Setting(name, value) for name, value in asked.settings.items() if name not in intents.settings],
        imported=[asked.digest],
    )
    left = len(asked.waiting) + len(asked.started) - len(waiting) - len(started) - over
    text = (
        f"{asked.path}: {counted(len(waiting), 'move')} {agreeing(len(waiting), 'wait')},"
        f" {counted(len(started), 'move')} in flight {agreeing(len(started), 'have')} their original replicas again;"
        f" {over} have ended meanwhile, and of {left} the state log has a later decision"
    )
    return Imported(round_, text)


def _is_still(name: TopicPartition, record: MoveRecord, look: Look) -> bool:
    """Whether the move that the cluster has in flight is this one, by its target and by where it came from."""
    move = look.moves.get(name)
    if move is None or name.topic not in look.topics:
        return False
    seen = SeenPartition(move.replicas, move.adding_replicas, move.removing_replicas)
    return seen.target == record.terms.target and {*seen.replicas} - {*seen.adding} == {*record.original}


def settings_text(asked: ToImport) -> str:
    """ "" where all are taken in."""
    if not asked.others:
        return ""
    named = ", ".join(f"{shown(name)}={shown(value)}" for name, value in sorted(asked.others.items()))
    return f"{asked.path}: settings that no server has, or not with this value, are not taken in: {named}"
