"""The settings of self-healing (KIP-46): each is declared by its field."""

from typing import Annotated, NamedTuple, Self

import msgspec

from kafka_reassign_rpc.core.config_values import INT64, number
from kafka_reassign_rpc.core.settings.setting_kinds import BOOLEAN, ServerSetting, long, text_of, whole, word
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.human_units import parse_size

OFF = -1
INTERVAL = "failure.interval.ms"
PAUSED = "self.healing.paused"
MAX_BROKERS = "self.healing.max.failed.brokers"
MAX_PERCENTAGE = "self.healing.max.failed.percentage"
THROTTLE = "self.healing.throttle"
CANCEL_ON_RETURN = "self.healing.cancel.on.return"
APPROVAL = "self.healing.approval"

NO_APPROVAL, APPROVAL_REQUIRED = APPROVALS = ("none", "required")

GRACE_MS = 30_000
"""However old a failure is, a controller repairs the broker only after it has itself missed it for this long, and this
long after too many brokers were gone.
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


ASSUMED_THROUGHPUT = 125_000_000
"""Bytes/s before the first observation: one gigabit per second."""


class HealingThrottle(NamedTuple):
    """For each broker in a repair: bytes/s (-1: no limit), or, if not 0, percent of the observed throughput."""

    rate: int = -1
    percent: int = 0

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """`5000000`, `50MB`, `-1`, `50%`; None: anything else."""
        digits = text.strip().removesuffix("%").rstrip()
        number = whole_number(digits, -1, INT64)
        if number is not None:
            if digits == text.strip():
                return cls(number)
            return cls(percent=number) if 1 <= number <= 100 else None
        with_unit = parse_size(text.strip())
        return cls(with_unit) if with_unit is not None and 0 <= with_unit <= INT64 else None

    def __str__(self) -> str:
        return f"{self.percent}%" if self.percent else str(self.rate)

    def of(self, fastest: int) -> int:
        """Bytes/s, -1: no limit. `fastest`: the observed throughput in bytes/s, 0 before the first observation."""
        return max(1, (fastest or ASSUMED_THROUGHPUT) * self.percent // 100) if self.percent else self.rate


_RATE_OR_SHARE = text_of(
    HealingThrottle.parse,
    "a whole number of bytes per second (-1: no limit) or a share of a broker's link from 1% to 100%",
)


class HealingSettings(msgspec.Struct, frozen=True):
    """`unreadable`: why the settings of all servers cannot be read, so that no repair starts; empty if they can."""

    interval_ms: Annotated[
        int,
        ServerSetting(
            INTERVAL,
            long(OFF, MAX_INTERVAL_MS),
            "Milliseconds for which a broker has to be gone before the controller moves its replicas to other brokers."
            " -1: never, self-healing is off.",
            "MS",
        ),
    ] = OFF
    alert_interval_ms: Annotated[
        int,
        ServerSetting(
            "failure.alert.interval.ms",
            long(OFF, MAX_INTERVAL_MS),
            "Milliseconds for which a broker has to be gone before the server logs an alert, with self-healing on or"
            " off. A repair never starts before its alert: where self-healing is on, failure.interval.ms is the upper"
            " limit. -1: half of failure.interval.ms, or no alert where self-healing is off.",
            "MS",
        ),
    ] = OFF
    max_brokers: Annotated[
        int,
        ServerSetting(
            MAX_BROKERS, whole(0), "If more brokers than this are gone, the controller starts no repair.", "BROKERS"
        ),
    ] = 10
    max_percentage: Annotated[
        int,
        ServerSetting(
            MAX_PERCENTAGE,
            whole(0, 100),
            "If more than this percentage of the brokers is gone, the controller starts no repair.",
            "PERCENT",
        ),
    ] = 40
    throttle: Annotated[
        HealingThrottle,
        ServerSetting(
            THROTTLE,
            _RATE_OR_SHARE,
            "The replication throttle of repairs for each broker: bytes per second, or a share such as 50% of the"
            " observed replication throughput (the highest rate at which a broker was seen to receive moves that had no"
            f" throttle; {ASSUMED_THROUGHPUT} bytes per second until one was seen). -1: no throttle.",
            "BYTES/S|SHARE%",
        ),
    ] = HealingThrottle()
    chunk: Annotated[
        int, ServerSetting("self.healing.max.moves", whole(1), "Moves of repairs in flight at a time.", "MOVES")
    ] = 500
    cancel_on_return: Annotated[
        bool,
        ServerSetting(
            CANCEL_ON_RETURN,
            BOOLEAN,
            "Whether the controller cancels a repair's moves in flight when the lost broker comes back. Moves of the"
            " repair that still wait never start then.",
            "true|false",
        ),
    ] = False
    paused: Annotated[
        bool,
        ServerSetting(
            PAUSED,
            BOOLEAN,
            "Whether self-healing pauses. With true no repair starts. `kafka-reassign heal --pause` sets it, `--resume`"
            " deletes it.",
        ),
    ] = False
    approval: Annotated[
        str,
        ServerSetting(
            APPROVAL,
            word(*APPROVALS),
            "Whether a repair that self-healing has queued waits for `kafka-reassign heal --approve`: `none` or"
            " `required`. What already waits for approval still needs it after a change to `none`.",
            "|".join(APPROVALS),
            if_invalid=APPROVAL_REQUIRED,
        ),
    ] = NO_APPROVAL
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
