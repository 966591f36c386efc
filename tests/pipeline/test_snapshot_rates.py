"""What a plan says of rates that stand on brokers and are stricter than its own."""

from pathlib import Path

from kafka_reassign_rpc.pipeline.snapshots.broker_rows import standing_rates, stricter_rate_notes
from kafka_reassign_rpc.pipeline.snapshots.snapshot_files import SnapshotWriter
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import OF_ALL_BROKERS, OF_BROKER, STATIC, SnapshotMeta

LEADER, FOLLOWER = "leader.replication.throttled.rate", "follower.replication.throttled.rate"


def _snapshot(path: Path) -> Path:
    """Broker 1 has rates of its own, one of them not strict; broker 2 has what stands for all; broker 3 has none."""
    with SnapshotWriter(path) as writer:
        writer.brokers.extend((broker, None, "h", 1, None, None, True) for broker in (1, 2, 3))
        writer.configs.add(("broker", "1", LEADER, "5000000", OF_BROKER))
        writer.configs.add(("broker", "1", FOLLOWER, "90000000", OF_BROKER))
        writer.configs.add(("broker", "2", FOLLOWER, "1000", STATIC))
        writer.configs.add(("broker", "3", LEADER, "90000000", OF_BROKER))
        writer.configs.add(("broker", "", LEADER, "7000000", OF_ALL_BROKERS))
        writer.configs.add(("topic", "t", LEADER, "1", 1))
        writer.finish(SnapshotMeta("c", 5))
    return path


def test_fg_4_a_plan_says_which_stricter_rate_goes_on_for_whom_and_why(tmp_path: Path) -> None:
    path = _snapshot(tmp_path / "snapshot")
    limits = [
        note.partition("goes on: ")[2].partition(". The duration")[0]
        for note in stricter_rate_notes(path, 20_000_000, [1, 2, 3])
    ]
    assert limits == [
        "5000000 B/s to send on broker 1 (its own dynamic config)",
        "7000000 B/s to send on broker 2 (the dynamic config of all brokers)",
    ]
    assert stricter_rate_notes(path, 20_000_000, [3]) == []
    assert stricter_rate_notes(path, 6_000_000, [2, 3]) == [], "the throttle is the stricter one"
    assert stricter_rate_notes(path, None, [1, 2, 3]) == [], "without a lease"


def test_fg_4_a_rate_in_server_properties_has_no_effect_as_in_kafka(tmp_path: Path) -> None:
    found = standing_rates(_snapshot(tmp_path / "snapshot"), [2]).rates[2]
    assert (found[FOLLOWER], found[LEADER]) == (None, (7_000_000, "default"))
