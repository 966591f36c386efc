"""Asks a cluster which replication rates stand on its brokers (`core.throttling.standing_rates`)."""

from collections.abc import Iterable

from kafka_reassign_rpc.client.blocking_client import ReassignmentClient
from kafka_reassign_rpc.client.client_errors import UnsupportedHere
from kafka_reassign_rpc.client.config_calls import BROKER, OF_ALL_BROKERS, OF_BROKER, Config
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.throttling.replication_throttles import Configs, rate_in_force
from kafka_reassign_rpc.core.throttling.standing_rates import SIDES, StandingRates

ANSWER_MS = 5_000
"""How long brokers may take to tell their configs."""


def standing_rates(client: ReassignmentClient, brokers: Iterable[int]) -> StandingRates:
    """To be asked before the lease is: afterwards its own rates stand there."""
    asked = sorted(set(brokers))
    try:
        [default] = client.describe_configs([(BROKER, "")]).values()
        leased = {broker: state.leased_rate for broker, state in client.controller_state().brokers.items()}
    except UnsupportedHere:  # a controller without leases
        leased = {}
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
    return StandingRates(rates, unknown, [broker for broker, rate in leased.items() if rate is not None])


def _set(configs: Iterable[Config], source: int) -> Configs:
    return {one.name: one.value for one in configs if one.value is not None and one.source == source}
