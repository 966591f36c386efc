"""Settings that the server learns from the brokers: which value holds, and what is reported."""

from collections.abc import Mapping

from msgspec.structs import replace

from kafka_reassign_rpc.core.configs.config_definitions import BROKER_CONFIGS
from kafka_reassign_rpc.core.settings.broker_settings import (
    ASKED,
    AT_FIRST,
    AUTHORIZER,
    FIELDS,
    KAFKA_DEFAULTS,
    MIGRATION,
    PROTOCOL_VERSION,
    Value,
    as_configs,
    authorizer,
    differences,
    in_force,
    lets_all_in,
    parse,
    shown,
)
from tests.tables import for_each

DELETE = "delete.topic.enable"
COUNT, RATIO, UNCLEAN = "num.partitions", "leader.imbalance.per.broker.percentage", "unclean.leader.election.enable"


def test_sv_1_every_setting_exists_in_kafka_with_the_same_default() -> None:
    for name, field in FIELDS.items():
        assert BROKER_CONFIGS[name].default == shown(getattr(KAFKA_DEFAULTS, field))
    assert BROKER_CONFIGS.keys() >= set(ASKED)


@for_each(
    ("own", "of_brokers", "before", "wanted"),
    [
        ({}, [], 1, 1),
        ({}, [], 4, 4),
        ({}, [{COUNT: 3}], 1, 3),
        ({}, [{COUNT: 3}, {}], 1, 1),
        ({}, [{COUNT: 3}, {}], 7, 7),
        ({}, [{COUNT: 3}, {COUNT: 3}, {}], 1, 3),
        ({}, [{COUNT: 3}, {COUNT: 5}], 1, 1),
        ({}, [{COUNT: 3}, {COUNT: 5}, {COUNT: 5}], 3, 5),
        ({COUNT: 9}, [{COUNT: 3}, {COUNT: 3}], 1, 9),
    ],
    ids=[
        "no brokers: Kafka's default",
        "no brokers any more: as before",
        "one broker",
        "half of the brokers have not answered",
        "half of the brokers have not answered: as before",
        "most have answered",
        "a tie",
        "most of them",
        "the operator's own value",
    ],
)
def test_sv_1_a_setting_is_the_operators_or_that_of_most_registered_brokers(
    own: Mapping[str, Value], of_brokers: list[Mapping[str, Value]], before: int, wanted: int
) -> None:
    found = in_force(own, of_brokers, replace(KAFKA_DEFAULTS, num_partitions=before))
    assert found == replace(KAFKA_DEFAULTS, num_partitions=wanted)


def test_sv_10_a_minority_does_not_allow_unclean_elections() -> None:
    allows, forbids = {UNCLEAN: True}, {UNCLEAN: False}
    assert not in_force({}, [allows, forbids, forbids], KAFKA_DEFAULTS).unclean_leader_election_enable
    assert not in_force({}, [allows, {}, {}], KAFKA_DEFAULTS).unclean_leader_election_enable
    assert in_force({}, [allows, allows, forbids], KAFKA_DEFAULTS).unclean_leader_election_enable


@for_each(
    ("name", "text", "value"),
    [
        (COUNT, "12", 12),
        (COUNT, "0", None),
        (COUNT, "many", None),
        (COUNT, "9" * 1000, None),
        (RATIO, "0", 0),
        (UNCLEAN, "True", True),
        (UNCLEAN, "1", None),
        (MIGRATION, "true", True),
        (PROTOCOL_VERSION, "3.9-IV0", "3.9-IV0"),
        (PROTOCOL_VERSION, "x" * 10_000, "x" * 50),
    ],
)
def test_sv_1_what_a_broker_answers_is_checked(name: str, text: str, value: Value | None) -> None:
    assert parse(name, text) == value


def told(own: Mapping[str, Value], **of_brokers: Mapping[str, Value]) -> list[str]:
    answered = {int(name[1:]): values for name, values in of_brokers.items()}
    return [one.text for one in differences(own, answered, in_force(own, answered.values(), KAFKA_DEFAULTS))]


def test_sv_1_brokers_that_agree_with_one_another_and_with_the_server_are_not_reported() -> None:
    same: Mapping[str, Value] = {COUNT: 3, UNCLEAN: True, PROTOCOL_VERSION: "3.9-IV0", MIGRATION: False}
    assert told({}) == told({}, b1=same, b2=same, b3={}) == told({COUNT: 3}, b1=same) == []


