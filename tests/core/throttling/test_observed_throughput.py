"""46-5: how the replication throughput is observed, with a simulated clock."""

import pytest

from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import SampledLogDir
from kafka_reassign_rpc.core.state.cluster import Cluster
from tests.core.build import TOPIC, cluster, moving

HELD = dict[int, dict[int, int] | None]
"""Bytes by broker and partition; None: the broker does not answer."""
WHOLE = 1_000_000


class TwoMoves:
    """Two partitions move from broker 1, one to 3, the other to 3 and 4."""

    def __init__(self) -> None:
        self.cluster: Cluster = cluster(moving((1,), (3,)), moving((1,), (3, 4)))
        self.tracker = ProgressTracker(60.0)

    def look(self, now: float, held: HELD) -> int:
        answers = {
            broker: None if of is None else [SampledLogDir("/d", sizes={TOPIC: of})]
            for broker, of in ({1: {0: WHOLE, 1: WHOLE}} | held).items()
        }
        for _ in self.tracker.update(now, self.cluster, answers, [], {}):
            pass
        return self.tracker.observed_throughput.fastest


def test_46_5_the_observed_throughput_is_the_highest_rate_of_all_moves_to_a_broker_between_two_samples() -> None:
    moves = TwoMoves()
    assert moves.look(100.0, {3: {0: 0, 1: 0}, 4: {1: 0}}) == 0, "one sample says nothing"
    assert moves.look(105.0, {3: {0: 1000, 1: 4000}, 4: {1: 2000}}) == 1000
    assert moves.look(107.0, {3: {0: 1500, 1: 4500}, 4: {1: 7000}}) == 2500, "another broker is faster"
    assert moves.look(117.0, {3: {0: 1501, 1: 4501}, 4: {1: 7001}}) == 2500


def test_46_5_a_broker_whose_moves_completed_in_between_does_not_count() -> None:
    moves = TwoMoves()
    moves.look(0.0, {3: {0: WHOLE - 10, 1: WHOLE - 10}, 4: {1: 0}})
    assert moves.look(5.0, {3: {0: WHOLE, 1: WHOLE}, 4: {1: 0}}) == 0


@pytest.mark.parametrize("whose", ["4", "<default>"])
def test_46_5_a_throttled_broker_does_not_count(whose: str) -> None:
    moves = TwoMoves()
    moves.cluster.broker_configs[whose] = {"follower.replication.throttled.rate": "400"}
    moves.look(0.0, {3: {0: 0, 1: 0}, 4: {1: 0}})
    assert moves.look(5.0, {3: {0: 0, 1: 0}, 4: {1: 2000}}) == 0
    del moves.cluster.broker_configs[whose]
    assert moves.look(10.0, {3: {0: 0, 1: 0}, 4: {1: 4000}}) == 400


def test_46_5_a_broker_that_answered_late_does_not_count_for_some_samples() -> None:
    moves = TwoMoves()
    at_rest = {3: {0: 0, 1: 0}}
    moves.look(0.0, {**at_rest, 4: {1: 0}})
    assert moves.look(5.0, {**at_rest, 4: None}) == 0
    assert moves.look(10.0, {**at_rest, 4: {1: 5000}}) == 0, "this may be the answer to the question before"
    assert moves.look(15.0, {**at_rest, 4: {1: 15_000}}) == 0, "so that it is not known how much time is between the"
    " two"
    assert moves.look(20.0, {**at_rest, 4: {1: 20_000}}) == 1000
