"""The settings for every new move: each is declared by its field. `core.settings.settings_in_force` says which values
hold, `core.restrictions` applies the rules among them, `core.queue.in_flight_caps` the caps.
"""

from typing import Annotated

import msgspec

from kafka_reassign_rpc.core.settings.healing_settings import HealingSettings
from kafka_reassign_rpc.core.settings.setting_kinds import BOOLEAN, BROKERS, Kind, ServerSetting, long, whole
from kafka_reassign_rpc.core.settings.windows import WINDOWS, refusal

ENABLED = "partition.reassignments.enabled"
REPLICATION_FACTOR_CHANGE_ALLOWED = "partition.reassignments.replication.factor.change.allowed"
MAX_PER_BROKER = "partition.reassignments.max.per.broker"
MAX_PER_CLUSTER = "partition.reassignments.max.per.cluster"
MAX_BYTES_IN_FLIGHT = "partition.reassignments.max.bytes.in.flight"
HOLD_AFTER_ABSENCE = "partition.reassignments.hold.after.absence.ms"
CORDONED_BROKERS = "cordoned.brokers"
NO_CAP = -1


class InFlightCaps(msgspec.Struct, frozen=True):
    """`repairs` counts moves of repairs (KIP-46), 0 while the brake holds. `closed`: outside of windows no move starts
    that copies anything, except repairs.
    """

    per_broker: Annotated[
        int,
        ServerSetting(
            MAX_PER_BROKER,
            whole(NO_CAP),
            "Moves in flight for one broker: moves that add a replica on it, and moves of partitions that it leads."
            " Moves above the limit wait in the queue. -1: no limit.",
            "MOVES",
        ),
    ] = NO_CAP
    per_cluster: Annotated[
        int,
        ServerSetting(
            MAX_PER_CLUSTER,
            whole(NO_CAP),
            "Moves in flight in the whole cluster. Moves above the limit wait in the queue. -1: no limit.",
            "MOVES",
        ),
    ] = NO_CAP
    bytes_in_flight: Annotated[
        int,
        ServerSetting(
            MAX_BYTES_IN_FLIGHT,
            long(NO_CAP),
            "Bytes that all moves in flight have to copy. Moves above the limit wait in the queue. -1: no limit.",
            "BYTES",
        ),
    ] = NO_CAP
    repairs: int = NO_CAP
    closed: bool = False


class ReassignmentSettings(msgspec.Struct, frozen=True):
    """`sizes_sampled`: the server asks brokers for sizes of partitions that move or wait."""

    replication_factor_change_allowed: Annotated[
        bool,
        ServerSetting(
            REPLICATION_FACTOR_CHANGE_ALLOWED,
            BOOLEAN,
            "Whether a reassignment may change the number of a partition's replicas (KIP-860).",
            "true|false",
        ),
    ] = True
    caps: InFlightCaps = InFlightCaps()
    sizes_sampled: bool = False
    healing: HealingSettings = HealingSettings()
    hold_after_absence_ms: Annotated[
        int,
        ServerSetting(
            HOLD_AFTER_ABSENCE,
            long(-1),
            "Milliseconds of control by others, such as a stock controller, after which a server that becomes"
            " the controller holds the moves that wait in the queue: they start only once they are released. After a"
            " KRaft controller it holds them however short that was. -1: only after a KRaft controller.",
            "MS",
        ),
    ] = 3_600_000
    enabled: Annotated[
        bool,
        ServerSetting(
            ENABLED,
            BOOLEAN,
            "Whether new moves may start. With false no new move starts by any route, and cancels go through."
            " `kafka-reassign --disable` sets it, `--enable` deletes it.",
        ),
    ] = True
    cordoned: Annotated[
        frozenset[int],
        ServerSetting(
            CORDONED_BROKERS,
            BROKERS,
            "Ids of the brokers that get no new replica that the controller places: by CreateTopics, CreatePartitions"
            " or self-healing. They keep what they hold (KIP-1066). `kafka-reassign cordon` adds to it, with"
            " --uncordon it takes from it.",
        ),
    ] = frozenset()
    windows: Annotated[
        str,
        ServerSetting(
            WINDOWS,
            Kind("STRING", str.strip, "windows", refusal=refusal),
            "When moves start, by the time of day: `mon-fri 22:00-06:00 Europe/Berlin; sat,sun 00:00-24:00"
            " Europe/Berlin`. A window has the days on which it begins (`daily`: all), its times, a time zone, and caps"
            " where others hold in it: `max.per.broker=2`, `max.per.cluster=20`. `rate=40MB`: throttle leases and"
            " repairs have this rate in it, at once, in place of their own. Outside of windows no waiting move starts"
            " but those of repairs; `; otherwise max.per.cluster=2` at the end: moves start under these caps. Moves in"
            " flight go on. Empty: at any time.",
        ),
    ] = ""


DEFAULT_SETTINGS = ReassignmentSettings()
