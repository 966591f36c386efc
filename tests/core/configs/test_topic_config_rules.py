"""Which configs a topic may have: rules across values, brokers of several releases, what a request does not touch."""

from collections.abc import Mapping

import pytest

from kafka_reassign_rpc.core.configs.config_definitions import ConfigValueError
from kafka_reassign_rpc.core.configs.config_layers import (
    ASKED,
    TIERED_STORAGE,
    BrokerAnswer,
    ConfigLayers,
    LiveBrokers,
    common_layers,
    live_brokers,
)
from kafka_reassign_rpc.core.configs.config_rules import validate_topic_configs
from kafka_reassign_rpc.core.restarts.ending_values import topic_trouble
from tests.tables import for_each

REMOTE = {"remote.storage.enable": "true"}
THROTTLED = "leader.replication.throttled.replicas"
NEW_IN = {
    "3.6": ("log.local.retention", "log.message.timestamp.before", "log.message.timestamp.after"),
    "3.8": ("level",),
}


def broker(release: str = "3.9", static: Mapping[str, str] | None = None) -> BrokerAnswer:
    """What a broker of this release answers."""
    later = [parts for since, parts in NEW_IN.items() if since > release]
    known = {name for name in ASKED if not any(part in name for parts in later for part in parts)}
    if release < "3.9":
        known.discard("controller.quorum.bootstrap.servers")
    return BrokerAnswer(frozenset(known), static or {}, f"{release}-IV0" if release > "2.8" else "2.8-IV1")


def of(*brokers: BrokerAnswer | None, defaults: Mapping[str, str] | None = None) -> LiveBrokers:
    return live_brokers(dict(enumerate(brokers, 1)), defaults or {}, {})


TIERED = of(broker(static={TIERED_STORAGE: "true"}))


def refusal(configs: Mapping[str, str], brokers: LiveBrokers, *touched: str) -> str | None:
    try:
        validate_topic_configs(configs, brokers, touched or None)
    except ConfigValueError as error:
        return str(error)
    return None


@for_each(
    ("brokers", "reason"),
    [
        (TIERED, None),
        (of(broker()), "is disabled in the broker"),
        (of(broker("2.8")), "is disabled in the broker"),
        (of(broker(static={TIERED_STORAGE: "true"}), broker()), "is disabled in the broker"),
        (of(broker(static={TIERED_STORAGE: "true"}), None), "is not known to be enabled"),
        (of(None, broker()), "is disabled in the broker"),
        (of(), "is not known to be enabled"),
        (LiveBrokers(), "is not known to be enabled"),
    ],
)
def test_hm_1_remote_storage_needs_tiered_storage_on_every_broker(brokers: LiveBrokers, reason: str | None) -> None:
    found = refusal(REMOTE, brokers)
    assert (found is None) == (reason is None)
    assert reason is None or reason in str(found)
    assert refusal({"remote.storage.enable": "false"}, brokers) is None


def test_hm_1_values_are_compared_with_those_in_force_on_each_broker() -> None:
    short = broker(static={"log.cleaner.max.compaction.lag.ms": "50"})
    assert refusal({"min.compaction.lag.ms": "60"}, of(broker())) is None
    assert refusal({"min.compaction.lag.ms": "60"}, of(broker(), short)) == (
        "conflict topic config setting min.compaction.lag.ms (60) > max.compaction.lag.ms (50)"
    )
    wide = {"log.cleaner.max.compaction.lag.ms": "70"}
    assert refusal({"min.compaction.lag.ms": "60"}, of(broker(), short, defaults=wide)) is None
    own = live_brokers({1: short}, wide, {1: {"log.cleaner.max.compaction.lag.ms": "10"}})
    assert "(60) > max.compaction.lag.ms (10)" in str(refusal({"min.compaction.lag.ms": "60"}, own))


def test_hm_1_local_retention_is_held_against_the_brokers_retention() -> None:
    local = {**REMOTE, "local.retention.ms": "3600001"}
    hour = of(broker(static={TIERED_STORAGE: "true", "log.retention.hours": "1"}))
    assert refusal(local, TIERED) is None
    assert "Value must not be more than retention.ms property value: 3600000" in str(refusal(local, hour))


@pytest.mark.parametrize(
    ("configs", "release"),
    [
        ({"compression.zstd.level": "3"}, "3.3"),
        ({"compression.gzip.level": "3"}, "2.8"),
        ({"local.retention.ms": "5"}, "3.3"),
        ({"message.timestamp.before.max.ms": "5"}, "3.3"),
        ({"message.format.version": "3.9"}, "2.8"),
        ({"message.format.version": "3.9-IV0"}, "3.3"),
    ],
)
def test_hm_1_what_an_older_broker_does_not_know_is_refused_while_it_is_there(
    configs: dict[str, str], release: str
) -> None:
    assert refusal(configs, of(broker())) is None
    assert refusal(configs, of(broker(), broker(release))) is not None
    assert refusal({"retention.ms": "5", "message.format.version": "2.8"}, of(broker(), broker(release))) is None


