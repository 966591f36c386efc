"""Client quotas by tables. The texts are those of Kafka 3.9."""

import pytest

from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, UnsupportedVersion
from kafka_reassign_rpc.core.quotas.client_quotas import (
    CLIENT_ID,
    DEFAULT,
    EXACT,
    IP,
    SPECIFIED,
    USER,
    FilterComponent,
    QuotaChange,
    QuotaEntity,
    change_quotas,
    quota_entity,
    quota_filter,
    quotas_of,
)
from tests.tables import for_each

PAIR = (USER, CLIENT_ID)
ANYONE = ((USER, None),)
RATE = "connection_creation_rate"


@pytest.mark.parametrize(
    ("components", "strict", "shapes"),
    [
        ([], False, [(USER,), (CLIENT_ID,), PAIR, (IP,)]),
        ([], True, []),
        ([(USER, SPECIFIED, None)], False, [(USER,), PAIR]),
        ([(USER, SPECIFIED, None)], True, [(USER,)]),
        ([(CLIENT_ID, DEFAULT, None)], False, [(CLIENT_ID,), PAIR]),
        ([(CLIENT_ID, SPECIFIED, None), (USER, EXACT, "a")], True, [PAIR]),
        ([(IP, EXACT, "10.0.0.1")], False, [(IP,)]),
    ],
)
def test_sv_5_a_filter_asks_for_entities_of_certain_types(
    components: list[tuple[str, int, str | None]], strict: bool, shapes: list[tuple[str, ...]]
) -> None:
    found = quota_filter([FilterComponent(*one) for one in components], strict=strict)
    assert list(found.shapes()) == shapes
    assert found.exact == {kind: name for kind, match, name in components if match != SPECIFIED}


