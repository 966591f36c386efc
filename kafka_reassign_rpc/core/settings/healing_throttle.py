"""`self.healing.throttle`."""

from typing import Any, NamedTuple, Self

from kafka_reassign_rpc.core.config_values import INT64
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.human_units import parse_size
from kafka_reassign_rpc.support.secrecy import told

EXPECTED = "a whole number of bytes per second (-1: no limit) or a share of a broker's link from 1% to 100%"


ASSUMED = 125_000_000
"""Bytes/s before the first observation: one gigabit per second."""


class HealingThrottle(NamedTuple):
    """For each broker in a repair: bytes/s (-1: no limit), or, if not 0, percent of the observed throughput."""

    rate: int = -1
    percent: int = 0

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Accepts `5000000`, `50MB`, `-1`, `50%`. Raises ValueError with the expected syntax."""
        text = str(value).strip()
        digits = text.removesuffix("%").rstrip()
        number = whole_number(digits, -1, INT64)
        if number is not None:
            if digits == text:
                return cls(number)
            if 1 <= number <= 100:
                return cls(percent=number)
        with_unit = parse_size(text)
        if with_unit is not None and 0 <= with_unit <= INT64:
            return cls(with_unit)
        raise ValueError(f"expected {EXPECTED}, got {told(value)}")

    def __str__(self) -> str:
        return f"{self.percent}%" if self.percent else str(self.rate)

    def of(self, fastest: int) -> int:
        """Bytes/s, -1: no limit. `fastest`: the observed throughput in bytes/s, 0 before the first observation."""
        return max(1, (fastest or ASSUMED) * self.percent // 100) if self.percent else self.rate

    def now_of(self, present: int, fastest: int, former: Self | None) -> int:
        """The rate of a repair that waits or moves at `present`. `former`: the throttle that repairs had from this
        controller before, None: it has seen none.

        A number holds at once; a share is computed when a repair joins the queue and when the setting changes, not with
        each observation. A new controller has observed nothing yet, so it keeps what it finds.
        """
        if self.percent and (self == former or (former is None and present > 0)):
            return present
        return self.of(fastest)

    def explained(self, fastest: int) -> str:
        """What a share amounts to, and of what; else ""."""
        if not self.percent:
            return ""
        link = f"a broker was seen to receive {fastest} B/s" if fastest else f"no broker's link was seen, {ASSUMED} B/s"
        return f"at {self.of(fastest)} B/s for each broker, {self}: {link}{'' if fastest else ' are assumed'}"
