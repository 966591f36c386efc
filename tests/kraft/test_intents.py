"""What the log says when it is replayed: the same from a snapshot as from all rounds."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kafka_reassign_rpc.controller.store import Entity
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.phases.phases import Outcome
from kafka_reassign_rpc.core.state.partition import MoveRecord, MoveTerms, Phase
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, RateMemory, TopicMemory
from kafka_reassign_rpc.kraft import round_records
from kafka_reassign_rpc.kraft.round_records import JOINS, Ended, Intents, Memory, Move, Remembered, RoundRecord, Waiting
from tests.kraft.test_round_records import RECORD, WHOLE

NEW = MoveRecord(MoveTerms((3, 2)), (1, 2), phase=Phase.START)


def applied(*rounds: RoundRecord, to: Intents | None = None, first: int = 1) -> Intents:
    intents = Intents() if to is None else to
    for offset, one in enumerate(rounds, first):
        for _ in intents.apply(round_records.decode(round_records.encode(one)), offset):
            pass
    return intents


def contents(intents: Intents) -> dict[str, object]:
    parts = {number: dict(part.entries) for number, part in intents.queue.items()}
    return {
        **{name: value for name, value in vars(intents).items() if name not in ("queue", "ids")},
        "parts": parts,
        "ids": {name: id_ for name, id_ in intents.ids.items() if any(one.topic == name for one in intents.moves)},
    }


def test_kr_6_a_new_move_gets_its_id_from_the_place_of_its_round_and_keeps_it() -> None:
    intents = applied(RoundRecord(at=5), RoundRecord(at=7, moves=[Move("t", 0, NEW)]))
    (record,) = intents.moves.values()
    assert (record.id, record.started) == (2, 7)
    again = applied(RoundRecord(at=9, moves=[Move("t", 0, record)]), to=intents, first=3)
    assert again.moves[TopicPartition("t", 0)].id == 2


def test_kr_6_a_queue_is_in_the_order_of_its_rounds_and_a_part_goes_with_its_last_move() -> None:
    wait = WaitingMove(MoveTerms((1, 3)))
    intents = applied(
        RoundRecord(at=1, waiting=[Waiting(JOINS, "t", 1, wait), Waiting(JOINS, "t", 0, wait)]),
        RoundRecord(at=2, waiting=[Waiting(JOINS, "a", 0, wait)]),
        RoundRecord(at=3, waiting=[Waiting(1, "t", 1)]),
    )
    assert [list(part.entries) for part in intents.queue.values()] == [[("t", 0)], [("a", 0)]]
    assert list(applied(RoundRecord(at=4, waiting=[Waiting(1, "t", 0)]), to=intents, first=4).queue) == [2]


def test_kr_6_memories_go_with_their_content() -> None:
    rate = BrokerMemory(RateMemory("5", None, 5))
    during = Memory("brokers", "1", broker=BrokerMemory(), broker_after=rate)
    intents = applied(RoundRecord(at=1, memories=[during]))
    assert intents.memories == {Entity("brokers", "1"): Remembered(BrokerMemory(), rate)}
    intents = applied(RoundRecord(at=2, memories=[Memory("brokers", "1", broker=rate)]), to=intents)
    assert intents.memories == {Entity("brokers", "1"): Remembered(rate)}
    assert applied(RoundRecord(at=3, memories=[Memory("brokers", "1")]), to=intents).memories == {}
    assert applied(RoundRecord(at=4, memories=[Memory("topics", "t", topic=TopicMemory())])).memories == {}


def test_kr_6_an_outcome_stays_until_it_is_said_to_be_in_an_event_log() -> None:
    ends = RoundRecord(at=2, moves=[Move("t", 0)], ended=[Ended("t", 0, Outcome.DONE, (3, 2))])
    first = applied(RoundRecord(at=1, moves=[Move("t", 0, NEW)]), ends)
    (done,) = first.outcomes
    assert (done.event, done.id, done.started, done.replicas) == (catalogue.MOVE_COMPLETED, 1, 1, (3, 2))
    intents = applied(RoundRecord(at=3, recorded=1), to=first, first=3)
    assert intents.outcomes == []
    intents = applied(*intents.snapshot(4))
    again = applied(RoundRecord(at=5, moves=[Move("t", 1, NEW)]), replace(ends, ended=[Ended("t", 1, Outcome.GONE)]))
    assert [one.event for one in again.outcomes] == [catalogue.MOVE_GONE]
    later = applied(RoundRecord(at=6, outcomes=again.outcomes), RoundRecord(at=7, recorded=1), to=intents)
    assert later.outcomes == again.outcomes, "it was the second"
    assert applied(RoundRecord(at=8, recorded=2), to=later).outcomes == []


ROUNDS = st.lists(
    st.one_of(
        st.just(WHOLE),
        st.builds(
            lambda partition, record: RoundRecord(at=1, moves=[Move("t", partition, record)]),
            st.integers(0, 3),
            st.sampled_from([None, NEW, RECORD]),
        ),
        st.builds(
            lambda partition, target: RoundRecord(
                at=2, waiting=[Waiting(JOINS, "q", partition, WaitingMove(MoveTerms(target)))]
            ),
            st.integers(0, 3),
            st.sampled_from([(1, 2), (2, 3)]),
        ),
        st.builds(
            lambda partition, outcome: RoundRecord(
                at=4, moves=[Move("t", partition)], ended=[Ended("t", partition, outcome, (3, 2), "why")]
            ),
            st.integers(0, 3),
            st.sampled_from(Outcome),
        ),
        st.builds(lambda recorded: RoundRecord(at=5, recorded=recorded), st.integers(0, 2)),
        st.builds(
            lambda part, partition: RoundRecord(at=3, waiting=[Waiting(part, "q", partition)]),
            st.integers(1, 9),
            st.integers(0, 3),
        ),
    ),
    max_size=9,
)


@given(ROUNDS)
def test_kr_6_a_snapshot_says_what_all_rounds_before_it_say(rounds: list[RoundRecord]) -> None:
    intents = applied(*rounds)
    assert contents(applied(*intents.snapshot(9), first=1_000)) == contents(intents)
