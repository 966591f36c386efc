"""The settings of self-healing (KIP-46), a part of the server's catalogue. All are dynamic."""

from kafka_reassign_rpc.cli.settings_reader import Setting
from kafka_reassign_rpc.cli.value_parsers import one_of, true_or_false, whole
from kafka_reassign_rpc.core.configs.server_settings import SERVER_SETTINGS
from kafka_reassign_rpc.core.settings import healing_settings
from kafka_reassign_rpc.core.settings.healing_settings import HealingSettings
from kafka_reassign_rpc.core.settings.healing_throttle import HealingThrottle

_HEALING = HealingSettings()

SELF_HEALING = "self-healing"

SELF_HEALING_SETTINGS: tuple[Setting, ...] = (
    Setting(
        healing_settings.INTERVAL,
        whole(-1, healing_settings.MAX_INTERVAL_MS),
        _HEALING.interval_ms,
        SERVER_SETTINGS[healing_settings.INTERVAL].documentation,
        dynamic=True,
        group=SELF_HEALING,
        metavar="MS",
    ),
    Setting(
        healing_settings.ALERT_INTERVAL,
        whole(-1, healing_settings.MAX_INTERVAL_MS),
        _HEALING.alert_interval_ms,
        SERVER_SETTINGS[healing_settings.ALERT_INTERVAL].documentation,
        dynamic=True,
        group=SELF_HEALING,
        metavar="MS",
    ),
    Setting(
        healing_settings.MAX_BROKERS,
        whole(0),
        _HEALING.max_brokers,
        SERVER_SETTINGS[healing_settings.MAX_BROKERS].documentation,
        dynamic=True,
        group=SELF_HEALING,
        metavar="BROKERS",
    ),
    Setting(
        healing_settings.MAX_PERCENTAGE,
        whole(0, 100),
        _HEALING.max_percentage,
        SERVER_SETTINGS[healing_settings.MAX_PERCENTAGE].documentation,
        dynamic=True,
        group=SELF_HEALING,
        metavar="PERCENT",
    ),
    Setting(
        healing_settings.THROTTLE,
        HealingThrottle.parse,
        _HEALING.throttle,
        SERVER_SETTINGS[healing_settings.THROTTLE].documentation,
        dynamic=True,
        group=SELF_HEALING,
        metavar="BYTES/S|SHARE%",
    ),
    Setting(
        healing_settings.CHUNK,
        whole(1),
        _HEALING.chunk,
        SERVER_SETTINGS[healing_settings.CHUNK].documentation,
        dynamic=True,
        group=SELF_HEALING,
        metavar="MOVES",
    ),
    Setting(
        healing_settings.CANCEL_ON_RETURN,
        true_or_false,
        _HEALING.cancel_on_return,
        SERVER_SETTINGS[healing_settings.CANCEL_ON_RETURN].documentation,
        dynamic=True,
        group=SELF_HEALING,
        metavar="true|false",
    ),
    Setting(
        healing_settings.APPROVAL,
        one_of(*healing_settings.APPROVALS),
        _HEALING.approval,
        SERVER_SETTINGS[healing_settings.APPROVAL].documentation,
        dynamic=True,
        group=SELF_HEALING,
        metavar="|".join(healing_settings.APPROVALS),
    ),
)
