"""kr-5: a server takes over when the leader is silent, and never because it cannot hear."""

import pytest

from kafka_reassign_rpc.kraft.state_log.silence import SilenceDetector

LEAD_S = 4.0


def after(*seen: tuple[float, str], rank: int = 0) -> SilenceDetector:
    detector = SilenceDetector(LEAD_S, rank)
    for at, what in seen:
        if what == "failed":
            detector.failed()
        else:
            detector.fetched(at, heard=what == "heard")
    return detector


def fetches(start: float, end: float, what: str = "fetched") -> list[tuple[float, str]]:
    return [(start + number / 2, what) for number in range(int((end - start) * 2) + 1)]


def test_kr_5_nobody_is_replaced_before_the_first_fetch() -> None:
    assert after().due_in_s(100) == LEAD_S


def test_kr_5_silence_is_counted_from_the_last_record() -> None:
    detector = after((0, "heard"), *fetches(0.5, 3.5))
    assert detector.due_in_s(3.5) == pytest.approx(0.5)
    assert after((0, "heard"), *fetches(0.5, 4)).due_in_s(4) == 0
    assert after(*fetches(0, 3), (3.5, "heard"), (4, "fetched")).due_in_s(4) == pytest.approx(3.5)


def test_kr_5_a_failed_fetch_begins_the_silence_anew() -> None:
    detector = after(*fetches(0, 3.5), (3.6, "failed"), *fetches(3.7, 4.7))
    assert detector.due_in_s(4.7) == pytest.approx(3.0)
    assert after(*fetches(0, 9), (9, "failed")).due_in_s(9) == LEAD_S


def test_kr_5_who_was_frozen_itself_has_heard_nothing() -> None:
    detector = after(*fetches(0, 2))
    assert detector.due_in_s(60) == LEAD_S
    detector.fetched(60, heard=False)
    assert detector.due_in_s(60) == LEAD_S


def test_kr_5_each_rank_waits_a_little_longer() -> None:
    waits = [after(*fetches(0, 2), rank=rank).due_in_s(2) for rank in range(3)]
    assert waits == pytest.approx([2.0, 2.4, 2.8])
