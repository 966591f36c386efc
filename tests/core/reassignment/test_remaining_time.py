"""How long each copy still takes by itself, from the first and the last sample of its move."""

from kafka_reassign_rpc.core.reassignment.move_progress import Arrivals
from kafka_reassign_rpc.core.reassignment.remaining_time import Sample, Samples


def test_240_6_a_copy_takes_what_it_lacks_by_its_gain_over_what_the_leader_gets_meanwhile() -> None:
    samples = Samples()
    samples.add(Sample(100.0, 50, (0, 10, 5)))
    samples.add(Sample(110.0, 70, (40, 30, 15)))
    assert [*samples.alone([20, 60, 60])] == [10.0, None, None], "the others do not gain on the leader"
    assert [*samples.alone([0, 0, 0])] == [0.0, 0.0, 0.0]
    assert samples.rate == (40 + 20 + 10) // 10


def test_240_6_what_retention_cuts_from_the_leader_alone_is_still_in_the_size_of_the_copy() -> None:
    arrivals = Arrivals(1, 1)
    for now, total, has, lacks in ((0.0, 100, 60, 40), (10.0, 70, 60, 40), (20.0, 70, 40, 40), (30.0, 70, 80, 0)):
        arrivals.sampled(now, 1, total, [has], tells=True)
        assert arrivals.lacks == [lacks], now
