"""The JSON of a round: what this version writes it reads, and it says what it cannot read."""

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.phases.phases import Outcome
from kafka_reassign_rpc.core.state.broker import FailedLogDirs
from kafka_reassign_rpc.core.state.partition import HEAL, QUEUE, MoveRecord, MoveTerms, Phase
from kafka_reassign_rpc.core.state.queue_entries import Held, WaitingMove
from kafka_reassign_rpc.core.state.requesters import client
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, ListMemory, RateMemory, TopicMemory
from kafka_reassign_rpc.kraft.round_records import (
    LARGEST,
    BadRound,
    Ended,
    Memory,
    Move,
    RoundRecord,
    Waiting,
    decode,
    documents,
    encode,
)
from tests.tables import for_each

ALICE = client("User:alice", "admin-1", "10.0.0.7")
RECORD = MoveRecord(
    MoveTerms((3, 2), QUEUE, "drain", 1_000, by=ALICE),
    (1, 2),
    7,
    1_700_000_000_000,
    (4,),
    phase=Phase.START,
    replaces=MoveRecord(MoveTerms((4, 2)), (1, 2), 5, 1_600_000_000_000, phase=Phase.MOVING),
    cancelled_by=ALICE,
)
WHOLE = RoundRecord(
    at=1_700_000_000_000,
    ids={"t": "AAAAAAAAAAAAAAAAAAAABw"},
    moves=[Move("t", 0, RECORD), Move("t", 1)],
    waiting=[
        Waiting(-1, "t", 2, WaitingMove(MoveTerms((1, 3), HEAL), Held(5, "User:bob", "later"), 9, (1, 2))),
        Waiting(3, "t", 3),
    ],
    failed={1: 1_700_000_000_000, 2: None},
    log_dirs={3: FailedLogDirs(5, ("/data",)), 4: None},
    memories=[
        Memory("topics", "t", topic=TopicMemory(ListMemory("0:1", "1:2")), topic_after=TopicMemory()),
        Memory("brokers", "1", broker=BrokerMemory(RateMemory("5", "3", 5, True)), broker_after=BrokerMemory()),
    ],
)

GOLDEN = (
    b'{"at":1700000000000,"version":1,"ids":{"t":"AAAAAAAAAAAAAAAAAAAABw"},"moves":[["t",0,{"terms":{"target":[3,2],'
    b'"route":"queue","reason":"drain","throttle":1000,"by":["User:alice as admin-1 from 10.0.0.7","User:alice",'
    b'"admin-1","10.0.0.7",null,null]},"original":[1,2],"id":7,"started":1700000000000,"retained":[4],"phase":"start",'
    b'"replaces":{"terms":{"target":[4,2]},"original":[1,2],"id":5,"started":1600000000000,"phase":"moving"},'
    b'"cancelled_by":["User:alice as admin-1 from 10.0.0.7","User:alice","admin-1","10.0.0.7",null,null]}],'
    b'["t",1,null]],"waiting":[[-1,"t",2,{"terms":{"target":[1,3],"route":"heal"},"held":{"since":5,"who":"User:bob",'
    b'"reason":"later"},"unapproved":9,"origin":[1,2]}],[3,"t",3,null]],"failed":{"1":1700000000000,"2":null},'
    b'"log_dirs":{"3":{"since":5,"paths":["/data"]},"4":null},"memories":[{"kind":"topics","name":"t","topic":'
    b'{"leader":{"ours":"0:1","before":"1:2"}},"topic_after":{}},{"kind":"brokers","name":"1","broker":{"leader":'
    b'{"set":"5","before":"3","lease":5,"lifts":true}},"broker_after":{}}]}'
)
"""Of version 1: a log may hold it for as long as it exists."""


def test_kr_6_a_round_is_written_as_it_always_was_and_read_back_whole() -> None:
    assert encode(WHOLE) == GOLDEN
    assert decode(GOLDEN) == replace(WHOLE, version=1)


ENDS = RoundRecord(
    at=5,
    moves=[Move("t", 0)],
    ended=[Ended("t", 0, Outcome.CANCELLED_BY_OTHERS, (1, 2), "why"), Ended("t", 1, Outcome.GONE)],
    recorded=7,
    outcomes=[Event(catalogue.MOVE_COMPLETED, "t", 2, 9, target=(3, 2))],
)
GOLDEN_ENDS = (
    b'{"at":5,"version":1,"moves":[["t",0,null]],"ended":[["t",0,"cancelled_by_others",[1,2],"why"],'
    b'["t",1,"gone",null,""]],"recorded":7,"outcomes":[{"event":"move.completed","topic":"t","partition":2,"id":9,'
    b'"target":[3,2]}]}'
)


