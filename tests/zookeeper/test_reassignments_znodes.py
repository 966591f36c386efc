"""`/admin/reassignments/$topic/$partition`: the record of a move, in and out."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.state import requesters
from kafka_reassign_rpc.core.state.partition import BATCH, MoveRecord, MoveTerms
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.reassignments_znodes import decode_move_record, encode_move_record
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode

PATH = "/admin/reassignments/t/0"
replica_sets = st.lists(st.integers(0, 2**31 - 1), unique=True, max_size=5).map(tuple)


@given(replica_sets, replica_sets)
def test_236_1_the_record_of_a_move_keeps_the_original_order(
    target: tuple[int, ...], original: tuple[int, ...]
) -> None:
    data = encode_move_record(MoveRecord(MoveTerms(target), original, 7, 99))
    assert json.loads(data) == {"version": 1, "target": list(target), "original_replicas": list(original)}
    stat = Stat(7, 0, 99, *[0] * 8)
    assert decode_move_record(data, PATH, stat) == MoveRecord(MoveTerms(target), original, 7, 99)
    assert decode_move_record(data, PATH) == MoveRecord(MoveTerms(target), original)


def test_236_8_the_record_of_a_move_says_by_which_route_it_came_and_may_say_what_we_do_not_know() -> None:
    data = encode_move_record(MoveRecord(MoveTerms((3,), BATCH), (1,)))
    assert json.loads(data) == {"version": 1, "target": [3], "original_replicas": [1], "route": "batch"}
    assert decode_move_record(data[:-1] + b',"later":{"than":"this"}}', PATH).terms.route == BATCH
    legacy = MoveRecord(MoveTerms((3,), BATCH), (1,), legacy=True)
    assert json.loads(encode_move_record(legacy))["legacy"] is True
    assert decode_move_record(encode_move_record(legacy), PATH) == legacy
    with pytest.raises(BadZnode):
        decode_move_record(b'{"version":1,"target":[3],"original_replicas":[1],"route":7}', PATH)
    said = encode_move_record(MoveRecord(MoveTerms((3,), reason='heal "broker" \u20ac3'), (1,)))
    assert decode_move_record(said, PATH) == MoveRecord(MoveTerms((3,), reason='heal "broker" \u20ac3'), (1,))


@pytest.mark.parametrize(
    "by",
    [
        requesters.client("User:alice", "admin-1", "10.0.0.7", "SSL", "PLAIN"),
        requesters.client("User:ann \u20ac", None, "::1"),
        requesters.znode("/admin/reassignment_requests/request_0000000007"),
        None,
    ],
)
def test_fg_5_the_record_of_a_move_says_who_asked_for_it(by: requesters.Requester | None) -> None:
    move = MoveRecord(MoveTerms((3,), by=by), (1,))
    assert decode_move_record(encode_move_record(move), PATH) == move


@pytest.mark.parametrize("by", [7, [], {}, {"who": 7}, {"who": "x" * 9999}, {"principal": "p"}, [[[[]]]] * 99])
def test_fg_5_a_record_whose_requester_makes_no_sense_is_still_a_record(by: object) -> None:
    data = json.dumps({"version": 1, "target": [3], "original_replicas": [1], "by": by}).encode()
    assert decode_move_record(data, PATH) == MoveRecord(MoveTerms((3,)), (1,))
