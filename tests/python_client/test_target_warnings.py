"""What commands say of targets before moves start, by hand-made cases (dp-4)."""

import pytest

from kafka_reassign_rpc.client import TopicPartition
from kafka_reassign_rpc.client.target_warnings import few_replicas_warning, held_warning
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    RateInForce,
)
from kafka_reassign_rpc.core.throttling.standing_rates import StandingRates

A, B = TopicPartition("t", 0), TopicPartition("u", 1)
Rates = dict[int, dict[str, RateInForce | None]]
SLOW = RateInForce(5, "default")
ALL = {LEADER_REPLICAS: "*", FOLLOWER_REPLICAS: "*"}


@pytest.mark.parametrize("value", ["", "1", "2", "x", "9" * 30])
def test_dp_4_a_target_with_enough_replicas_or_of_which_nothing_is_known_causes_no_warning(value: str) -> None:
    assert few_replicas_warning({A: (1, 2)}, {"t": {"min.insync.replicas": value}}) is None
    assert few_replicas_warning({A: (1, 2)}, {}) is None


def test_dp_4_targets_under_min_insync_replicas_are_named() -> None:
    configs = {"t": {"min.insync.replicas": " 3 "}, "u": {"min.insync.replicas": "2"}}
    assert few_replicas_warning({A: (1, 2), B: (1, 2)}, configs) == (
        "warning: 1 move leaves fewer replicas than min.insync.replicas asks for: t-0; producers with acks=all cannot "
        "write there then"
    )
    assert "2 moves leave fewer replicas than" in str(few_replicas_warning({A: (1, 2), B: (1,)}, configs))


def held(configs: dict[str, str], rates: Rates) -> str | None:
    """t-0 moves from brokers 1 and 2 to 3 and 2, u-1 loses a replica."""
    targets, before = {A: (3, 2), B: (1,)}, {A: (1, 2), B: (1, 2)}
    asked: list[list[int]] = []

    def standing(brokers: list[int]) -> StandingRates:
        asked.append(brokers)
        return StandingRates({one: rates.get(one, {}) for one in brokers}, {})

    found = held_warning(targets, before, {"t": configs, "u": ALL}, standing)
    assert len(asked) == bool(configs.keys() & ALL.keys()), "brokers are asked where lists name a replica"
    return found


def test_dp_4_a_throttle_that_is_set_is_named_with_the_brokers_the_rate_and_why() -> None:
    rates: Rates = {one: {LEADER_RATE: SLOW, FOLLOWER_RATE: SLOW} for one in (1, 2, 3)}
    assert held(ALL, rates) == (
        "warning: 1 move is held by a throttle that is already set: t-0; 5 B/s to send on brokers 1,2 (the dynamic "
        "config of all brokers); 5 B/s to receive on broker 3 (the dynamic config of all brokers). --throttle sets"
        " another one"
    )
    own: Rates = {3: {FOLLOWER_RATE: RateInForce(7, "config")}}
    assert "t-0; 7 B/s to receive on broker 3 (its own dynamic config)." in str(
        held({FOLLOWER_REPLICAS: "0:3,1:1"}, own)
    )


@pytest.mark.parametrize(
    ("configs", "rates"),
    [
        ({}, {3: {FOLLOWER_RATE: SLOW}}),
        ({FOLLOWER_REPLICAS: "0:3"}, {3: {LEADER_RATE: SLOW}}),
        ({FOLLOWER_REPLICAS: "0:3"}, {3: {FOLLOWER_RATE: RateInForce(5, "lease")}}),
        ({FOLLOWER_REPLICAS: "0:3"}, {}),
    ],
)
def test_dp_4_what_no_list_names_and_no_rate_limits_is_not_held(configs: dict[str, str], rates: Rates) -> None:
    assert held(configs, rates) is None


def test_dp_4_lists_that_name_other_replicas_hold_nothing_and_no_broker_is_asked() -> None:
    def standing(_: list[int]) -> StandingRates:
        raise AssertionError

    assert held_warning({A: (3, 2)}, {A: (1, 2)}, {"t": {FOLLOWER_REPLICAS: "1:3,0:2"}}, standing) is None
    assert held_warning({A: (3, 2)}, {}, {"t": ALL}, standing) is None, "it moves already, maybe with a lease"
