"""The settings for every new move: names, defaults, and the caps in force. `core.restrictions` applies the rules among
them, `core.reassignment.in_flight_caps` the caps.
"""

import msgspec

from kafka_reassign_rpc.core.config_values import INT64, number
from kafka_reassign_rpc.core.healing.brake import brake, counting
from kafka_reassign_rpc.core.healing.healing_settings import HealingSettings, settings_of
from kafka_reassign_rpc.core.settings_in_force import in_force
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.window_now import window_now

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

    @property
    def unlimited(self) -> bool:
        return not self.closed and self.per_broker < 0 and self.per_cluster < 0 and self.bytes_in_flight < 0


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


def caps_in_force(cluster: Cluster, settings: ReassignmentSettings, gone: frozenset[int] | None = None) -> InFlightCaps:
    """The caps of the window that holds, else those of all servers, else the server's own.

    `gone` are the brokers with lost replicas as just counted, None for the last count.
    """
    per_broker, per_cluster, in_flight = (
        in_force(cluster, name, _cap, value) for name, value in cap_settings(settings.caps).items()
    )
    healing, _ = settings_of(cluster, settings.healing)
    held_back = brake(counting(cluster.soft.gone if gone is None else gone, cluster), cluster.brokers, healing)
    repairs, window = healing.chunk if held_back is None else 0, window_now(cluster)
    if window is None:
        return InFlightCaps(per_broker, per_cluster, in_flight, repairs)
    terms = window.terms
    per_broker = per_broker if terms.per_broker is None else terms.per_broker
    per_cluster = per_cluster if terms.per_cluster is None else terms.per_cluster
    return InFlightCaps(per_broker, per_cluster, in_flight, repairs, closed=not terms.starts)


def _cap(text: str) -> int | None:
    return number(text, -1, INT64)
