"""The catalogue of the settings that all servers of a cluster share and that change without a restart.

`/admin/reassignment_settings` holds them; DescribeConfigs shows them as configs of the server's own node.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from kafka_reassign_rpc.core.brokers import cordon
from kafka_reassign_rpc.core.config_values import INT32, INT64
from kafka_reassign_rpc.core.settings import healing_settings, reassignment_settings
from kafka_reassign_rpc.core.settings.healing_settings import MAX_INTERVAL_MS
from kafka_reassign_rpc.core.settings.healing_throttle import ASSUMED
from kafka_reassign_rpc.core.windows.grammar import WINDOWS


class ServerSetting(msgspec.Struct, frozen=True):
    """Bounds are inclusive. `HealingThrottle` parses a `rate_or_share`, `cordon` parses `broker_ids`, `core.windows`
    parses `windows`.
    """

    name: str
    type: Literal["BOOLEAN", "INT", "LONG", "STRING", "LIST"]
    default: str
    documentation: str
    min: int | None = None
    max: int | None = None
    rate_or_share: bool = False
    broker_ids: bool = False
    one_of: tuple[str, ...] | None = None
    windows: bool = False


_ALL = (
    ServerSetting(
        cordon.CORDONED_BROKERS,
        "LIST",
        "",
        "Ids of the brokers that get no new replica that the controller places: by CreateTopics, CreatePartitions"
        " or self-healing. They keep what they hold (KIP-1066). `kafka-reassign cordon` adds to it, with"
        " --uncordon it takes from it.",
        broker_ids=True,
    ),
    ServerSetting(
        reassignment_settings.ENABLED,
        "BOOLEAN",
        "true",
        "Whether new moves may start. With false no new move starts by any route, and cancels go through."
        " `kafka-reassign --disable` sets it, `--enable` deletes it.",
    ),
    ServerSetting(
        reassignment_settings.REPLICATION_FACTOR_CHANGE_ALLOWED,
        "BOOLEAN",
        "true",
        "Whether a reassignment may change the number of a partition's replicas (KIP-860).",
    ),
    ServerSetting(
        reassignment_settings.MAX_PER_BROKER,
        "INT",
        "-1",
        "Moves in flight for one broker: moves that add a replica on it, and moves of partitions that it leads. Moves"
        " above the limit wait in the queue. -1: no limit.",
        -1,
        INT32,
    ),
    ServerSetting(
        reassignment_settings.MAX_PER_CLUSTER,
        "INT",
        "-1",
        "Moves in flight in the whole cluster. Moves above the limit wait in the queue. -1: no limit.",
        -1,
        INT32,
    ),
    ServerSetting(
        reassignment_settings.MAX_BYTES_IN_FLIGHT,
        "LONG",
        "-1",
        "Bytes that all moves in flight have to copy. Moves above the limit wait in the queue. -1: no limit.",
        -1,
        INT64,
    ),
    ServerSetting(
        reassignment_settings.HOLD_AFTER_ABSENCE,
        "LONG",
        str(reassignment_settings.DEFAULT_ABSENCE_MS),
        "Milliseconds of control by somebody else, such as a stock controller, after which a server that becomes the"
        " controller holds the moves that wait in the queue: they start only once somebody releases them. After a KRaft"
        " controller it holds them however short that was. -1: only after a KRaft controller.",
        -1,
        INT64,
    ),
    ServerSetting(
        WINDOWS,
        "STRING",
        "",
        "When moves start, by the time of day: `mon-fri 22:00-06:00 Europe/Berlin; sat,sun 00:00-24:00 Europe/Berlin`."
        " A window has the days on which it begins (`daily`: all), its times, a time zone, and caps where others hold"
        " in it: `max.per.broker=2`, `max.per.cluster=20`. `rate=40MB`: throttle leases and repairs have this rate in"
        " it, at once, in place of their own. Outside of windows no waiting move starts but those of"
        " repairs; `; otherwise max.per.cluster=2` at the end: moves start under these caps. Moves in flight go on."
        " Empty: at any time.",
        windows=True,
    ),
    ServerSetting(
        healing_settings.INTERVAL,
        "LONG",
        "-1",
        "Milliseconds for which a broker has to be gone before the controller moves its replicas to other brokers."
        " -1: never, self-healing is off.",
        -1,
        MAX_INTERVAL_MS,
    ),
    ServerSetting(
        healing_settings.ALERT_INTERVAL,
        "LONG",
        "-1",
        "Milliseconds for which a broker has to be gone before the server logs an alert, with self-healing on or off."
        " A repair never starts before its alert: where self-healing is on, failure.interval.ms is the upper limit."
        " -1: half of failure.interval.ms, or no alert where self-healing is off.",
        -1,
        MAX_INTERVAL_MS,
    ),
    ServerSetting(
        healing_settings.PAUSED,
        "BOOLEAN",
        "false",
        "Whether self-healing pauses. With true no repair starts. `kafka-reassign heal --pause` sets it, `--resume`"
        " deletes it.",
    ),
    ServerSetting(
        healing_settings.MAX_BROKERS,
        "INT",
        "10",
        "If more brokers than this are gone, the controller starts no repair.",
        0,
        INT32,
    ),
    ServerSetting(
        healing_settings.MAX_PERCENTAGE,
        "INT",
        "40",
        "If more than this percentage of the brokers is gone, the controller starts no repair.",
        0,
        100,
    ),
    ServerSetting(
        healing_settings.THROTTLE,
        "STRING",
        "-1",
        "The replication throttle of repairs for each broker: bytes per second, or a share such as 50% of the observed"
        " replication throughput (the highest rate at which a broker was seen to receive moves that had no throttle;"
        f" {ASSUMED} bytes per second until one was seen). -1: no throttle.",
        rate_or_share=True,
    ),
    ServerSetting(healing_settings.CHUNK, "INT", "500", "Moves of repairs in flight at a time.", 1, INT32),
    ServerSetting(
        healing_settings.CANCEL_ON_RETURN,
        "BOOLEAN",
        "false",
        "Whether the controller cancels a repair's moves in flight when the lost broker comes back. Moves of the repair"
        " that still wait never start then.",
    ),
    ServerSetting(
        healing_settings.APPROVAL,
        "STRING",
        healing_settings.NO_APPROVAL,
        "Whether a repair that self-healing has queued waits for `kafka-reassign heal --approve`: `none` or `required`."
        " What waits for approval goes on to wait where this is changed to `none`.",
        one_of=healing_settings.APPROVALS,
    ),
)

SERVER_SETTINGS: Mapping[str, ServerSetting] = {one.name: one for one in _ALL}


def own_names(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name in SERVER_SETTINGS)


def divided(configs: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The settings of servers, and Kafka's."""
    own = {name: value for name, value in configs.items() if name in SERVER_SETTINGS}
    return own, {name: value for name, value in configs.items() if name not in own}


def telling(own: Mapping[str, str], below: Mapping[str, str]) -> dict[str, str]:
    """Without empty values that are the default and override nothing in the layer below."""
    return {name: value for name, value in own.items() if value or SERVER_SETTINGS[name].default or name in below}


class MovedSettings(msgspec.Struct, frozen=True):
    """What leaves the brokers' defaults: `moved` now holds for the servers, which had other values of what is
    `dropped`.
    """

    moved: Mapping[str, str] = {}
    dropped: Mapping[str, str] = {}


def moved(settings: Mapping[str, str], defaults: Mapping[str, str]) -> MovedSettings:
    old, _ = divided(defaults)
    return MovedSettings(
        {name: value for name, value in old.items() if name not in settings},
        {name: value for name, value in old.items() if name in settings},
    )
