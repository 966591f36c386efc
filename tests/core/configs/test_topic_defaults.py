"""What a topic without a config of its own has by the configs of its broker, as `test_against_kafka` finds it there."""

from kafka_reassign_rpc.core.configs.config_definitions import TOPIC_CONFIGS, topic_default
from tests.tables import for_each

BEFORE, OWN_BEFORE = "message.timestamp.before.max.ms", "log.message.timestamp.before.max.ms"
DIFFERENCE = "log.message.timestamp.difference.max.ms"
LONGEST = str(2**63 - 1)
FORMAT, OWN_FORMAT = "message.format.version", "log.message.format.version"
PROTOCOL = "inter.broker.protocol.version"


@for_each(
    "topic_config, broker, value",
    [
        ("max.message.bytes", {}, "1048588"),
        ("max.message.bytes", {"message.max.bytes": "7"}, "7"),
        ("follower.replication.throttled.replicas", {"message.max.bytes": "7"}, ""),
        ("retention.ms", {}, "604800000"),
        ("retention.ms", {"log.retention.hours": "2"}, "7200000"),
        ("retention.ms", {"log.retention.hours": "2", "log.retention.minutes": "3"}, "180000"),
        ("retention.ms", {"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "5"}, "5"),
        ("retention.ms", {"log.retention.hours": "0"}, "0"),
        ("retention.ms", {"log.retention.hours": "-1"}, "-1"),
        ("retention.ms", {"log.retention.ms": "-7"}, "-1"),
        ("retention.ms", {"log.retention.ms": " 5 "}, "5"),
        ("retention.ms", {"log.retention.ms": "long"}, "long"),
        ("segment.ms", {"log.roll.hours": "2"}, "7200000"),
        ("segment.ms", {"log.roll.ms": "-7"}, "-7"),
        ("segment.jitter.ms", {"log.roll.jitter.hours": "1"}, "3600000"),
        (BEFORE, {}, LONGEST),
        (BEFORE, {DIFFERENCE: "9"}, "9"),
        (BEFORE, {DIFFERENCE: "9", OWN_BEFORE: "8"}, "8"),
        (BEFORE, {DIFFERENCE: "9", OWN_BEFORE: f" {LONGEST} "}, "9"),
        (BEFORE, {OWN_BEFORE: LONGEST}, LONGEST),
        (FORMAT, {}, "3.0-IV1"),
        (FORMAT, {OWN_FORMAT: "2.7"}, "3.0-IV1"),  # brokers ignore it from 3.0 on
        (FORMAT, {OWN_FORMAT: "2.7", PROTOCOL: "3.0-IV1"}, "3.0-IV1"),
        (FORMAT, {OWN_FORMAT: "2.7", PROTOCOL: "2.8"}, "2.7-IV2"),
        (FORMAT, {OWN_FORMAT: " 2.7 ", PROTOCOL: "3.0-IV0"}, "2.7-IV2"),
        (FORMAT, {OWN_FORMAT: "none", PROTOCOL: "2.8"}, "none"),
        (FORMAT, {OWN_FORMAT: "2.7", PROTOCOL: "none"}, "3.0-IV1"),
    ],
)
def test_hm_1_a_topic_without_a_config_has_that_of_its_broker_in_its_own_unit(
    topic_config: str, broker: dict[str, str], value: str
) -> None:
    assert topic_default(TOPIC_CONFIGS[topic_config], broker) == value