def test_hm_1_a_broker_that_has_not_answered_knows_the_message_formats_of_the_oldest_release() -> None:
    assert refusal({"message.format.version": "2.8"}, of(None)) is None
    assert refusal({"message.format.version": "3.0"}, of(None)) is not None


def test_hm_1_what_a_request_does_not_touch_is_not_judged() -> None:
    odd = {"nope": "1", THROTTLED: "odd", "retention.ms": "x", **REMOTE, "remote.log.copy.disable": "true"}
    brokers = of(broker())
    assert validate_topic_configs({**odd, "flush.ms": "5"}, brokers, {"flush.ms"}) == {**odd, "flush.ms": "5"}
    for name in odd:
        assert refusal(odd, brokers, name) is not None
        assert refusal({other: odd[other] for other in odd if other != name}, brokers, name) is None, "it is deleted"
    assert refusal({**odd, "cleanup.policy": "compact"}, brokers, "cleanup.policy") is not None, "a rule of two values"
    assert refusal({"max.compaction.lag.ms": "5"}, brokers, "min.compaction.lag.ms") is None
    low = of(broker(static={"log.cleaner.min.compaction.lag.ms": "7"}))
    assert refusal({"max.compaction.lag.ms": "5"}, low, "min.compaction.lag.ms") is not None, "its default is back"


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("0:1,1:2,", "0:1,1:2"),
        ("0:1, 1:2", "0:1,1:2"),
        (" 0:1 ,1:2", "0:1,1:2"),
        ("0:1,,1:2", "0:1,1:2"),
        (",", ""),
        ("*,", "*"),
        ("*", "*"),
    ],
)
def test_hm_1_throttled_replicas_are_stored_so_that_a_broker_can_read_them(text: str, stored: str) -> None:
    assert validate_topic_configs({THROTTLED: text}, LiveBrokers()) == {THROTTLED: stored}
    assert topic_trouble({THROTTLED: stored}, False) is None


@for_each(
    ("configs", "word"),
    [
        (REMOTE, "tiered storage"),
        ({"remote.log.copy.disable": "TRUE"}, "KRaft"),
        ({"remote.log.delete.on.disable": "true"}, "KRaft"),
        ({"segment.bytes": "1"}, "Value must be at least 14"),
        ({THROTTLED: "0:1, 1:2"}, "cannot read"),
        ({THROTTLED: "0:1,,1:2"}, "cannot read"),
        ({THROTTLED: "0:99999999999"}, "cannot read"),
        ({"message.format.version": " 3.0"}, "cannot read"),
        ({"segment.index.bytes": "11"}, "no room for an entry"),
    ],
)
def test_hm_1_what_would_end_a_broker_is_named(configs: dict[str, str], word: str) -> None:
    assert word in str(topic_trouble(configs, False))


@pytest.mark.parametrize(
    "configs",
    [{}, {"nope": "1"}, {THROTTLED: "0:1,1:2,"}, {"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "1"}],
)
def test_hm_1_what_a_broker_lives_with_is_not_named(configs: dict[str, str]) -> None:
    assert topic_trouble(configs, False) is None
    assert topic_trouble({**configs, **REMOTE}, None) is None


def test_hm_1_a_topics_values_come_from_what_most_brokers_have() -> None:
    small = broker(static={"log.index.size.max.bytes": "4096"})
    assert common_layers({1: small, 2: small, 3: broker()}, {"a": "b"}, {1: {"x": "1"}, 2: {"x": "1"}}) == ConfigLayers(
        {"x": "1"}, {"a": "b"}, {"log.index.size.max.bytes": "4096"}
    )
    assert common_layers({1: small, 2: None}, {}, {}).static == {}


def test_hm_1_a_dynamic_value_takes_the_place_of_its_synonyms() -> None:
    layers = ConfigLayers({}, {"log.retention.hours": "2"}, {"log.retention.ms": "5"})
    assert layers.effective() == {"log.retention.hours": "2"}


def test_hm_1_a_value_for_one_listener_leaves_what_other_listeners_use() -> None:
    of_one = {"listener.name.external.max.connections": "10"}
    layers = ConfigLayers(of_one, {}, {"max.connections": "100"})
    assert layers.effective() == {"max.connections": "100", **of_one}


def test_hm_1_an_index_without_room_for_an_entry_is_refused_though_kafka_takes_it() -> None:
    with pytest.raises(ConfigValueError, match="no room for an entry in less than 12 bytes"):
        validate_topic_configs({"segment.index.bytes": "11"}, LiveBrokers())
    assert validate_topic_configs({"segment.index.bytes": "12"}, LiveBrokers()) == {"segment.index.bytes": "12"}
