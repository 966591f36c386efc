"""The settings of self-healing (KIP-46): names, defaults, and the values in force."""

import msgspec

from kafka_reassign_rpc.core.config_values import INT32, flag, number
from kafka_reassign_rpc.core.healing.healing_throttle import EXPECTED, HealingThrottle
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.support.bounded_text import shown

OFF = -1
INTERVAL = "failure.interval.ms"
ALERT_INTERVAL = "failure.alert.interval.ms"
PAUSED = "self.healing.paused"
MAX_BROKERS = "self.healing.max.failed.brokers"
MAX_PERCENTAGE = "self.healing.max.failed.percentage"
THROTTLE = "self.healing.throttle"
CHUNK = "self.healing.max.moves"
CANCEL_ON_RETURN = "self.healing.cancel.on.return"

GRACE_MS = 30_000
"""A controller repairs a broker only after it has itself missed the broker for so long, however old the failure is, and
so long after too many brokers were gone."""

MAX_INTERVAL_MS = 10**14
"""Three thousand years: an upper bound, so that the due time is a valid date."""


class HealingSettings(msgspec.Struct, frozen=True):
    """The settings of self-healing.

    interval_ms         a broker is repaired after it has been gone for so long; -1: self-healing is off
    alert_interval_ms   time until an alert, even if self-healing is off; -1: half the interval
    max_brokers         brake: no repair while more brokers than this are gone
    max_percentage      brake: no repair while a greater share of the brokers is gone
    throttle            of each broker that takes part in a repair
    chunk               moves of repairs in flight at a time
    cancel_on_return    cancel the moves of a repair in flight when its broker comes back
    """

    interval_ms: int = OFF
    alert_interval_ms: int = OFF
    max_brokers: int = 10
    max_percentage: int = 40
    throttle: HealingThrottle = HealingThrottle()
    chunk: int = 500
    cancel_on_return: bool = False
    paused: bool = False

    @property
    def alert_after_ms(self) -> int | None:
        """None: never. No repair starts before its alert."""
        if self.interval_ms < 0:
            return None if self.alert_interval_ms < 0 else self.alert_interval_ms
        return self.interval_ms // 2 if self.alert_interval_ms < 0 else min(self.alert_interval_ms, self.interval_ms)

    @property
    def grace_ms(self) -> int:
        """How long brokers get to come back while others come back too."""
        return max(0, min(GRACE_MS, self.interval_ms))


_NUMBERS = {
    INTERVAL: ("interval_ms", -1, MAX_INTERVAL_MS),
    ALERT_INTERVAL: ("alert_interval_ms", -1, MAX_INTERVAL_MS),
    MAX_BROKERS: ("max_brokers", 0, INT32),
    MAX_PERCENTAGE: ("max_percentage", 0, 100),
    CHUNK: ("chunk", 1, INT32),
}
_FLAGS = {PAUSED: "paused", CANCEL_ON_RETURN: "cancel_on_return"}


def settings_of(cluster: Cluster, started_with: HealingSettings) -> tuple[HealingSettings, list[str]]:
    """The settings in force (dynamic configs, else `started_with`), and what is wrong with the configs.

    An invalid value is ignored, so the former setting holds, and reported.
    """
    found: dict[str, int | bool | HealingThrottle] = {}
    problems = []
    for name, text in cluster.default_configs.items():
        if name in _NUMBERS:
            field, low, high = _NUMBERS[name]
            value: int | bool | HealingThrottle | None = number(text, low, high)
            expected = f"a whole number from {low} to {high}"
        elif name == THROTTLE:
            value, field, expected = _throttle(text), "throttle", EXPECTED
        elif name in _FLAGS:
            field, value, expected = _FLAGS[name], flag(text), "true or false"
        else:
            continue
        if value is None:
            problems.append(f"{name}={shown(text)} is left out: {expected} is expected")
        else:
            found[field] = value
    return msgspec.structs.replace(started_with, **found), problems


def is_paused(cluster: Cluster) -> bool:
    """Whether an operator has paused self-healing."""
    return flag(cluster.default_configs.get(PAUSED, "")) is True


def _throttle(text: str) -> HealingThrottle | None:
    try:
        return HealingThrottle.parse(text)
    except ValueError:
        return None
