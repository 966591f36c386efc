"""Exponential backoff."""

import pytest

from kafka_reassign_rpc.support.backoff import Backoff


def test_waits_double_up_to_the_longest_and_begin_again_after_a_success() -> None:
    backoff = Backoff(0.5, 3)
    assert [backoff.next_s() for _ in range(5)] == [0.5, 1, 2, 3, 3]
    backoff.reset()
    assert backoff.next_s() == 0.5


async def test_after_the_longest_wait_every_wait_is_the_longest() -> None:
    backoff = Backoff(0.001, 0.002)
    await backoff.sleep(longest=True)
    assert backoff.next_s() == pytest.approx(0.002)
