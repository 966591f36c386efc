"""46-5: the throttle of a repair is a number of bytes or a share of the observed throughput."""

import pytest

from kafka_reassign_rpc.api.config_entries import DEFINITIONS
from kafka_reassign_rpc.cli.value_parsers import of_kind
from kafka_reassign_rpc.core.config_values import INT64
from kafka_reassign_rpc.core.configs.config_definitions import ConfigValueError, parse
from kafka_reassign_rpc.core.healing.repair_targets import explained
from kafka_reassign_rpc.core.settings.healing_settings import ASSUMED_THROUGHPUT, THROTTLE, HealingThrottle
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.writers.facts import TimeTold
from tests.core.build import learn, write
from tests.tables import for_each


@for_each(
    ("text", "throttle"),
    [
        ("-1", HealingThrottle()),
        ("5000000", HealingThrottle(5_000_000)),
        ("0", HealingThrottle(0)),
        (str(INT64), HealingThrottle(INT64)),
        ("1%", HealingThrottle(percent=1)),
        (" 100 % ", HealingThrottle(percent=100)),
        ("5 MB", HealingThrottle(5_000_000)),
        ("100MiB", HealingThrottle(100 * 2**20)),
    ],
)
def test_46_5_a_throttle_is_bytes_per_second_or_a_share(text: str, throttle: HealingThrottle) -> None:
    assert HealingThrottle.parse(text) == throttle
    assert HealingThrottle.parse(str(throttle)) == throttle


@for_each("text", ["", "%", "0%", "101%", "-5%", "1.5%", "-2", "+5", "5 parsecs", "٣%", "half", "True", str(2**63)])
def test_46_5_an_invalid_throttle_is_refused_with_the_expected_syntax(text: str) -> None:
    assert HealingThrottle.parse(text) is None
    expected = r"bytes per second \(-1: no limit\) or a share of a broker's link from 1%"
    with pytest.raises(ConfigValueError, match=expected):
        parse(DEFINITIONS[THROTTLE], text)
    with pytest.raises(ValueError, match=expected):
        of_kind(SERVER_SETTINGS[THROTTLE].kind)(text)


def test_46_5_a_share_is_of_the_observed_throughput_or_else_of_one_gigabit_per_second() -> None:
    assert ASSUMED_THROUGHPUT * 8 == 1_000_000_000
    assert HealingThrottle(percent=50).of(0) == ASSUMED_THROUGHPUT // 2
    assert HealingThrottle(percent=50).of(7_000_001) == 3_500_000
    assert HealingThrottle(percent=1).of(1) == 1, "never a throttle of nothing"
    assert (HealingThrottle(7).of(1000), HealingThrottle().of(1000)) == (7, -1)
    assert (explained(HealingThrottle(7), 1000), explained(HealingThrottle(), 0)) == ("", "")


@pytest.mark.parametrize(
    ("setting", "expected"),
    [("-1", HealingThrottle(5_000_000)), ("40MB", HealingThrottle(40_000_000)), ("50%", HealingThrottle(percent=50))],
    ids=["no throttle", "a rate: its lease follows the window", "a share: so does its lease"],
)
def test_dh_5_repairs_without_a_throttle_have_the_rate_of_the_window(setting: str, expected: HealingThrottle) -> None:
    windows = "daily 00:00-24:00 UTC rate=5MB"
    here = Cluster(settings={"self.healing.throttle": setting, "reassignment.windows": windows})
    learn(here, TimeTold(0))
    assert here.soft.in_force.healing.throttle == expected
    write(here, settings={"self.healing.throttle": setting})
    learn(here, TimeTold(0))
    assert here.soft.in_force.healing.throttle == HealingThrottle.parse(setting)
