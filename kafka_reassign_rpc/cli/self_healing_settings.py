"""The settings of self-healing (KIP-46), a part of the server's catalogue. All are dynamic."""

from kafka_reassign_rpc.cli.settings_reader import Setting
from kafka_reassign_rpc.cli.value_parsers import true_or_false, whole
from kafka_reassign_rpc.core.healing import healing_settings
from kafka_reassign_rpc.core.healing.healing_settings import HealingSettings
from kafka_reassign_rpc.core.healing.healing_throttle import HealingThrottle
from kafka_reassign_rpc.core.throttling.observed_throughput import ASSUMED

_HEALING = HealingSettings()

SELF_HEALING = "self-healing"

SELF_HEALING_SETTINGS: tuple[Setting, ...] = (
    Setting(
        healing_settings.INTERVAL,
        whole(-1, healing_settings.MAX_INTERVAL_MS),
        _HEALING.interval_ms,
        "Milliseconds for which a broker has to be gone before the controller moves its replicas to other brokers."
        " -1: never, self-healing is off.",
        dynamic=True,
        group=SELF_HEALING,
        metavar="MS",
    ),
    Setting(
        healing_settings.ALERT_INTERVAL,
        whole(-1, healing_settings.MAX_INTERVAL_MS),
        _HEALING.alert_interval_ms,
        "Milliseconds for which a broker has to be gone before the server logs an alert, with self-healing on or off."
        " A repair never starts before its alert: where self-healing is on, failure.interval.ms is the upper limit."
        " -1: half of failure.interval.ms, or no alert where self-healing is off.",
        dynamic=True,
        group=SELF_HEALING,
        metavar="MS",
    ),
    Setting(
        healing_settings.MAX_BROKERS,
        whole(0),
        _HEALING.max_brokers,
        "If more brokers than this are gone, the controller starts no repair.",
        dynamic=True,
        group=SELF_HEALING,
        metavar="BROKERS",
    ),
    Setting(
        healing_settings.MAX_PERCENTAGE,
        whole(0, 100),
        _HEALING.max_percentage,
        "If more than this percentage of the brokers is gone, the controller starts no repair.",
        dynamic=True,
        group=SELF_HEALING,
        metavar="PERCENT",
    ),
    Setting(
        healing_settings.THROTTLE,
        HealingThrottle.parse,
        _HEALING.throttle,
        "The replication throttle of repairs for each broker: bytes per second, or a share such as 50% of the observed"
        " replication throughput (the highest rate at which a broker was seen to receive moves that had no throttle;"
        f" {ASSUMED} bytes per second until one was seen). -1: no throttle.",
        dynamic=True,
        group=SELF_HEALING,
        metavar="BYTES/S|SHARE%",
    ),
    Setting(
        healing_settings.CHUNK,
        whole(1),
        _HEALING.chunk,
        "Moves of repairs in flight at a time.",
        dynamic=True,
        group=SELF_HEALING,
        metavar="MOVES",
    ),
    Setting(
        healing_settings.CANCEL_ON_RETURN,
        true_or_false,
        _HEALING.cancel_on_return,
        "Whether the controller cancels a repair's moves in flight when the lost broker comes back. Moves of the repair"
        " that still wait never start then.",
        dynamic=True,
        group=SELF_HEALING,
        metavar="true|false",
    ),
)
