"""The progress of a whole plan: moves, bytes, the time left by the rate so far, and the time planned."""

from pathlib import Path

import msgspec
import pytest

from kafka_reassign_rpc.client import TopicPartition
from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.pipeline.plans.plan_summary import (
    BatchFigures,
    BrokerTraffic,
    PlanSummary,
    TimelineFigures,
    read_summary,
)
from kafka_reassign_rpc.pipeline.submission.plan_progress import PlanProgress, Seen
from kafka_reassign_rpc.pipeline.submission.submit_settings import PlanDoesNotFit
from tests.pipeline.plans import SUMMARY, write_plan
from tests.pipeline.simulated_cluster import SimulatedCluster, moves, submission


def summary(*batches: tuple[int, int], seconds: float = 0.0, timeline: TimelineFigures | None = None) -> PlanSummary:
    """`batches`: moves and bytes of each."""
    figures = [BatchFigures(number, 0, *one, 0.0, 0.0) for number, one in enumerate(batches, 1)]
    return msgspec.structs.replace(SUMMARY, batches=figures, expected_seconds=seconds, timeline=timeline)


PLAN = summary((4, 800), (2, 200), seconds=10)


def test_dp_4_the_time_left_is_planned_at_first_and_then_goes_by_the_rate_so_far() -> None:
    made = PlanProgress(PLAN)
    found = made.progress(0.0, [])
    assert (found.done, found.total, found.rate, found.remaining_seconds) == (0, 1000, None, 10.0)
    made.done(1)
    found = made.progress(5.0, [Seen(1, 50)])
    assert (found.done, found.rate, found.remaining_seconds) == (250, 50.0, 15.0), "slower than planned"


def test_dp_4_the_time_left_is_that_of_the_simulation_as_much_slower_as_the_plan_has_been_so_far() -> None:
    """Planned: nine tenths in 4 of 10 seconds, as the last one goes to one broker."""
    none = [0, 0, 0, 0, 0]
    received = [BrokerTraffic(1, none, [450, 350, 0, 0, 0]), BrokerTraffic(2, none, [0, 100, 0, 50, 50])]
    slow_end = summary((1, 1000), seconds=10, timeline=TimelineFigures(2, received))
    made = PlanProgress(slow_end)
    assert made.progress(0.0, [Seen(1, 0)]).remaining_seconds == 10.0
    found = made.progress(4.0, [Seen(1, 450)])
    assert (found.rate, found.remaining_seconds) == (112.5, 16.0), "2 of 10 s took 4"
    assert made.progress(8.0, [Seen(1, 900)]).remaining_seconds == 12.0
    assert made.progress(8.0, [Seen(1, 950)]).remaining_seconds == 2.0
    assert made.progress(9.0, [Seen(1, 1000)]).remaining_seconds == 0.0


def test_dp_4_the_time_left_is_not_known_where_nothing_was_copied_for_the_last_minutes() -> None:
    made = PlanProgress(PLAN)
    made.progress(0.0, [Seen(1, 100)])
    assert made.progress(100.0, [Seen(1, 300)]).remaining_seconds == 350.0
    for now in (350.0, 399.0):
        assert made.progress(now, [Seen(1, 300)]).remaining_seconds is not None
    for now in (401.0, 2000.0):
        found = made.progress(now, [Seen(1, 300)])
        assert (found.rate, found.remaining_seconds) == (0.0, None), f"all that has been copied was {now - 100} s ago"
    assert " left" not in made.text(3600.0, [Seen(1, 150), Seen(1, 150)], waiting=4)
    found = made.progress(4000.0, [Seen(1, 500)])
    assert (found.rate, found.remaining_seconds) == (0.5, 1000.0), "it goes on: 200 bytes in the last 400 s"


def test_dp_4_a_plan_of_which_nothing_has_been_copied_yet_has_no_time_left_after_a_first_look() -> None:
    made = PlanProgress(PLAN)
    assert [made.progress(now, [Seen(1, 0)]).remaining_seconds for now in (0.0, 1.0)] == [10.0, None]


def test_dp_4_moves_done_before_a_run_are_done_but_not_at_its_pace() -> None:
    """Six tenths are done before. This run copies 100 bytes in 10 s, and finds 200 more done as it reads on."""
    made = PlanProgress(summary((10, 1000), seconds=10))
    made.done(1, 6, earlier=True)
    found = made.progress(0.0, [Seen(1, 50)])
    assert (found.done, found.remaining_seconds) == (650, 3.5), "as planned at first"
    made.done(1)
    found = made.progress(10.0, [Seen(1, 50)])
    assert (found.done, found.rate, found.remaining_seconds) == (750, 10.0, 25.0)
    made.done(1, 2, earlier=True)
    found = made.progress(10.0, [Seen(1, 50)])
    assert (found.done, found.rate, found.remaining_seconds) == (950, 10.0, 5.0)


def test_dp_4_moves_that_are_left_out_are_none_of_the_plan_any_more() -> None:
    """Of a batch of three moves and 1,000 bytes two are carried out, of the other one none."""
    made = PlanProgress(summary((3, 1000), (2, 77)))
    made.progress(0.0, [])
    made.left_out(1)
    found = made.progress(1.0, [Seen(1, 100)])
    assert (found.done, found.total) == (100, 666 + 77)
    made.done(1, 2)
    for _ in range(2):
        made.left_out(2)
    found = made.progress(2.0, [])
    assert (found.done, found.total, found.share) == (666, 666, 1.0)
    assert (
        made.text(2.0, waiting=0)
        == f"plan |{24 * '█'}| 2 of 2 moves, 0 moving, 0 waiting, 666 B of 666 B (100 %), 333 B/s"
    )