def test_sv_1_brokers_that_differ_are_reported_with_their_values_and_what_holds() -> None:
    assert told({}, b1={COUNT: 3}, b2={COUNT: 5}, b3={COUNT: 3}) == [
        "num.partitions=3 is in force here, but the brokers have 3 on brokers 1, 3; 5 on broker 2"
    ]
    assert told({UNCLEAN: False}, b1={UNCLEAN: True}) == [
        "unclean.leader.election.enable=false is set for this server, but the brokers have true on broker 1"
    ]
    assert told({}, b1={PROTOCOL_VERSION: "3.8-IV0"}, b2={PROTOCOL_VERSION: "3.9-IV0"}) == [
        "inter.broker.protocol.version differs: 3.8-IV0 on broker 1; 3.9-IV0 on broker 2"
    ]
    assert told({}, b1={MIGRATION: True}, b2={MIGRATION: False}) == [
        "zookeeper.metadata.migration.enable=true on broker 1: this server stands by once KRaft has taken over"
    ]


def test_sv_5_an_authorizer_of_any_broker_counts_and_none_counts_only_when_all_have_answered() -> None:
    has: Mapping[str, Value] = {AUTHORIZER: "org.Acl"}
    has_none: Mapping[str, Value] = {COUNT: 1}
    assert authorizer([]) is None
    assert authorizer([{}]) is None
    assert authorizer([has_none, {}]) is None
    assert authorizer([has_none, has_none]) == ""
    assert authorizer([has_none, has, {}]) == "org.Acl"
    assert (parse(AUTHORIZER, ""), parse(AUTHORIZER, "org.Acl")) == (None, "org.Acl")
    assert lets_all_in([]) is lets_all_in([{}]) is None
    assert lets_all_in([has_none, {}]) is True
    assert lets_all_in([has_none, has, {}]) is False
    assert told({}, b1=has, b2=has_none) == [
        "authorizer.class.name=org.Acl on broker 1: this server cannot run Java, so it refuses all that needs a"
        " right, and does not control the cluster, unless --broker-authorizer is ignore"
    ]


def test_sv_5_brokers_with_another_authorizer_than_the_server_are_reported() -> None:
    own: Mapping[str, Value] = {AUTHORIZER: "org.Acl"}
    assert told(own, b1={AUTHORIZER: "org.Acl"}, b2={}) == []
    assert told(own, b1={AUTHORIZER: "org.Acl"}, b2={COUNT: 1}, b3={AUTHORIZER: "org.Other"}) == [
        "authorizer.class.name=org.Acl is set for this server, but the brokers have none on broker 2; org.Other on"
        " broker 3: they do not decide as this server does"
    ]


def test_sv_10_whether_topics_may_be_deleted_is_not_known_before_most_brokers_have_said_so() -> None:
    allows, forbids = {DELETE: True}, {DELETE: False}
    assert in_force({}, [], AT_FIRST).delete_topic_enable is None
    assert in_force({}, [allows, {}], AT_FIRST).delete_topic_enable is None
    assert in_force({}, [allows, forbids], AT_FIRST).delete_topic_enable is None
    assert in_force({}, [allows, allows, {}], AT_FIRST).delete_topic_enable is True
    assert in_force({}, [forbids, forbids, allows], AT_FIRST).delete_topic_enable is False
    assert in_force({}, [allows, forbids], KAFKA_DEFAULTS).delete_topic_enable is True
    assert in_force({DELETE: False}, [allows], AT_FIRST).delete_topic_enable is False
    assert as_configs(AT_FIRST) == {}


def test_sv_10_it_is_reported_that_nothing_is_deleted_as_long_as_that_is_not_known() -> None:
    def unknown(**of_brokers: Mapping[str, Value]) -> list[str]:
        answered = {int(name[1:]): values for name, values in of_brokers.items()}
        return [one.text for one in differences({}, answered, in_force({}, answered.values(), AT_FIRST))]

    nothing = "delete.topic.enable is not known, so no topic is deleted: "
    assert unknown() == unknown(b1={DELETE: True}) == unknown(b1={DELETE: False}) == []
    assert unknown(b1={}) == [nothing + "no answer from broker 1"]
    assert unknown(b1={}, b2={DELETE: True}) == [nothing + "true on broker 2; no answer from broker 1"]
    assert unknown(b1={DELETE: False}, b2={DELETE: True}) == [nothing + "false on broker 1; true on broker 2"]


def test_sv_1_a_report_names_no_more_than_ten_brokers() -> None:
    answered: dict[int, Mapping[str, Value]] = {id_: {COUNT: 2} for id_ in range(1000)}
    (one,) = differences({COUNT: 1}, answered, replace(KAFKA_DEFAULTS, num_partitions=1))
    assert one.text.endswith("2 on brokers 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 990 more")


def test_sv_1_clients_see_only_what_differs_from_kafkas_defaults() -> None:
    assert as_configs(KAFKA_DEFAULTS) == {}
    changed = replace(KAFKA_DEFAULTS, num_partitions=3, auto_leader_rebalance_enable=False)
    assert as_configs(changed) == {COUNT: "3", "auto.leader.rebalance.enable": "false"}
