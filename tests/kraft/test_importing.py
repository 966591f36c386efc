"""kr-11: what `leave --export` kept is taken into the state log, once, and nonsense is refused in one line."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest

from kafka_reassign_rpc.client.result_values import PartitionInfo, PartitionReassignment
from kafka_reassign_rpc.core.settings.reassignment_settings import MAX_PER_BROKER, MAX_PER_CLUSTER
from kafka_reassign_rpc.core.state.partition import QUEUE, MoveRecord, MoveTerms, Phase
from kafka_reassign_rpc.core.state.queue_entries import Held, WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft import importing, round_records
from kafka_reassign_rpc.kraft.cluster_seen import id_text
from kafka_reassign_rpc.kraft.ports import Look, LookedTopic
from kafka_reassign_rpc.kraft.round_records import Intents
from kafka_reassign_rpc.leaving.kept_file import Kept, KeptFile, Moves, WrongFile, save
from kafka_reassign_rpc.zookeeper.reassign_partitions_znode import QueuePartContent

CLUSTER, NOW, OFFSET = "c1", 1_700_000_000_000, 7
FIRST, HELD, MOVING = (TopicPartition("t", index) for index in range(3))
WAITING = {
    ("t", 0): WaitingMove(MoveTerms((3, 2), QUEUE, "grow", 5_000), origin=(1, 2)),
    ("t", 1): WaitingMove(MoveTerms((3, 1), QUEUE), Held(9, "ann", "not yet"), origin=(2, 1)),
}
IN_FLIGHT = {
    "topic": "t",
    "partition": 2,
    "replicas": [2, 1],
    "target": [1, 3],
    "route": QUEUE,
    "reason": "a new broker",
    "throttle": 9_000,
}


def kept(**more: Any) -> Kept:
    content = QueuePartContent()
    for name, move in WAITING.items():
        content.add(name, move)
    queue = msgspec.json.decode(content.encode())
    return Kept(CLUSTER, queue=queue, originals=Moves(partitions=[IN_FLIGHT]), **more)


def written(path: Path, of: Kept) -> Path:
    save(KeptFile(path, of))
    return path


def look(move: PartitionReassignment | None) -> Look:
    partitions = {index: PartitionInfo(1, (1, 2), (1, 2), 0) for index in range(3)}
    moves = {} if move is None else {MOVING: move}
    return Look({}, {"t": LookedTopic(UUID(int=5), partitions)}, moves)


def taken(path: Path, move: PartitionReassignment | None, intents: Intents) -> str:
    """As a server does: encoded, decoded, replayed."""
    record, text = importing.imported(importing.read(path, CLUSTER), look(move), intents, NOW)
    for _, data in round_records.documents(record):
        for _ in intents.apply(round_records.decode(data), OFFSET):
            pass
    return text


def test_kr_11_the_queue_keeps_its_order_its_terms_and_what_is_held(tmp_path: Path) -> None:
    intents = Intents()
    taken(written(tmp_path / "left.json", kept()), None, intents)
    [part] = intents.queue.values()
    assert list(part.entries.items()) == list(WAITING.items())


@pytest.mark.parametrize(
    ("move", "is_ours"),
    [
        (PartitionReassignment((1, 3, 2), (3,), (2,)), True),
        (PartitionReassignment((1, 4, 2), (4,), (2,)), False),
        (PartitionReassignment((1, 3, 4), (3,), (4,)), False),
        (None, False),
    ],
    ids=["to our target", "to another target", "from elsewhere", "ended"],
)
def test_kr_11_a_move_that_the_cluster_still_carries_out_has_its_original_order_and_its_lease_again(
    tmp_path: Path, move: PartitionReassignment | None, is_ours: bool
) -> None:
    intents = Intents()
    text = taken(written(tmp_path / "left.json", kept()), move, intents)
    assert (MOVING in intents.moves) == is_ours
    assert ("1 move in flight has" if is_ours else "1 have ended meanwhile") in text
    if is_ours:
        record = intents.moves[MOVING]
        assert (record.original, record.phase, record.id) == ((2, 1), Phase.MOVING, OFFSET)
        assert (record.terms.target, record.terms.throttle, record.terms.reason) == ((1, 3), 9_000, "a new broker")
        assert intents.ids["t"]


@pytest.mark.parametrize(("moves", "is_of_file"), [((), True), ((MOVING,), False)], ids=["ended", "in flight"])
def test_kr_6_what_waits_is_kept_with_the_id_of_its_topic_and_not_with_that_of_moves_that_have_ended(
    tmp_path: Path, moves: tuple[TopicPartition, ...], is_of_file: bool
) -> None:
    """Else another topic of the name would get it after an outage, or a term would end it at once. Moves of a former
    topic end before the log has the id of the next one.
    """
    intents, former = Intents(), id_text(UUID(int=4))
    began = MoveRecord(MoveTerms((3, 2)), (1, 2), phase=Phase.MOVING)
    record = round_records.RoundRecord(
        at=1, ids={"t": former}, moves=[round_records.Move(*name, began) for name in moves]
    )
    for _ in intents.apply(record, 3):
        pass
    taken(written(tmp_path / "left.json", kept()), None, intents)
    assert intents.ids == {"t": id_text(UUID(int=5)) if is_of_file else former}


def test_kr_11_a_later_decision_of_the_state_log_stays(tmp_path: Path) -> None:
    intents, path = Intents(), written(tmp_path / "left.json", kept())
    later = WaitingMove(MoveTerms((4, 5), QUEUE))
    record = round_records.RoundRecord(at=1, waiting=[round_records.Waiting(-1, *FIRST, later)])
    for _ in intents.apply(record, 3):
        pass
    assert "of 1 the state log has a later decision" in taken(path, None, intents)
    assert {name: move for part in intents.queue.values() for name, move in part.entries.items()} == {
        tuple(FIRST): later,
        tuple(HELD): WAITING["t", 1],
    }


def test_kr_11_the_state_log_remembers_a_file_over_snapshots_however_it_is_written_again(tmp_path: Path) -> None:
    intents, path = Intents(), written(tmp_path / "left.json", kept())
    taken(path, None, intents)
    again = Intents()
    for record in intents.snapshot(NOW):
        for _ in again.apply(round_records.decode(round_records.encode(record)), 50):
            pass
    path.write_bytes(msgspec.json.encode(kept(history=[], failed={"1": 5})))
    assert importing.read(path, CLUSTER).digest in again.imported


def test_kr_11_settings_are_taken_in_and_those_that_no_server_can_have_are_named(tmp_path: Path) -> None:
    path = written(tmp_path / "left.json", kept(settings={MAX_PER_CLUSTER: "3", MAX_PER_BROKER: "many", "odd": "1"}))
    intents = Intents()
    taken(path, None, intents)
    assert intents.set_now == {MAX_PER_CLUSTER: "3"}
    text = importing.settings_text(importing.read(path, CLUSTER))
    assert [one in text for one in (MAX_PER_BROKER, "odd", MAX_PER_CLUSTER)] == [True, True, False]
    assert importing.settings_text(importing.read(written(path, kept()), CLUSTER)) == ""


def spoiled(change: Callable[[dict[str, Any]], object]) -> bytes:
    document = msgspec.json.decode(msgspec.json.encode(kept()))
    change(document)
    return msgspec.json.encode(document)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (None, "there is no file"),
        (b"", "is no file of leave"),
        (b"[]", "is no file of leave"),
        (b'{"version":1,"partitions":[]}', "is no file of leave"),
        (spoiled(lambda one: one.update(cluster="other")), "is of cluster other, this one is c1"),
        (spoiled(lambda one: one.update(queue={"version": 9})), "cannot be understood"),
        (spoiled(lambda one: one["queue"]["partitions"][0].update(replicas="x")), "cannot be understood"),
        (spoiled(lambda one: one["originals"]["partitions"][0].pop("target")), "the move of t-2 cannot be understood"),
        (spoiled(lambda one: one["originals"]["partitions"][0].update(replicas=[1, 1])), "not a replica set"),
        (spoiled(lambda one: one["originals"]["partitions"][0].update(partition=-1)), "a partition that cannot be"),
        (spoiled(lambda one: one["originals"]["partitions"][0].pop("topic")), "a partition that cannot be"),
    ],
)
def test_kr_11_nonsense_is_refused_in_one_line(tmp_path: Path, data: bytes | None, why: str) -> None:
    path = tmp_path / "left.json"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(WrongFile, match=re.escape(why)) as refused:
        importing.read(path, CLUSTER)
    assert len(str(refused.value).splitlines()) == 1
