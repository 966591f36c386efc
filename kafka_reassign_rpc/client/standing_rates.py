"""Which replication rates are set on the brokers (`core.throttling.standing_rates`)."""

import time
from collections.abc import Iterable, Mapping

from kafka_reassign_rpc.client.blocking_client import ReassignmentClient
from kafka_reassign_rpc.client.client_errors import UnsupportedHere
from kafka_reassign_rpc.client.config_calls import BROKER, OF_ALL_BROKERS, OF_BROKER, Config
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.status.documents import StartWindow
from kafka_reassign_rpc.core.throttling.replication_throttles import Configs, RateInForce, rate_in_force
from kafka_reassign_rpc.core.throttling.standing_rates import SIDES, StandingRates

ANSWER_MS = 5_000
"""Milliseconds that brokers may take to describe their configs."""
SETTLE_S, POLL_S = 5.0, 0.1
"""Seconds that brokers may take to follow another lease, and between two looks."""


def standing_rates(client: ReassignmentClient, brokers: Iterable[int]) -> StandingRates:
    """Ask this before the lease: afterwards its own rates are there."""
    asked = sorted(set(brokers))
    try:
        [default] = client.describe_configs([(BROKER, "")]).values()
        leased = leased_rates(client)
    except KafkaError as error:
        return StandingRates({}, dict.fromkeys(asked, error.message))
    if isinstance(default, KafkaError):
        return StandingRates({}, dict.fromkeys(asked, default.message))
    rates, unknown = {}, {}
    for broker, own in client.describe_broker_configs(asked, timeout_ms=ANSWER_MS).items():
        if isinstance(own, KafkaError):
            unknown[broker] = own.message
            continue
        of_broker, of_all = _set(own, OF_BROKER), _set(default, OF_ALL_BROKERS)
        rates[broker] = {name: rate_in_force(name, of_broker, of_all, leased.get(broker)) for name in SIDES}
    return StandingRates(rates, unknown, leased)


def leased_rates(client: ReassignmentClient) -> dict[int, int]:
    """Bytes/s that throttle leases ask for, by broker. Raises KafkaError."""
    try:
        brokers = client.controller_state().brokers
    except UnsupportedHere:  # a controller without leases
        return {}
    return {broker: state.leased_rate for broker, state in brokers.items() if state.leased_rate is not None}


def rated_window(client: ReassignmentClient) -> StartWindow | None:
    """The window that holds, if its rate goes before that of a lease. None also if the controller does not report
    its windows.
    """
    try:
        window = client.status().window
    except KafkaError:
        return None
    return None if window is None or window.rate is None else window


def rates_after(
    client: ReassignmentClient, brokers: Iterable[int], former: Mapping[int, int], lease: int
) -> StandingRates:
    """The rates once brokers follow a lease that has changed to `lease` bytes/s; `former`: `leased_rates` before.
    Brokers learn of it a moment later. Until then the former lease looks like a stricter limit that somebody has set.
    """
    deadline = time.monotonic() + SETTLE_S
    while True:
        found = standing_rates(client, brokers)
        if not _follow_still(found.stricter(lease), former) or time.monotonic() >= deadline:
            return found
        time.sleep(POLL_S)


def _follow_still(stricter: Mapping[int, Mapping[str, RateInForce]], former: Mapping[int, int]) -> bool:
    """A stricter rate is the one that a lease asked for before."""
    return any(
        rate.by != "lease" and rate.rate == former.get(broker)
        for broker, sides in stricter.items()
        for rate in sides.values()
    )


def _set(configs: Iterable[Config], source: int) -> Configs:
    return {one.name: one.value for one in configs if one.value is not None and one.source == source}
