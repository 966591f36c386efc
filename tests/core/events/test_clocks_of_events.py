"""When events were recorded, where the clock of their server jumped."""

from kafka_reassign_rpc.core.events.event_lines import SKEW_MS, LogClock

NOW = 1_790_000_000_000


def test_dh_8_no_event_was_recorded_before_those_that_stand_before_it_in_the_log() -> None:
    clock = LogClock()
    assert [clock.recorded_at(NOW + at, NOW) for at in (-900, -500, -700, SKEW_MS)] == [
        *(NOW - 900, NOW - 500, NOW - 500, NOW + SKEW_MS)
    ]


def test_dh_8_a_time_far_after_the_readers_own_is_no_time() -> None:
    clock = LogClock()
    assert clock.recorded_at(NOW + SKEW_MS + 1, NOW) is None
    assert clock.recorded_at(NOW - 5, NOW) == NOW - 5
    assert clock.recorded_at(NOW + SKEW_MS + 1, NOW) == NOW - 5
