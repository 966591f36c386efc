"""What waits for a receiver of notifications, under any history of its answers."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.events import catalogue, notifications
from kafka_reassign_rpc.core.events.notifications import (
    DEFAULT,
    DEFAULT_KINDS,
    LINES,
    Notice,
    Outbox,
    Sender,
    kinds,
    notice,
    notification_of,
)

OURS = Sender("c", 1)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 9)),
        st.tuples(st.sampled_from(["take", "refuse", "fail"]), st.just(0)),
        st.tuples(st.just("age"), st.integers(0, 40)),
    ),
    max_size=60,
)


def some(seq: int) -> Notice:
    """Recorded at the time that is its number."""
    line = msgspec.json.encode({"seq": seq, "at": seq, "server": 1, "epoch": 0, "event": "broker.lost"})
    return notice(line, f"broker.lost {seq}", "1")


@given(STEPS)
def test_dh_8_each_event_is_sent_in_order_or_counted_as_dropped_and_a_body_stays_until_it_is_settled(
    steps: list[tuple[str, int]],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notifications, "MOST_EVENTS", 12)
        patch.setattr(notifications, "BODY_EVENTS", 5)
        box, seq, told, said = Outbox(), 0, [], 0
        offered = 0
        for step, number in steps:
            before = box.notification(OURS)
            if step == "add":
                for _ in range(number):
                    box.add(some(seq))
                    seq += 1
                offered += number
            elif step == "age":
                dropped = box.drop_older(number)
                assert dropped == 0 or box.notification(OURS) != before
            elif before is not None:
                events = [one["id"] for one in json.loads(before.body)["events"]]
                assert 1 <= len(events) <= 5
                if step == "take":
                    box.taken()
                    told += [int(one.rpartition("-")[2]) for one in events]
                    said += json.loads(before.body)["dropped"]
                elif step == "refuse":
                    box.refused()
                else:
                    assert box.notification(OURS) is before
            assert len(box) <= 12
            assert len(told) + box.dropped + len(box) == offered
            assert said <= box.dropped
        assert told == sorted(set(told))
        assert box.next_seq <= seq


def test_dh_8_a_body_has_a_bound_in_bytes_and_one_event_alone_always_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "BODY_BYTES", 400)
    box = Outbox()
    for seq in range(20):
        box.add(some(seq))
    sizes = []
    while (found := box.notification(OURS)) is not None:
        sizes.append(len(found.notices))
        box.taken()
    assert sum(sizes) == 20
    assert max(sizes) < 5
    monkeypatch.setattr(notifications, "BODY_BYTES", 1)
    box.add(some(21))
    assert box.notification(OURS) is not None
    monkeypatch.setattr(notifications, "MOST_BYTES", 300)
    assert [box.add(some(seq)) for seq in (22, 23)] == [True, False]


def test_dh_8_other_events_or_another_number_of_dropped_ones_have_another_id() -> None:
    one, two = some(1), some(2)
    bodies = [((one,), 0), ((one, two), 0), ((two,), 0), ((one,), 3)]
    assert len({notification_of(notices, OURS, dropped=dropped).id for notices, dropped in bodies}) == len(bodies)


def test_dh_8_kinds_are_chosen_by_name_by_beginning_or_as_the_default_and_others_are_refused_with_all_names() -> None:
    assert kinds(["heal.done", "move.*", DEFAULT]) == {
        *DEFAULT_KINDS,
        *(name for name in catalogue.EVENTS if name.startswith("move.")),
    }
    assert kinds([]) == frozenset()
    for wrong in ("heal.gone", "heall.*", "HEAL.DONE", ""):
        with pytest.raises(ValueError, match=r"there is no event .*there are .*heal\.noticed.*default for the default"):
            kinds(["heal.done", wrong])


def test_dh_8_the_text_names_a_few_events_counts_the_others_and_says_what_was_dropped() -> None:
    notices = tuple(some(number) for number in range(LINES + 3))
    text = json.loads(notification_of(notices, OURS._replace(name="blue"), dropped=2).body)["text"].splitlines()
    assert text[0] == "cluster blue:"
    assert len(text) == LINES + 3
    assert text[-2:] == ["and 3 more events", "2 events were dropped before"]
