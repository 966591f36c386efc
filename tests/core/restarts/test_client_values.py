"""Names, quotas and credentials of clients, as Java reads them; `tests/stock/test_restarts.py` tries stock brokers."""

import math
from contextlib import suppress

import pytest

from kafka_reassign_rpc.core.configs.scram_credentials import Upsertion, altered
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.core.quotas.client_quotas import (
    CLIENT_ID,
    IP,
    QUOTA_NAMES,
    USER,
    QuotaChange,
    change_quotas,
    quota_entity,
)
from kafka_reassign_rpc.core.restarts import table
from kafka_reassign_rpc.core.restarts.ending_values import CLIENTS, IPS, USERS, name_trouble, value_troubles
from kafka_reassign_rpc.core.restarts.table import Ending


@pytest.mark.parametrize(
    ("kind", "name", "ending"),
    [
        (USERS, "50%", table.CLIENT_NAMES),
        (CLIENTS, "a%zz", table.CLIENT_NAMES),
        (USERS, "%-1", table.CLIENT_NAMES),
        (USERS, "alice%40x", None),
        (USERS, "%FF", None),
        (USERS, "%+5", None),
        (USERS, "<default>", None),
        (IPS, "<default>", None),
        (IPS, "10.0.0.1", None),
        (IPS, "10.1", None),
        (IPS, "::1", None),
        (IPS, "300.1.1.1", table.ADDRESSES),
        (IPS, "1.2.3.4.5", table.ADDRESSES),
        (IPS, "1..2", table.ADDRESSES),
        (IPS, "%3A%3A1", table.ADDRESSES),
        (IPS, ":::", table.ADDRESSES),
        (IPS, "client7.example", table.HOSTS),
    ],
)
def test_hm_1_a_name_that_a_starting_broker_cannot_read_is_known(kind: str, name: str, ending: Ending | None) -> None:
    found = name_trouble(kind, name)
    assert (None if found is None else found.ending) is ending


@pytest.mark.parametrize(
    ("path", "config", "value", "ending"),
    [
        ("users/a", "producer_byte_rate", "1.5", table.QUOTAS),
        ("users/a", "producer_byte_rate", " 5", table.QUOTAS),
        ("clients/a", "consumer_byte_rate", "9e9", table.QUOTAS),
        ("clients/<default>", "consumer_byte_rate", "99999999999999999999", table.QUOTAS),
        ("users/a/clients/c", "request_percentage", "fast", table.QUOTAS),
        ("users/a", "controller_mutation_rate", "", table.QUOTAS),
        ("ips/10.0.0.1", "connection_creation_rate", "3000000000", table.QUOTAS),
        ("ips/10.0.0.1", "connection_creation_rate", "1.0", table.QUOTAS),
        ("users/a", "SCRAM-SHA-512", "salt=a", table.CREDENTIALS),
        ("users/<default>", "SCRAM-SHA-512", "salt=a", table.CLIENT_NUMBERS),
        ("clients/c", "SCRAM-SHA-512", "salt=a", table.CLIENT_NUMBERS),
        ("users/a/clients/c", "SCRAM-SHA-512", "salt=a", table.CLIENT_NUMBERS),
        ("users/a", "other", "x", table.CLIENT_NUMBERS),
        ("users/a", "producer_byte_rate", "-5", None),
        ("users/a", "producer_byte_rate", "+5", None),
        ("users/a", "request_percentage", " 5e1 ", None),
        ("users/a", "request_percentage", "NaN", None),
        ("ips/10.0.0.1", "connection_creation_rate", "-5", None),
        ("users/a", "SCRAM-SHA-256", "salt=AA==,stored_key=AA==,server_key=AA==,iterations=-3", None),
    ],
)
def test_hm_1_a_value_that_a_starting_broker_cannot_read_is_known(
    path: str, config: str, value: str, ending: Ending | None
) -> None:
    found = [one.ending for one in value_troubles(path.split("/"), {config: value})]
    assert found == ([] if ending is None else [ending])


@pytest.mark.parametrize("value", [0.0, 5.0, -1.0, 1e15, 0.1 + 0.2, 9.3e18, 1e-9, 1e300, float("inf"), float("nan")])
def test_hm_1_what_this_server_writes_of_quotas_and_credentials_every_broker_can_read(value: float) -> None:
    written = 0
    for kind, name, path in ((USER, "a", "users/a"), (CLIENT_ID, "c", "clients/c"), (IP, "10.0.0.1", "ips/10.0.0.1")):
        entity = quota_entity([(kind, name)])
        for config in QUOTA_NAMES:
            with suppress(InvalidRequest):
                configs = change_quotas(entity, [QuotaChange(config, value)], {})
                assert not [*value_troubles(path.split("/"), configs)]
                written += 1
    assert written or not math.isfinite(value)


def test_hm_1_a_credential_that_this_server_writes_every_broker_can_read() -> None:
    written = altered([Upsertion("a", 1, 4096, b"salt", b"password")], {})
    assert not [*value_troubles(["users", "a"], written)]
