"""The file of `leave --export`: what waited comes back from it as it was."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kafka_reassign_rpc.core.state.partition import BATCH, REQUEST, ROUTES, MoveRecord, MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import BatchEntry, BatchZnode, Held, QueuePart, StoredName, WaitingMove
from kafka_reassign_rpc.core.state.requesters import client, znode
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.leaving.kept_file import Kept, KeptFile, WrongFile, load, save, waiting, with_facts
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed
from kafka_reassign_rpc.reassign_command.reassignment_json import (
    parse_executable_reassignment,
    parse_reassignment,
)
from kafka_reassign_rpc.zookeeper.reassign_partitions_znode import decode_queue
from kafka_reassign_rpc.zookeeper.reassignments_znodes import decode_move_record
from tests.core.build import moving
from tests.leaving.test_steps import STAT, Found

TIMES = st.integers(0, 2**41)
REPLICAS = st.lists(st.integers(0, 99), min_size=1, max_size=4, unique=True).map(tuple)
ORIGINS = st.none() | REPLICAS
CLIENTS = st.builds(client, st.text(max_size=9), st.none() | st.text(max_size=9), st.text(max_size=9))
TERMS: dict[str, st.SearchStrategy[Any]] = {
    "target": REPLICAS,
    "route": st.sampled_from(ROUTES),
    "reason": st.text(max_size=9),
    "throttle": st.none() | st.integers(0, 2**62),
    "lifts": st.booleans(),
    "moves_per_broker": st.sampled_from([None, 1, 2**31 - 1]),
    "expected": ORIGINS,
    "by": st.none() | CLIENTS,
}
ONLY_OF_WAITING_MOVES = {"moves_per_broker", "expected"}
"""A move in flight has started."""
RECORDED = {name: drawn for name, drawn in TERMS.items() if name not in ONLY_OF_WAITING_MOVES}
MOVES = st.builds(
    WaitingMove,
    st.builds(MoveTerms, **TERMS),
    held=st.none() | st.builds(Held, TIMES, st.text(max_size=9), st.text(max_size=9)),
    unapproved=st.none() | TIMES,
    origin=ORIGINS,
)
NAMES = st.tuples(st.text("ab.", min_size=1, max_size=3), st.integers(0, 5))
QUEUES = st.dictionaries(NAMES, MOVES, max_size=6)


def with_queue(moves: dict[StoredName, WaitingMove]) -> Found:
    found = Found()
    for _ in found.cluster.queue.put(QueuePart("/q", "/q", moves, 0, 1, 1, 9)):
        pass
    return found


def test_mg_2_each_term_of_a_move_is_tried() -> None:
    assert TERMS.keys() == {*MoveTerms.__struct_fields__}


@given(QUEUES, QUEUES)
def test_mg_2_each_move_of_the_queue_comes_back_from_the_file_as_it_was_in_its_place(
    tmp_path_factory: pytest.TempPathFactory,
    first: dict[StoredName, WaitingMove],
    second: dict[StoredName, WaitingMove],
) -> None:
    """Also where a run was killed, and the next one finds some of them changed or gone."""
    file = tmp_path_factory.getbasetemp() / "left.json"
    kept = with_facts(Kept("c"), with_queue(first).result())
    for found, wanted in ((first, first), (second, {**first, **second})):
        kept = with_facts(kept, with_queue(found).result())
        save(KeptFile(file, kept))
        kept = load(file, "c").kept
        assert list(waiting(kept).items()) == list(wanted.items())
        assert decode_queue(msgspec.json.encode(kept.queue), "/q") == (wanted, []), "a server reads it from its znode"
        started = parse_reassignment(file.read_text())
        assert started.entries == [(n, one.terms.target) for n, one in wanted.items() if one.may_start], (
            "none that is held"
        )
        assert all(
            started.expected[TopicPartition(*name)] == (one.terms.expected or one.origin)
            for name, one in wanted.items()
            if one.may_start and (one.terms.expected or one.origin)
        )


@given(
    st.builds(
        MoveRecord,
        st.builds(MoveTerms, **{**RECORDED, "by": TERMS["by"] | st.just(znode("/x"))}),
        REPLICAS,
        legacy=st.booleans(),
    )
)
def test_mg_2_the_record_of_a_move_in_flight_comes_back_from_the_file_as_it_was(move: MoveRecord) -> None:
    found = Found()
    partition = replace(moving([1, 2], [2, 3]), move=replace(move, original=(1, 2)))
    found.cluster.topics["t"].partitions[0] = partition
    found.cluster.moving["t"] = {0}
    [entry] = with_facts(Kept("c"), found.result()).originals.partitions
    assert (entry.pop("topic"), entry.pop("partition")) == ("t", 0)
    record = {"version": 1, "original_replicas": entry.pop("replicas"), **entry}
    assert decode_move_record(msgspec.json.encode(record), "/r") == partition.move


def test_mg_2_the_file_has_all_else_that_goes_with_our_znodes() -> None:
    """Entries that wait while another move of their partition is in flight, requests in the order in which they were
    created, failures, places for which no broker was free, the configs of servers.
    """
    found = Found()
    found.cluster.batch = BatchZnode(
        entries={
            TopicPartition("t", 0): BatchEntry((1, 3), (1, 2)),
            TopicPartition("t", 1): BatchEntry((1, 2), (2, 3)),
        }
    )
    found.cluster.topics["t"].partitions[0] = moving([1, 2], [2, 3])
    found.cluster.moving["t"] = {0}
    found.facts["requests"] = {
        "/z": {TopicPartition("u", 0): MoveTerms((1,), BATCH)},
        "/a": {TopicPartition("u", 1): MoveTerms((2,), REQUEST), TopicPartition("u", 0): MoveTerms((3,), REQUEST)},
    }
    found.cluster.failed = {7: 1234}
    found.cluster.topics["t"].missing = {1: 2}
    configs = b'{"version":1,"config":{"ssl.keystore.password":"x","log.cleaner.threads":"2"}}'
    found.facts["configs"] = {"/config/brokers/1000": (configs, STAT), "/config/brokers/1001": (b"{", STAT)}
    kept = with_facts(Kept("c"), found.result())
    assert [(*name, move.terms.target, move.terms.route, move.origin) for name, move in waiting(kept).items()] == [
        ("t", 0, (1, 3), "batch", (1, 2)),
        ("t", 1, (1, 2), "batch", (2, 3)),
        ("u", 0, (3,), "request", None),
        ("u", 1, (2,), "request", None),
    ]
    assert kept.partitions[1] == {"topic": "t", "partition": 1, "replicas": [1, 2], "expected_replicas": [2, 3]}
    assert (kept.failed, kept.missing) == ({"7": 1234}, {"t": {"1": 2}})
    assert kept.configs == {"brokers/1000": {"log.cleaner.threads": "2"}}, "a password does not go into a file"


def test_mg_2_a_file_of_which_an_entry_cannot_be_understood_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "left.json"
    file.write_text('{"cluster":"c","queue":{"version":1,"partitions":[{"topic":"t","partition":"0","replicas":[1]}]}}')
    with pytest.raises(WrongFile, match="what it keeps of the queue cannot be understood: entry 0"):
        load(file, "c")
    file.write_text('{"cluster":"c","partitions":[{"topic":"t","partition":0,"replicas":[1],"reason":"r"}]}')
    assert waiting(load(file, "c").kept) == {("t", 0): WaitingMove(MoveTerms((1,), "queue", "r"))}, (
        "of a former version"
    )


@pytest.mark.parametrize("why", ['"held":{"since":5}', '"held":{}', '"unapproved_since":5'])
def test_mg_2_the_command_starts_nothing_that_its_file_says_is_held(why: str) -> None:
    text = '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1],%s}]}'
    with pytest.raises(CommandFailed, match=r"moves are held or wait for approval: t-0\."):
        parse_executable_reassignment(text % why)
    assert parse_reassignment(text % why).entries, "others may look at it"
