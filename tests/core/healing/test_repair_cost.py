"""What a repair would cost: bytes, and the time of the busiest broker."""

from collections.abc import Mapping, Sequence

import pytest

from kafka_reassign_rpc.core.healing.repair_cost import Copy, CostSum, RepairCost, rates_of
from kafka_reassign_rpc.core.settings.healing_settings import HealingThrottle
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE
from tests.tables import for_each

MB = 1_000_000


@for_each(
    ("copies", "others", "cost"),
    [
        ([], (), RepairCost(0, 0)),
        ([Copy(1, 0, (2,))], (), RepairCost(0, 0)),
        ([Copy(1, 6 * MB, (2,))], (), RepairCost(6 * MB, 6000)),
        ([Copy(1, 6 * MB, (2, 3))], (), RepairCost(12 * MB, 12_000)),
        ([Copy(1, 6 * MB, (3,)), Copy(2, 6 * MB, (3,))], (), RepairCost(12 * MB, 12_000)),
        ([Copy(1, 6 * MB), Copy(2, 6 * MB)], (1, 2, 3, 4), RepairCost(12 * MB, 6000)),
        ([Copy(1, 6 * MB), Copy(2, 6 * MB)], (3,), RepairCost(12 * MB, 12_000)),
        ([Copy(1, 6 * MB)], (), RepairCost(6 * MB, None)),
        ([Copy(1, 6 * MB, (2,)), Copy(1, None, (2, 3))], (), RepairCost(6 * MB, None, 2)),
        ([Copy(1, 0, (2,)), Copy(1, None)], (), RepairCost(0, None, 1)),
        ([Copy(1, None)], (), RepairCost(None, None, 1)),
        ([Copy(1, 6 * MB, (9,))], (), RepairCost(6 * MB, None)),
    ],
)
def test_dh_8_the_busiest_broker_sets_the_time_and_what_is_not_known_is_not_0(
    copies: Sequence[Copy], others: Sequence[int], cost: RepairCost
) -> None:
    """1 MB/s each; how fast broker 9 copies is not known."""
    found = CostSum()
    for copy in copies:
        found.add(copy)
    assert found.cost(others, lambda broker, _: None if broker == 9 else MB) == cost


@pytest.mark.parametrize(
    ("throttle", "fastest", "follower_of_3", "rate"),
    [
        ("-1", 0, None, None),
        ("-1", 5 * MB, None, 5 * MB),
        ("4MB", 0, None, 4 * MB),
        ("4MB", 0, "1000000", MB),
        ("4MB", 0, "9000000", 4 * MB),
        ("50%", 6 * MB, None, 3 * MB),
    ],
)
def test_dh_8_the_rate_is_that_of_the_throttle_or_a_stricter_one_that_is_set(
    throttle: str, fastest: int, follower_of_3: str | None, rate: int | None
) -> None:
    configs: dict[str, Mapping[str, str]] = {} if follower_of_3 is None else {"3": {FOLLOWER_RATE: follower_of_3}}
    own = HealingThrottle.parse(throttle)
    assert own is not None
    found = rates_of(Cluster(broker_configs=configs), own, fastest)
    assert found(3, FOLLOWER_RATE) == rate
    assert follower_of_3 is None or found(3, LEADER_RATE) == 4 * MB
