"""Rates: token buckets, and the throttles of topic and broker configs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE, named_replicas
from kafka_reassign_rpc.fleet.throttled_replicas import BURST_S, IDLE_LINK_S, UNLIMITED, ThrottledReplicas, TokenBucket


@given(
    rate=st.integers(1, 10**9),
    waits=st.lists(st.floats(0, 3, allow_nan=False), min_size=1, max_size=50),
)
def test_no_more_passes_than_the_rate_allows_over_any_time(rate: int, waits: list[float]) -> None:
    bucket = TokenBucket(rate, 0.0)
    now, passed = 0.0, 0
    for wait in waits:
        now += wait
        amount = bucket.available(now)
        bucket.take(amount, now)
        passed += amount
    assert passed <= rate * (now + BURST_S) * 1.000001 + 1


def test_debt_is_waited_off() -> None:
    bucket = TokenBucket(100, 0.0, IDLE_LINK_S)
    bucket.take(220, 0.0)
    assert bucket.available(1.0) == 0
    assert bucket.available(2.0) == 0
    assert bucket.available(2.1) == 10


def test_without_a_rate_nothing_is_held_back_and_a_rate_of_0_holds_everything_back() -> None:
    bucket = TokenBucket(None, 0.0, IDLE_LINK_S)
    bucket.take(1 << 60, 0.0)
    assert bucket.available(0.0) == UNLIMITED
    bucket.set_rate(0, 1.0)
    assert bucket.available(100.0) == 0
    bucket.set_rate(50, 101.0)
    assert bucket.available(102.0) == 10


def test_an_idle_link_saves_less_up_than_one_that_waits_for_the_other_end() -> None:
    bucket = TokenBucket(100, 0.0, IDLE_LINK_S)
    assert bucket.available(0.0) == bucket.available(9.0) == 20
    bucket.take(20, 9.0)
    assert bucket.available(9.9) == 90, "a copy goes on: what its other end could not take yet is not lost"
    bucket.hold(90, 9.9)
    bucket.hold(-90, 9.9)
    assert bucket.available(10.1) == 20, "nothing has passed for a second"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, {}),
        ("", {}),
        ("*", None),
        (" * ", None),
        ("0:101,1:102,2:101", {101: frozenset({0, 2}), 102: frozenset({1})}),
        ("0:101, 1:102", {101: frozenset({0}), 102: frozenset({1})}),
        ("x,1:,:2,1:2:3,-1:4", {}),
    ],
)
def test_l_lists_of_throttled_replicas_are_read_as_kafka_writes_them(
    value: str | None, found: dict[int, frozenset[int]] | None
) -> None:
    assert named_replicas(value) == found


def test_l_a_rate_comes_from_the_broker_or_else_from_all_brokers() -> None:
    throttles = ThrottledReplicas()
    assert throttles.rate(LEADER_RATE, 1) is None
    throttles.set_broker("<default>", {LEADER_RATE: "5"})
    throttles.set_broker("1", {LEADER_RATE: "7", FOLLOWER_RATE: "nonsense"})
    assert throttles.rate(LEADER_RATE, 1) == 7
    assert throttles.rate(LEADER_RATE, 2) == 5
    assert throttles.rate(FOLLOWER_RATE, 1) is None
    throttles.set_broker("1", {})
    assert throttles.rate(LEADER_RATE, 1) == 5


def test_l_the_two_sides_have_lists_of_their_own_and_a_deleted_config_ends_them() -> None:
    throttles = ThrottledReplicas()
    changes: list[int] = []
    throttles.on_change.append(lambda: changes.append(1))
    name = TopicPartition("t", 3)
    throttles.set_topic(
        "t",
        {"leader.replication.throttled.replicas": "3:1", "follower.replication.throttled.replicas": "*"},
    )
    assert throttles.leader_throttled(1, name)
    assert not throttles.leader_throttled(2, name)
    assert throttles.follower_throttled(2, name)
    assert not throttles.follower_throttled(2, TopicPartition("u", 3))
    throttles.set_topic("t", {"retention.ms": "1"})
    assert not throttles.leader_throttled(1, name)
    throttles.set_topic("t", {})
    assert len(changes) == 2
