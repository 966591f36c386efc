"""Numbers in place of something that is missing, as Kafka, znodes, settings and tables have them."""

from kafka_reassign_rpc.core.brokers import departure
from kafka_reassign_rpc.core.leadership import broker_changes
from kafka_reassign_rpc.core.settings import healing_settings, reassignment_settings
from kafka_reassign_rpc.core.state import partition, throttle_leases, waiting_lines
from kafka_reassign_rpc.core.topics import topic_changes
from tests.tables import for_each


@for_each(
    ("name", "found", "number"),
    [
        ("no leader: LeaderAndIsr.NoLeader", partition.NO_LEADER, -1),
        ("no leader is reported: not LeaderAndIsr.LeaderDuringDelete, -2", partition.LEADER_UNKNOWN, -3),
        ("the broker epoch of a controlled shutdown that has none: KIP-380", broker_changes.UNKNOWN_BROKER_EPOCH, -1),
        ("a count of CreateTopics that is left to the broker: KIP-464", topic_changes.BROKER_DEFAULT, -1),
        ("a move without a throttle in /admin/reassignments", throttle_leases.NO_RATE, -1),
        ("no cap, as --help and docs/settings.md say", reassignment_settings.NO_CAP, -1),
        ("no cap of a waiting move", waiting_lines.NO_CAP, -1),
        ("self-healing is off, as docs/settings.md says", healing_settings.OFF, -1),
        ("in place of a partition", departure.WHOLE_TOPIC, -1),
    ],
)
def test_what_is_missing_has_the_number_that_kafka_or_what_is_stored_has_for_it(
    name: str, found: int, number: int
) -> None:
    assert found == number, name