@pytest.mark.parametrize(
    ("components", "text"),
    [
        ([("", SPECIFIED, None)], "Unexpected empty filter component entity type"),
        ([(USER, EXACT, "a"), (USER, SPECIFIED, None)], "Duplicate user filter component entity type"),
        ([(CLIENT_ID, EXACT, "a")] * 2, "Duplicate client filter component entity type"),
        ([(USER, EXACT, None)], "Unexpected match type 0, or a name is missing"),
        ([(USER, 3, None)], "Unexpected match type 3, or a name is missing"),
        (
            [(IP, SPECIFIED, None), (USER, SPECIFIED, None)],
            "Invalid entity filter component combination, IP filter component should not be used with user or clientId"
            " filter component.",
        ),
    ],
)
def test_sv_5_a_filter_that_makes_no_sense_is_refused(components: list[tuple[str, int, str | None]], text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        quota_filter([FilterComponent(*one) for one in components], strict=False)
    assert str(refused.value) == text


def test_sv_5_entity_types_of_other_kafkas_are_not_served() -> None:
    with pytest.raises(UnsupportedVersion, match=r"^Custom entity type 'group' not supported$"):
        quota_filter([FilterComponent("group", SPECIFIED, None)], strict=False)


@pytest.mark.parametrize(
    ("parts", "entity"),
    [
        ([(USER, "a")], ((USER, "a"),)),
        ([(CLIENT_ID, None)], ((CLIENT_ID, None),)),
        ([(CLIENT_ID, "x"), (USER, None)], ((USER, None), (CLIENT_ID, "x"))),
        ([(IP, "10.0.0.1")], ((IP, "10.0.0.1"),)),
        ([(IP, None)], ((IP, None),)),
    ],
)
def test_sv_5_quotas_are_those_of_a_user_a_client_both_or_an_ip(
    parts: list[tuple[str, str | None]], entity: QuotaEntity
) -> None:
    assert quota_entity(parts) == entity


@for_each(
    ("parts", "text"),
    [
        ([], "Invalid empty client quota entity"),
        ([("group", "g")], "Unhandled client quota entity type: group"),
        ([(USER, "")], "Empty user not supported"),
        (
            [(IP, "10.0.0.1"), (USER, "a")],
            "Invalid quota entity combination, IP entity should not be used with user/client ID entity.",
        ),
        ([(USER, "..")], "The name of a user has at most 1024 characters, and is neither '.' nor '..'"),
        ([(CLIENT_ID, "x" * 1025)], "The name of a client-id has at most 1024 characters, and is neither '.' nor '..'"),
        *(
            (
                [(IP, ip)],
                f"{ip} is not a valid IP or resolvable host. This server takes IPv4 addresses and resolves no names.",
            )
            for ip in ("localhost", "::1", "10.0.0.256")
        ),
    ],
)
def test_sv_5_an_entity_that_cannot_be_is_refused(parts: list[tuple[str, str | None]], text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        quota_entity(parts)
    assert str(refused.value) == text


def test_sv_5_quotas_are_set_and_removed_and_all_other_configs_stay() -> None:
    changes = [
        QuotaChange("producer_byte_rate", 1000.0),
        QuotaChange("consumer_byte_rate", 2.0**63),
        QuotaChange("request_percentage", 12.5),
        QuotaChange("controller_mutation_rate", None),
        QuotaChange("not there", None),
    ]
    before = {"SCRAM-SHA-256": "secret", "controller_mutation_rate": "7.0", "producer_byte_rate": "1"}
    after = change_quotas(ANYONE, changes, before)
    assert after == {
        "SCRAM-SHA-256": "secret",
        "producer_byte_rate": "1000",
        "consumer_byte_rate": "9223372036854775807",
        "request_percentage": "12.5",
    }
    assert quotas_of(ANYONE, after) == {
        "producer_byte_rate": 1000.0,
        "consumer_byte_rate": 2.0**63,
        "request_percentage": 12.5,
    }
    assert change_quotas(((IP, None),), [QuotaChange("connection_creation_rate", 5.0)], {}) == {
        "connection_creation_rate": "5"
    }


@for_each(
    ("entity", "name", "value", "text"),
    [
        (ANYONE, RATE, 1.0, f"Invalid configuration key {RATE}"),
        (((IP, None),), "producer_byte_rate", 1.0, "Invalid configuration key producer_byte_rate"),
        (ANYONE, "SCRAM-SHA-256", 1.0, "Invalid configuration key SCRAM-SHA-256"),
        (ANYONE, "producer_byte_rate", 1.5, "Configuration producer_byte_rate must be a LONG value"),
        (ANYONE, "producer_byte_rate", 2.0**64, "Configuration producer_byte_rate must be a LONG value"),
        (
            ((IP, None),),
            "connection_creation_rate",
            2.0**31,
            "Configuration connection_creation_rate must be a INT value",
        ),
        (ANYONE, "request_percentage", float("nan"), "Configuration request_percentage must be a finite number"),
        (ANYONE, "producer_byte_rate", float("inf"), "Configuration producer_byte_rate must be a finite number"),
        (((IP, None),), RATE, -1.0, f"Configuration {RATE} must be a INT value"),
    ],
)
def test_sv_5_a_quota_that_cannot_be_is_refused(entity: QuotaEntity, name: str, value: float, text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        change_quotas(entity, [QuotaChange(name, value)], {})
    assert str(refused.value) == text


def test_sv_6_quotas_in_zookeeper_that_are_no_numbers_are_left_out() -> None:
    configs = {"producer_byte_rate": "1.0E7", "consumer_byte_rate": "x", "request_percentage": "9" * 5000}
    assert quotas_of(ANYONE, configs) == {"producer_byte_rate": 1e7}


@pytest.mark.parametrize(
    ("text", "value"),
    [("5d", 5.0), (" 7 ", 7.0), ("0x1p3", 8.0), ("1_000", None), ("\u0665", None), ("Infinity", None)],
)
def test_sv_6_quotas_in_zookeeper_are_numbers_where_java_reads_one(text: str, value: float | None) -> None:
    assert quotas_of(ANYONE, {"producer_byte_rate": text}).get("producer_byte_rate") == value