def test_kr_6_outcomes_are_written_as_they_always_were_and_read_back_whole() -> None:
    assert encode(ENDS) == GOLDEN_ENDS
    assert decode(GOLDEN_ENDS) == replace(ENDS, version=1)


def test_kr_6_fields_of_a_later_version_that_this_one_can_do_without_are_passed_over() -> None:
    assert decode(b'{"version":1,"at":5,"later":{"a":1}}') == RoundRecord(at=5, version=1)


@for_each(
    "data, why",
    [
        (b"", "cannot be read"),
        (b"{", "cannot be read"),
        (b"[]", "cannot be read"),
        (b'{"at":1}', "version"),
        (b'{"version":2,"at":1}', "version 2"),
        (b'{"version":1}', "at"),
        (b'{"version":1,"at":1,"moves":[["t",-1,null]]}', "partition"),
        (b'{"version":1,"at":1,"moves":[["t",4294967296,null]]}', "partition"),
        (b'{"version":1,"at":1,"moves":[["t",0,{"terms":{"target":[1]}}]]}', "original"),
        (b'{"version":1,"at":1,"moves":[["t",0,{"terms":{"target":[1]},"original":[],"phase":"x"}]]}', "phase"),
        (b"\xff" * 100_000, "cannot be read"),
    ],
)
def test_kr_6_what_is_no_round_of_this_version_is_refused_with_the_reason(data: bytes, why: str) -> None:
    with pytest.raises(BadRound, match=why) as raised:
        decode(data)
    assert len(str(raised.value)) < 500


def test_kr_6_a_record_that_is_not_large_is_one_document() -> None:
    ((record, data),) = documents(WHOLE)
    assert (record, data) == (WHOLE, GOLDEN)


def test_kr_6_a_large_record_is_several_documents_each_with_all_of_its_partitions() -> None:
    long = MoveTerms((1, 3), reason="€" * 1_000)
    names = [(f"t{number % 7}", number) for number in range(3_000)]
    whole = replace(
        WHOLE,
        ids={f"t{number}": str(number) for number in range(7)} | {"unmoved": "7"},
        moves=[Move(*name, replace(RECORD, terms=long)) for name in reversed(names[:2_000])],
        waiting=[
            *(Waiting(-1, *name, WaitingMove(long)) for name in names[1_000:]),
            *(Waiting(5, *name) for name in names[1_000:]),
        ],
        memories=[Memory("topics", f"t{number}", topic=TopicMemory()) for number in range(2_500)],
        ended=[Ended(*name, Outcome.DONE) for name in names[500:1_500]],
    )
    made = [*documents(whole)]
    assert all(decode(data) == replace(record, version=1) for record, data in made)
    assert max(len(data) for _, data in made) <= LARGEST
    assert len(made) < 3 * len(encode(whole)) / LARGEST + 3
    records = [record for record, _ in made]
    partitions = [
        {(one.topic, one.partition) for one in record.moves} | {(one.topic, one.partition) for one in record.waiting}
        for record in records
    ]
    assert sum(map(len, partitions)) == len(names), "each is in one of them"
    joins = [one for record in records for one in record.waiting if one.part == -1]
    assert joins == whole.waiting[:2_000], "in their order"
    assert len([one for record in records for one in record.waiting]) == len(whole.waiting)
    assert {(one.topic, one.partition) for record in records for one in record.moves} == {*names[:2_000]}
    assert [one for record in records for one in record.memories] == whole.memories
    assert sum(len(record.ended) for record in records) == len(whole.ended)
    for record in records:
        moved = {(one.topic, one.partition) for one in record.moves}
        assert {(one.topic, one.partition) for one in record.ended} <= moved, "with the end that it explains"
    known: set[str] = set()
    for record in records:
        known |= record.ids.keys()
        assert {one.topic for one in record.moves} <= known
    assert known == whole.ids.keys()
    assert [(record.failed, record.log_dirs) for record in records if record.failed or record.log_dirs] == [
        (whole.failed, whole.log_dirs)
    ]
