"""How fast repairs may copy, and when a rate is computed again."""

from kafka_reassign_rpc.core.config_values import DEFAULT
from kafka_reassign_rpc.core.healing.repair_targets import explained, rates_of, renewed
from kafka_reassign_rpc.core.settings.healing_settings import ASSUMED_THROUGHPUT, HealingThrottle
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE
from tests.core.build import cluster, not_moving

NO_THROTTLE, BYTES, HALF = HealingThrottle(), HealingThrottle(5000), HealingThrottle(percent=50)


def test_46_5_a_repair_has_the_lower_of_its_throttle_and_what_stands_on_the_broker() -> None:
    here = cluster(not_moving(1, 2))
    here.broker_configs = {"1": {LEADER_RATE: "300", FOLLOWER_RATE: "9000"}, DEFAULT: {FOLLOWER_RATE: "400"}}
    rate = rates_of(here, BYTES, 0)
    assert [rate(1, LEADER_RATE), rate(1, FOLLOWER_RATE)] == [300, 5000]
    assert [rate(2, LEADER_RATE), rate(2, FOLLOWER_RATE)] == [5000, 400]


def test_46_5_without_a_throttle_it_is_the_observed_throughput_or_unknown() -> None:
    here = cluster(not_moving(1, 2))
    assert rates_of(here, NO_THROTTLE, 7000)(1, LEADER_RATE) == 7000
    assert rates_of(here, NO_THROTTLE, 0)(1, LEADER_RATE) is None


def test_46_5_a_number_holds_at_once_and_a_share_is_computed_when_the_setting_changes() -> None:
    assert renewed(BYTES, 1, 8000, BYTES) == 5000
    assert renewed(NO_THROTTLE, 1, 8000, BYTES) == -1
    assert renewed(HALF, 1, 8000, HALF) == 1, "observations alone change nothing"
    assert renewed(HALF, 1, 8000, BYTES) == 4000
    assert renewed(HALF, 1, 8000, None) == 1, "a new controller keeps what it finds"
    assert renewed(HALF, -1, 8000, None) == 4000, "a repair that has no rate gets one"


def test_46_5_a_share_is_explained_by_the_link_of_which_it_is() -> None:
    assert explained(HALF, 8000) == "at 4000 B/s for each broker, 50%: a broker was seen to receive 8000 B/s"
    assumed = f"no broker's link was seen, {ASSUMED_THROUGHPUT} B/s are assumed"
    assert explained(HALF, 0) == f"at {ASSUMED_THROUGHPUT // 2} B/s for each broker, 50%: {assumed}"
