"""Under which epoch a server is elected, by what it has seen."""

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.failover import FARTHEST, STEPS, KnownEpochs, highest_epoch
from tests.core.build import cluster, not_moving


def test_sv_3_an_epoch_that_another_controller_has_had_ends_the_term_and_a_lower_one_does_not() -> None:
    known = KnownEpochs()
    known.elected(5)
    assert not known.found(4, 5)
    assert known.highest == 5
    assert known.found(5, 5)
    assert known.found(57, 5)
    assert known.highest == 57
    known.elected(58)
    assert not known.found(57, 58)


def test_sv_3_no_state_uses_up_all_epochs_and_the_farthest_that_is_believed_counts() -> None:
    known = KnownEpochs()
    known.elected(5)
    assert not known.found(5 + FARTHEST + 1, 5)
    assert known.highest == 5
    assert known.found(5 + FARTHEST, 5)
    assert known.highest == 5 + FARTHEST


def test_sv_3_the_epoch_rises_by_larger_steps_while_brokers_refuse_it_and_not_for_ever() -> None:
    known, own, seen = KnownEpochs(), 1, []
    known.elected(own)
    while known.refused(own):
        own = known.highest + 1
        known.elected(own)
        seen.append(own)
    assert seen == [1 + sum(STEPS[:count]) for count in range(1, len(STEPS) + 1)]
    assert tuple(10**zeros for zeros in range(1, 7)) == STEPS
    assert 10 * STEPS[-1] == FARTHEST, "what one server has raised is believed by the next"
    assert not known.refused(own)
    assert known.highest == own


def test_sv_3_the_highest_epoch_in_states_counts_and_one_that_is_too_far_ahead_hides_none() -> None:
    value = not_moving(1, 2)
    epochs = (7, 57, 3 + FARTHEST + 1)
    found = cluster(*(replace(value, controller_epoch=one) for one in epochs), value)
    steps = highest_epoch(found, 3)
    next(steps)
    with pytest.raises(StopIteration) as ended:
        next(steps)
    assert ended.value.value == 57
