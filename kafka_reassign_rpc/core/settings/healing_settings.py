"""The settings of self-healing (KIP-46): names, defaults, and the values in force."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from kafka_reassign_rpc.core.config_values import INT32, flag, number
from kafka_reassign_rpc.core.settings.healing_throttle import EXPECTED, HealingThrottle
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
APPROVAL = "self.healing.approval"

NO_APPROVAL, APPROVAL_REQUIRED = APPROVALS = ("none", "required")

GRACE_MS = 30_000
"""However old a failure is, a controller repairs the broker only after it has itself missed it for so long, and so long
after too many brokers were gone.
"""

MAX_INTERVAL_MS = 10**14
"""Three thousand years: an upper bound, so that the due time is a valid date."""


SHORTEST_MS = 30_000
"""Brokers take longer than this to restart."""


def short_interval(text: str) -> str | None:
    """Why no operator can want this value of INTERVAL; None if it is long enough, off, or no number."""
    interval = number(text, low=0, high=MAX_INTERVAL_MS)
    if interval is None or interval >= SHORTEST_MS:
        return None
    return (
        f"{INTERVAL}={interval} is {interval / 1000:g} s: a broker that restarts is away for longer, and loses its"
        f" replicas to others each time. Most clusters use minutes, as {INTERVAL}=30min"
    )


class HealingSettings(msgspec.Struct, frozen=True):
    """The settings of self-healing.

    interval_ms         a broker is repaired after it has been gone for so long; -1: self-healing is off
    alert_interval_ms   time until an alert, even if self-healing is off; -1: half the interval
    max_brokers         brake: no repair while more brokers than this are gone
    max_percentage      brake: no repair while a greater share of the brokers is gone
    throttle            for each broker that takes part in a repair
    chunk               moves of repairs in flight at a time
    cancel_on_return    cancel the moves of a repair in flight when its broker comes back
    approval            one of APPROVALS: whether a repair waits until somebody has approved it
    unreadable          why the settings of all servers cannot be read, so that no repair starts; empty if they can
    """

    interval_ms: int = OFF
    alert_interval_ms: int = OFF
    max_brokers: int = 10
    max_percentage: int = 40
    throttle: HealingThrottle = HealingThrottle()
    chunk: int = 500
    cancel_on_return: bool = False
    paused: bool = False
    approval: str = NO_APPROVAL
    unreadable: str = ""

    @property
    def alert_after_ms(self) -> int | None:
        """No repair starts before its alert. None is never."""
        if self.interval_ms < 0:
            return None if self.alert_interval_ms < 0 else self.alert_interval_ms
        return self.interval_ms // 2 if self.alert_interval_ms < 0 else min(self.alert_interval_ms, self.interval_ms)

    @property
    def grace_ms(self) -> int:
        """How long brokers get to come back while others come back too."""
        return max(0, min(GRACE_MS, self.interval_ms))


def settings_of(
    layers: Sequence[Mapping[str, str]],
    started_with: HealingSettings,
    *,
    unreadable: str = "",
    window_rate: int | None = None,
    migrating: bool = False,
) -> tuple[HealingSettings, list[str]]:
    """The settings in force (those of all servers, the strongest layer first, else `started_with`), and what is wrong
    with them.

    An invalid value is reported and ignored, except that an invalid approval counts as required. A window's rate
    throttles repairs that have no throttle. While brokers migrate to KRaft, repairs have none
    (`restrictions.lease_refused`).
    """
    found: dict[str, _Value] = {}
    problems = [unreadable] if unreadable else []
    for layer in reversed(layers):
        for name, text in layer.items():
            if name not in _VALUES:
                continue
            field, parse, expected = _VALUES[name]
            value = parse(text)
            if value is None and name == APPROVAL:
                found[field] = APPROVAL_REQUIRED
                problems.append(f"{name}={shown(text)} is taken for {APPROVAL_REQUIRED}: {expected} is expected")
            elif value is None:
                problems.append(
                    f"{name}={shown(text)} is ignored, so a weaker or the default value holds: {expected} is expected"
                )
            else:
                found[field] = value
    if window_rate is not None and found.get("throttle", started_with.throttle) == HealingThrottle():
        found["throttle"] = HealingThrottle(window_rate)  # others have leases, which follow it
    if migrating:
        found["throttle"] = HealingThrottle()
    return msgspec.structs.replace(started_with, **found, unreadable=unreadable), problems


def _approval(text: str) -> str | None:
    word = text.strip().lower()
    return word if word in APPROVALS else None


def _throttle(text: str) -> HealingThrottle | None:
    try:
        return HealingThrottle.parse(text)
    except ValueError:
        return None


_NUMBERS = {
    INTERVAL: ("interval_ms", -1, MAX_INTERVAL_MS),
    ALERT_INTERVAL: ("alert_interval_ms", -1, MAX_INTERVAL_MS),
    MAX_BROKERS: ("max_brokers", 0, INT32),
    MAX_PERCENTAGE: ("max_percentage", 0, 100),
    CHUNK: ("chunk", 1, INT32),
}
_Value = int | bool | str | HealingThrottle
_VALUES: Mapping[str, tuple[str, Callable[[str], _Value | None], str]] = {
    **{
        name: (field, partial(number, low=low, high=high), f"a whole number from {low} to {high}")
        for name, (field, low, high) in _NUMBERS.items()
    },
    THROTTLE: ("throttle", _throttle, EXPECTED),
    PAUSED: ("paused", flag, "true or false"),
    CANCEL_ON_RETURN: ("cancel_on_return", flag, "true or false"),
    APPROVAL: ("approval", _approval, " or ".join(APPROVALS)),
}
"""Setting -> field of `HealingSettings`, parser, and what it expects."""


def as_configs(settings: HealingSettings) -> dict[str, _Value]:
    """The settings by name, without the pause, with which no server starts."""
    return {name: getattr(settings, field) for name, (field, _, _) in _VALUES.items() if name != PAUSED}
