"""The rates that hold while moves have a throttle lease. Kafka's own `--throttle` replaces what is set; under a lease
the lower rate holds on each broker (`leased_configs`), unless the lease lifts it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE, RateInForce
from kafka_reassign_rpc.support.counted import agreeing, plural

SIDES: Mapping[str, str] = {LEADER_RATE: "to send", FOLLOWER_RATE: "to receive"}


class StandingRates(NamedTuple):
    """The rates before a lease, by broker and side; `unknown`: why they are not known on a broker. `leased`: bytes/s of
    the leases of other moves, by broker.
    """

    rates: Mapping[int, Mapping[str, RateInForce | None]]
    unknown: Mapping[int, str]
    leased: Mapping[int, int] = MappingProxyType({})

    def stricter(self, lease: int) -> dict[int, dict[str, RateInForce]]:
        """The brokers that have a stricter rate, and that rate by side."""
        found = {
            broker: {name: rate for name, rate in sides.items() if rate is not None and rate.rate < lease}
            for broker, sides in self.rates.items()
        }
        return {broker: sides for broker, sides in found.items() if sides}

    def held(self, lease: int, *, lifts: bool = False) -> dict[int, dict[str, RateInForce]]:
        """The `stricter` rates that go on. A lease that lifts leaves them where other moves have a lease."""
        return {broker: sides for broker, sides in self.stricter(lease).items() if not lifts or broker in self.leased}

    def lowest(self, broker: int, name: str, lease: int, *, lifts: bool = False) -> int:
        """Bytes/s, as far as known."""
        found = self.held(lease, lifts=lifts).get(broker, {}).get(name)
        return lease if found is None else found.rate


def lease_lines(lease: int, standing: StandingRates, brokers: Collection[int], *, lifts: bool = False) -> Iterator[str]:
    """Which limit holds, for whom and why. `brokers`: those of the moves; `lifts`: see `LiftStricter`."""
    held = standing.held(lease, lifts=lifts)
    free = sorted(set(brokers) - held.keys() - standing.unknown.keys())
    if free or not held:
        where = "" if not held and not standing.unknown else f" on broker{plural(len(free))} {_listed(free)}"
        yield (
            f"The inter-broker throttle limit is {lease} B/s{where} while the reassignments need it: the controller "
            "takes it away then"
        )
    lifted = {broker: sides for broker, sides in standing.stricter(lease).items() if broker not in held}
    for text in limit_texts(lifted):
        yield f"Lifted until then: {text}"
    for of, sides in _alike(held):
        reasons = _reasons(sides)
        yield (
            f"On broker{plural(len(of))} {_listed(of)} it stays {_limits(sides)}: {' and '.join(reasons)} "
            f"{agreeing(len(reasons), 'are')} stricter, and a lease relaxes no limit{'' if lifts else _offer(sides)}"
        )
    for broker, why in sorted(standing.unknown.items()):
        yield f"Which limit holds on broker {broker} is not known, at most {lease} B/s: {why}"


def stricter_document(lease: int, standing: StandingRates, *, lifts: bool = False) -> list[dict[str, object]]:
    """The stricter rates that go on, for programs. `by`: as in `RateInForce`; null: unknown."""
    documents: list[dict[str, object]] = [
        {"broker": broker, "side": SIDES[name].removeprefix("to "), "rate": rate.rate, "by": rate.by}
        for broker, sides in sorted(standing.held(lease, lifts=lifts).items())
        for name, rate in sides.items()
    ]
    nothing = dict.fromkeys(("side", "rate", "by"))
    return documents + [{"broker": broker, **nothing} for broker in sorted(standing.unknown)]


Sides = Mapping[str, RateInForce]
"""The rate that holds, by side of a broker."""


def limit_texts(held: Mapping[int, Sides]) -> Iterator[str]:
    """Such as `5000000 B/s on brokers 1,2 (the dynamic config of all brokers)`."""
    for of, sides in _alike(held):
        yield f"{_limits(sides)} on broker{plural(len(of))} {_listed(of)} ({' and '.join(_reasons(sides))})"


def _alike(held: Mapping[int, Sides]) -> Iterator[tuple[list[int], Sides]]:
    """Groups brokers with the same limits."""
    alike: dict[tuple[tuple[str, RateInForce], ...], list[int]] = {}
    for broker, sides in sorted(held.items()):
        alike.setdefault(tuple(sides.items()), []).append(broker)
    for sides_found, of in alike.items():
        yield of, dict(sides_found)


def _limits(sides: Sides) -> str:
    if len(sides) == len(SIDES) and len(set(sides.values())) == 1:
        return f"{next(iter(sides.values())).rate} B/s"
    return " and ".join(f"{rate.rate} B/s {SIDES[name]}" for name, rate in sides.items())


def _reasons(sides: Sides) -> list[str]:
    by = {rate.by for rate in sides.values()}
    return [text for key, text in _REASONS.items() if key in by]


_REASONS = {
    "config": "its own dynamic config",
    "default": "the dynamic config of all brokers",
    "lease": "the lease of other moves",
}


def _offer(sides: Sides) -> str:
    return ". To lift it for them: --lift-stricter" if any(rate.by != "lease" for rate in sides.values()) else ""


def _listed(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))
