"""What looks may conclude about topics that they do not show."""

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.client.result_values import PartitionInfo, PartitionReassignment
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.partition import topic_id_text
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.cluster_seen import Absences, Absent, AbsentBrokers, Known
from kafka_reassign_rpc.kraft.ports import Look, LookedTopic
from tests.tables import for_each

ID, OTHER_ID = UUID(int=1 << 65), UUID(int=2 << 65)
T = Known("t", topic_id_text(ID))
INFO = PartitionInfo(1, (1, 2), (1, 2), 3)

THERE = Look({}, {"t": LookedTopic(ID, {0: INFO, 1: INFO})}, {})
SHORT = Look({}, {"t": LookedTopic(ID, {0: INFO})}, {})
OTHER = Look({}, {"t": LookedTopic(OTHER_ID, {0: INFO, 1: INFO})}, {})
LEFT_OUT = Look({}, {}, {})
DENIED = Look({}, {}, {}, absent=frozenset({"t"}))
LISTED = DENIED._replace(moves={TopicPartition("t", 0): PartitionReassignment((3, 2, 1), (3,), (1,))})


def taken(absences: Absences, look: Look, asked: Sequence[Known], waiting: Mapping[str, Collection[int]]) -> Absent:
    steps = absences.taken(look, asked, waiting)
    try:
        while True:
            next(steps)
    except StopIteration as end:
        found: Absent = end.value
        return found


def last(looks: Sequence[Look], known: Known = T) -> Absent:
    absences, found = Absences(), Absent()
    for look in looks:
        found = taken(absences, look, [known], {"t": [1]})
    return found


@for_each(
    "looks, gone, unseen",
    [
        ([THERE], False, False),
        ([LEFT_OUT], False, True),
        ([LEFT_OUT] * 9, False, True),
        ([DENIED], False, True),
        ([DENIED, DENIED], True, False),
        ([DENIED, LEFT_OUT], False, True),
        ([DENIED, LEFT_OUT, DENIED], False, True),
        ([DENIED, THERE, DENIED], False, True),
        ([LISTED] * 9, False, True),
        ([DENIED, LISTED], False, True),
        ([LISTED, DENIED, DENIED], True, False),
        ([OTHER], False, True),
        ([OTHER, THERE], False, False),
        ([OTHER, OTHER], True, False),
        ([OTHER, DENIED], True, False),
        ([SHORT], False, True),
        ([SHORT, SHORT], False, False),
        ([SHORT, THERE, SHORT], False, True),
    ],
)
def test_kr_6_a_topic_is_gone_once_two_looks_in_a_row_deny_it_and_the_controller_lists_no_move_of_it(
    looks: Sequence[Look], gone: bool, unseen: bool
) -> None:
    found = last(looks)
    assert (T in found.gone, T in found.unseen) == (gone, unseen)


def test_kr_6_a_look_at_other_topics_leaves_open_what_was_denied_before() -> None:
    absences = Absences()
    taken(absences, DENIED, [T], {})
    assert taken(absences, LEFT_OUT, [], {}) == Absent()
    assert taken(absences, DENIED, [T], {}).gone == {T}


def test_kr_6_a_topic_whose_id_is_not_known_is_never_another_one() -> None:
    assert last([OTHER, OTHER], Known("t")) == Absent()


@given(st.lists(st.sampled_from([THERE, LEFT_OUT, DENIED, OTHER, LISTED, SHORT])))
def test_kr_6_whatever_brokers_leave_out_a_topic_that_is_there_is_never_gone(answers: list[Look]) -> None:
    """A broker lags by one look at most: after one that denies the topic comes one that does not."""
    absences, is_denied = Absences(), False
    for answer in answers:
        look = LEFT_OUT if is_denied else answer
        is_denied = look in (DENIED, OTHER)
        assert not taken(absences, look, [T], {}).gone


def _brokers(*ids: int, rack: str | None = None) -> dict[int, Broker]:
    return {one: Broker(one, -1, (), rack) for one in ids}


@for_each(
    "looks, there",
    [
        ([(1, 2)], {1, 2}),
        ([(1,)], {1, 2}),
        ([(1,), (1,)], {1}),
        ([(1,), (1, 2), (1,)], {1, 2}),
        ([(1,), (1,), (1, 2)], {1, 2}),
        ([(1,), (1,), (1, 2), (1,)], {1, 2}),
        ([(1,), (2,)], {1, 2}),
        ([(1,), (2,), (2,)], {2}),
        ([(), ()], set()),
        ([(1, 2, 3), (1, 2)], {1, 2, 3}),
    ],
)
def test_kr_10_a_broker_is_gone_once_two_looks_in_a_row_leave_it_out_and_there_as_soon_as_one_shows_it(
    looks: Sequence[Sequence[int]], there: set[int]
) -> None:
    absent, known = AbsentBrokers(), _brokers(1, 2)
    for shown in looks:
        known = absent.taken(_brokers(*shown), known)
    assert known.keys() == there


def test_kr_10_a_broker_is_as_the_last_look_has_shown_it() -> None:
    found = AbsentBrokers().taken(_brokers(1, rack="b"), _brokers(1, 2, rack="a"))
    assert {one: broker.rack for one, broker in found.items()} == {1: "b", 2: "a"}