def test_dp_4_a_plan_whose_moves_end_or_are_left_out_has_no_time_left() -> None:
    made = PlanProgress(PLAN)
    made.progress(0.0, [])
    made.done(1, 3)
    made.left_out(1)
    made.done(2, 1)
    made.left_out(2)
    assert made.progress(500.0, []).remaining_seconds == 0.0
    assert made.progress(900.0, []).remaining_seconds == 0.0, "although nothing was copied for 400 s"


def test_dp_4_a_large_move_that_goes_on_is_not_as_good_as_done_since_the_small_ones_are() -> None:
    """Nine moves of 10 bytes are over, of the tenth with 910 a fifth is copied: 272 of 1,000 bytes, not over 900."""
    made = PlanProgress(summary((10, 1000)))
    made.progress(0.0, [Seen(1, 0, 10) for _ in range(9)] + [Seen(1, 0, 910)])
    for _ in range(9):
        made.done(1, size=10)
    found = made.progress(10.0, [Seen(1, 182, 910)])
    assert (found.done, found.total) == (272, 1000)
    assert found.remaining_seconds == pytest.approx(728 / 27.2), "at the rate of the bytes that arrive"
    assert made.progress(40.0, [Seen(1, 0, 910, has_ended=True)]).done == 1000


def test_dp_4_what_has_been_shown_as_copied_is_not_taken_back() -> None:
    """A move turns out smaller than the plan says, one is cancelled and begins again, one ends, and one begins."""
    made = PlanProgress(summary((3, 900), (1, 300)))
    looks = (
        [Seen(1, 290), Seen(1, 200, 300)],
        [Seen(1, 90, 100), Seen(1, 200, 300)],
        [Seen(1, 0, 100), Seen(1, 300, 300)],
        [Seen(1, 0, 100, has_ended=True), Seen(1, 0, 300, has_ended=True), Seen(1, 0, 600)],
        [Seen(1, 600, 600, has_ended=True), Seen(1, 0, 100, has_ended=True), Seen(1, 0, 300, has_ended=True)],
    )
    shown = [made.progress(float(at), seen) for at, seen in enumerate(looks)]
    done = [one.done or 0 for one in shown]
    assert done == sorted(done)
    assert (done[-1], {one.total for one in shown}) == (900, {1200}), "the plan says how much there is"


def test_dp_4_the_bar_of_a_plan_that_copies_nothing_goes_by_its_moves() -> None:
    made = PlanProgress(summary((4, 0)))
    made.done(1)
    assert made.text(0.0, [Seen(1, 0)], waiting=2) == f"plan |{6 * '█'}{18 * ' '}| 1 of 4 moves, 1 moving, 2 waiting"


def test_dp_4_bytes_of_moves_that_have_just_ended_are_done() -> None:
    made = PlanProgress(PLAN)
    made.done(2)
    assert (
        made.progress(0.0, [Seen(1, 30), Seen(1, 0, has_ended=True), Seen(1, 0, has_ended=True)]).done
        == 100 + 2 * 200 + 30
    )


def test_dp_4_the_line_shows_the_whole_plan_beside_the_time_planned() -> None:
    made = PlanProgress(PLAN)
    made.done(2, moves=2)
    line = made.text(0.0, [Seen(1, 0), Seen(1, 0, has_ended=True)], waiting=2)
    assert line.endswith("| 3 of 6 moves, 1 moving, 2 waiting, 400 B of 1.0 kB (40 %), 6 s left; planned 10 s in all")
    assert "| 0 of 3 moves, 1 moving, 2 waiting" in PlanProgress(summary()).text(0.0, [Seen(1, 0)], waiting=2)


def test_dp_4_with_other_limits_than_the_plans_the_line_does_not_name_the_time_planned() -> None:
    made = PlanProgress(PLAN, 40.0)
    line = made.text(0.0, [Seen(1, 0)], waiting=5)
    assert line.endswith(", 0 B of 1.0 kB (0 %); at least 40 s in all with these limits")
    made.done(1)
    assert made.text(5.0, [Seen(1, 0)], waiting=1).endswith(
        ", 40 B/s, 20 s left; at least 40 s in all with these limits"
    )
    unknown = PlanProgress(PLAN, 0.0).text(0.0, [Seen(1, 0)], waiting=5)
    assert unknown.endswith("1.0 kB (0 %)"), "a plan that does not say what brokers copy"


def test_dp_4_submit_counts_what_it_leaves_out_and_what_was_done_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four moves the first has ended before; of the others the second is refused."""
    cluster, said = SimulatedCluster({0: (2,), 1: (1,), 2: (1,), 3: (1,)}, {1, 2}), list[str]()
    cluster.refusals[TopicPartition("t", 1)] = [PolicyViolation("not here")]
    path = write_plan(tmp_path / "p", "c1", moves(**{f"p{index}": ((2,), (1,)) for index in range(4)}))
    told = msgspec.structs.replace(read_summary(path), batches=summary((4, 1000)).batches)
    (path / "summary.json").write_bytes(msgspec.json.encode(told))
    done, earlier = PlanProgress.done, list[bool]()

    def note(self: PlanProgress, batch: int, **options: bool) -> None:
        earlier.append(options["earlier"])
        done(self, batch, **options)

    monkeypatch.setattr(PlanProgress, "done", note)
    with pytest.raises(PlanDoesNotFit):
        submission(cluster, path, said=said).execute()
    lines = [line for line in said if line.startswith("plan |")]
    assert "| 3 of 3 moves, 0 moving, 0 waiting, 750 B of 750 B (100 %)" in lines[-1]
    assert earlier == [True, False, False]
