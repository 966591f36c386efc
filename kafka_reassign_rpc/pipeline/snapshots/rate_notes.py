"""The throttles that stood on brokers when a snapshot was made, as planner and verifier read them."""

from collections.abc import Collection

from kafka_reassign_rpc.core.throttling.replication_throttles import rate_in_force
from kafka_reassign_rpc.core.throttling.standing_rates import SIDES, StandingRates, limit_texts
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import OF_ALL_BROKERS, OF_BROKER
from kafka_reassign_rpc.pipeline.store_paths import StorePath


def standing_rates(path: StorePath, brokers: Collection[int]) -> StandingRates:
    """The throttles that stood on brokers. Only dynamic configs hold (BrokerConfigHandler), so a rate of unknown
    source says nothing.
    """
    own: dict[str, dict[str, str]] = {}
    default: dict[str, str] = {}
    for row in snapshot_files.rows(path, "configs"):
        if row["resource_type"] != "broker" or row["name"] not in SIDES or row["value"] is None:
            continue
        if row["resource"] and row["source"] == OF_BROKER:
            own.setdefault(row["resource"], {})[row["name"]] = row["value"]
        elif not row["resource"] and row["source"] == OF_ALL_BROKERS:
            default[row["name"]] = row["value"]
    return StandingRates(
        {
            broker: {name: rate_in_force(name, own.get(str(broker), {}), default, None) for name in SIDES}
            for broker in brokers
        },
        {},
    )


def stricter_rate_notes(path: StorePath, throttle: int | None, brokers: Collection[int]) -> list[str]:
    """Notes on rates that a lease of `throttle` bytes/s (None: none) does not relax."""
    if throttle is None:
        return []
    return [
        f"a stricter rate than --throttle stood when the snapshot was made, and goes on: {text}. The duration does not"
        " count with it (--broker-bandwidth does); `submit --lift-stricter` lifts it while the plan is carried out"
        for text in limit_texts(standing_rates(path, brokers).stricter(throttle))
    ]
