"""Past figures for plots: how often a point is kept, how many, and when it was."""

from kafka_reassign_rpc.core.reassignment.move_sums import SPANS, FigureHistory, Point


def point(in_flight: int) -> Point:
    return Point(0, in_flight, None, None, None, None, None)


def test_dh_1_each_span_keeps_a_point_for_each_of_its_steps_and_the_last_ones_alone() -> None:
    history = FigureHistory()
    for second in range(0, 4000, 5):
        history.record(float(second), point(second))
    hour, day = (history.past(name, 4000.0, 4_000_000) for name in ("hour", "day"))
    assert [one.in_flight for one in hour.points] == list(range(400, 4000, 10))
    assert len(hour.points) == SPANS["hour"].points
    assert [one.in_flight for one in day.points] == list(range(0, 4000, 300))


def test_dh_1_points_have_the_time_at_which_they_were_noted_by_the_clock_of_now() -> None:
    history = FigureHistory()
    history.record(50.0, point(1))
    history.record(60.0, point(2))
    found = history.past("hour", 62.5, 1_000_000)
    assert [(one.at, one.in_flight) for one in found.points] == [(987_500, 1), (997_500, 2)]
    assert (found.at, found.step_ms, found.span_ms) == (1_000_000, 10_000, 3_600_000)
    assert history.past("day", 62.5, 1_000_000).span_ms == 24 * 3_600_000
