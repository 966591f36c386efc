"""The settings for every new move: names and defaults. `core.settings.settings_in_force` says which values hold,
`core.restrictions` applies the rules among them, `core.queue.in_flight_caps` the caps.
"""

import msgspec

from kafka_reassign_rpc.core.settings.healing_settings import HealingSettings

ENABLED = "partition.reassignments.enabled"
REPLICATION_FACTOR_CHANGE_ALLOWED = "partition.reassignments.replication.factor.change.allowed"
MAX_PER_BROKER = "partition.reassignments.max.per.broker"
MAX_PER_CLUSTER = "partition.reassignments.max.per.cluster"
MAX_BYTES_IN_FLIGHT = "partition.reassignments.max.bytes.in.flight"
HOLD_AFTER_ABSENCE = "partition.reassignments.hold.after.absence.ms"
DEFAULT_ABSENCE_MS = 3_600_000


class InFlightCaps(msgspec.Struct, frozen=True):
    """-1 is no cap. `repairs` counts moves of repairs (KIP-46), 0 while the brake holds. `closed`: outside of windows
    no move starts that copies anything, except repairs.
    """

    per_broker: int = -1
    per_cluster: int = -1
    bytes_in_flight: int = -1
    repairs: int = -1
    closed: bool = False


class ReassignmentSettings(msgspec.Struct, frozen=True):
    """The server's own settings. `sizes_sampled`: it asks brokers for sizes of partitions that move or wait."""

    replication_factor_change_allowed: bool = True
    caps: InFlightCaps = InFlightCaps()
    sizes_sampled: bool = False
    healing: HealingSettings = HealingSettings()
    hold_after_absence_ms: int = DEFAULT_ABSENCE_MS


DEFAULT_SETTINGS = ReassignmentSettings()


def cap_settings(caps: InFlightCaps) -> dict[str, int]:
    return {
        MAX_PER_BROKER: caps.per_broker,
        MAX_PER_CLUSTER: caps.per_cluster,
        MAX_BYTES_IN_FLIGHT: caps.bytes_in_flight,
    }
