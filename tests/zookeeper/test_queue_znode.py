"""The JSON of a part of the queue: who has queued a move is stored with the moves, and makes no move unreadable."""

import json
from typing import Any

from kafka_reassign_rpc.core.state.partition import HEAL, QUEUE, RPC, MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import Held, WaitingMove
from kafka_reassign_rpc.core.state.requesters import client
from kafka_reassign_rpc.zookeeper.reassign_partitions_znode import EMPTY, QueueEntries, QueuePartContent, decode_queue
from tests.tables import for_each

PATH = "/admin/reassign_partitions_queue/part-0000000001"
ALICE = client("User:alice", "admin-1", "10.0.0.7", "SASL_SSL", "SCRAM-SHA-512")
BOB = client("User:CN=bob,O=x", None, "::1")
MOVE = {"topic": "t", "partition": 0, "replicas": [1, 2], "route": "rpc", "reason": "why", "throttle": 9}


def encoded(moves: dict[tuple[str, int], WaitingMove]) -> bytes:
    content = QueuePartContent()
    for name, move in moves.items():
        content.add(name, move)
    return content.encode()


def decoded(clients: object, *moves: dict[str, Any]) -> QueueEntries:
    return decode_queue(json.dumps({"version": 1, "clients": clients, "partitions": moves}).encode(), PATH)


def test_sv_5_the_clients_of_a_part_are_stored_once_and_are_read_again() -> None:
    moves = {
        ("t", 0): WaitingMove(MoveTerms((1, 2), RPC, "why", 9, moves_per_broker=3, by=ALICE)),
        ("t", 1): WaitingMove(MoveTerms((2, 3), QUEUE, by=BOB)),
        ("u", 0): WaitingMove(MoveTerms((3, 1), RPC, by=ALICE)),
        ("u", 1): WaitingMove(MoveTerms((3, 1), HEAL)),
    }
    data = encoded(moves)
    assert decode_queue(data, PATH) == QueueEntries(moves, [])
    assert json.loads(data)["clients"] == [
        {
            "principal": "User:alice",
            "address": "10.0.0.7",
            "client_id": "admin-1",
            "listener": "SASL_SSL",
            "mechanism": "SCRAM-SHA-512",
        },
        {"principal": "User:CN=bob,O=x", "address": "::1"},
    ]


def test_236_5_a_part_without_clients_is_written_as_before() -> None:
    assert encoded({}) == EMPTY
    assert json.loads(encoded({("t", 0): WaitingMove(MoveTerms((1, 2), QUEUE))})) == {
        "version": 1,
        "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}],
    }


def test_236_5_the_size_of_a_part_is_known_while_moves_are_added() -> None:
    content = QueuePartContent()
    for index in range(100):
        content.add(("t", index), WaitingMove(MoveTerms((1, 2), RPC, by=ALICE if index % 2 else BOB)))
    assert content.size <= len(content.encode()) <= content.size + 200


@for_each(
    ("clients", "place"),
    [
        (None, 0),
        ([], 0),
        ({"0": {}}, 0),
        ("x", 0),
        ([{"principal": "User:a", "address": "::1"}], 1),
        ([{"principal": "User:a", "address": "::1"}], -1),
        ([{"principal": "User:a", "address": "::1"}], "0"),
        ([{"principal": "User:a", "address": "::1"}], 10**30),
        ([{"principal": "User:a", "address": "::1"}], [[[[]]]]),
        ([{"principal": "User:a"}], 0),
        ([{"principal": "x" * 251, "address": "::1"}], 0),
        ([{"principal": "User:a", "address": "1" * 101}], 0),
        ([{"principal": 5, "address": "::1"}], 0),
        ([7], 0),
    ],
)
def test_sv_6_a_malformed_client_is_reported_and_the_move_keeps_all_else(clients: object, place: object) -> None:
    found = decoded(clients, {**MOVE, "client": place}, {**MOVE, "partition": 1})
    move = WaitingMove(MoveTerms((1, 2), RPC, "why", 9))
    assert found.entries == {("t", 0): move, ("t", 1): move}
    assert found.problems
    assert all(len(problem) < 500 for problem in found.problems)


def test_sv_6_with_a_malformed_entry_the_clients_are_still_read() -> None:
    found = decoded([{"principal": "User:a", "address": "::1"}], {**MOVE, "client": 0}, {"topic": 5})
    assert found.entries == {("t", 0): WaitingMove(MoveTerms((1, 2), RPC, "why", 9, by=client("User:a", None, "::1")))}
    assert len(found.problems) == 1


@for_each(
    "held",
    [True, 7, "x", [], {"since": "x"}, {"who": 5}, {"since": -1}, {"since": 10**18, "who": "bob"}, {"since": 10**30}],
)
def test_dh_5_a_hold_that_cannot_be_read_holds_the_move(held: object) -> None:
    entry = {"topic": "t", "partition": 0, "replicas": [1, 2], "held": held}
    for more in ({}, {"throttle": "x"}):
        found = decode_queue(json.dumps({"version": 1, "partitions": [entry | more]}).encode(), "/q")
        assert found.entries["t", 0].held == Held()
        assert "t-0 is held, and not known since when and by whom" in found.problems[-1]
