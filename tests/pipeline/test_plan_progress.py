"""The progress of a whole plan: moves, bytes, the time left by the rate so far, and the time planned."""

from kafka_reassign_rpc.pipeline.plans.batch_reader import PlanInfo, PlannedBatch, PlannedTimeline, PlannedTraffic
from kafka_reassign_rpc.pipeline.submission.plan_progress import PlanProgress

INFO = PlanInfo("drain", "c", batches=[PlannedBatch(1, 4, 800), PlannedBatch(2, 2, 200)], expected_seconds=10)


def test_dp_4_the_time_left_is_planned_at_first_and_then_goes_by_the_rate_so_far() -> None:
    made = PlanProgress(INFO)
    found = made.progress(0.0, [])
    assert (found.done, found.total, found.rate, found.remaining_seconds) == (0, 1000, None, 10.0)
    made.done(1)
    found = made.progress(5.0, [50])
    assert (found.done, found.rate, found.remaining_seconds) == (250, 50.0, 15.0), "slower than planned"


def test_dp_4_the_time_left_is_that_of_the_simulation_as_much_slower_as_the_plan_has_been_so_far() -> None:
    """Planned: nine tenths in 4 of 10 seconds, as the last one goes to one broker."""
    timeline = PlannedTimeline(2, [PlannedTraffic([450, 350, 0, 0, 0]), PlannedTraffic([0, 100, 0, 50, 50])])
    slow_end = PlanInfo("drain", "c", batches=[PlannedBatch(1, 1, 1000)], expected_seconds=10, timeline=timeline)
    made = PlanProgress(slow_end)
    assert made.progress(0.0, [0]).remaining_seconds == 10.0
    found = made.progress(4.0, [450])
    assert (found.rate, found.remaining_seconds) == (112.5, 16.0), "2 of 10 s took 4"
    assert made.progress(8.0, [900]).remaining_seconds == 12.0
    assert made.progress(8.0, [950]).remaining_seconds == 2.0
    assert made.progress(9.0, [1000]).remaining_seconds == 0.0


def test_dp_4_the_line_shows_the_whole_plan_beside_the_time_planned() -> None:
    made = PlanProgress(INFO)
    made.done(2, moves=2)
    line = made.text(0.0, None, moving=1, waiting=2, ended=1)
    assert line.endswith("| 3 of 6 moves, 1 moving, 2 waiting, 200 B of 1.0 kB (20 %), 8 s left; planned 10 s in all")
    assert "| 0 of 3 moves, 1 moving, 2 waiting" in PlanProgress(PlanInfo("drain", "c")).text(0.0, None, 1, 2)
