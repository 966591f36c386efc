"""When each alert of deploy/prometheus fires, and when it does not: series of two servers, minute by minute."""

from tests.deploy.alert_series import KAFKA, LONG, OTHER, PREFIX, Case, Fired, crosses, passes, servers
from tests.deploy.certificate_cases import CERTIFICATE_CASES, VALID

GONE = Fired("No server is the controller, and none knows another.")
WAIT = Fired("Moves wait, and none is in flight.")
HELD = Fired("Moves that have been held for a day: 3. Somebody may have forgotten them.")
CORDONED = Fired("Brokers that have been cordoned for a day while nothing moves: 2.")
ON_CORDONED = Fired("Cordoned brokers have got new replicas.")
LEASE_STAYS = Fired(
    "Throttles of leases that cannot be taken back while brokers migrate to KRaft, which keeps them: 2."
)
PAUSED = Fired("Self-healing has been paused for a day.")
DISABLED = Fired("Reassignments have been disabled for hours. Somebody may have forgotten it.")
CHANGED = Fired("The controller has changed 3 times in an hour.")
ON_A = {"job": KAFKA, "instance": "a"}
LOG_DIR_LOST = Fired(
    "Broker 3 has lost the log dir /data/2.", {"job": KAFKA, "broker": "3", "log_directory": "/data/2"}
)
LOST = Fired("a cannot write its event log.", ON_A)
UNTOLD = Fired("https://hooks did not get some events from a.", {**ON_A, "receiver": "https://hooks"})
SLOW = Fired("ZooKeeper is away from a, or slow.", ON_A)
LEFT = Fired("Broker 1 has a throttle (leader), and nothing moves.", {"job": KAFKA, "broker": "1", "side": "leader"})
THROTTLED = servers(
    "broker_throttle_bytes_per_second", f"-1x5 0{LONG}", broker="1", side="leader", by="config"
) | servers("broker_throttle_bytes_per_second", f"-1{LONG}", broker="1", side="follower", by="none")
NOTHING_MOVES = (
    servers("moves_in_flight", f"0{LONG}", f"0{LONG}")
    | servers("moves_waiting", f"0{LONG}", route="rpc")
    | servers("moves_held", f"0{LONG}", f"0{LONG}")
)
OTHERS_MOVE = servers("moves_in_flight", f"7{LONG}", job=OTHER) | servers(
    "moves_waiting", f"1{LONG}", job=OTHER, route="rpc"
)
WAITING = servers("moves_waiting", f"0x5 2{LONG}", route="rpc") | servers("moves_waiting", f"0{LONG}", route="queue")

ONE_LEFT = Fired("Servers that are left: 1. There were more for most of the last two days.")

CASES = (
    Case(
        "KafkaReassignServerGone",
        "a standby ends for good",
        servers("ready", "1x4000", "1x1000 stale"),
        {1010: (), 1011: (ONE_LEFT,), 2000: (ONE_LEFT,), 2450: ()},
    ),
    Case(
        "KafkaReassignServerGone",
        "a standby is started anew under another name, beside servers of another cluster",
        servers("ready", f"1{LONG}", "1x30 stale")
        | {f'{PREFIX}ready{{job="{KAFKA}",instance="c"}}': f"_x35 1{LONG}"}
        | servers("ready", f"1{LONG}", job=OTHER),
        {45: (), 100: ()},
    ),
    Case(
        "KafkaReassignServerGone",
        "a server joins, and a day later another one ends",
        servers("ready", "1x1500 stale", f"_x60 1{LONG}"),
        {50: (), 70: (), 1505: (), 1511: (ONE_LEFT,)},
    ),
    Case(
        "KafkaReassignNoController",
        "no server is the controller",
        servers("controller_active", "1x5 0x60", "0x60"),
        {7: (), 8: (GONE,)},
    ),
    Case(
        "KafkaReassignNoController",
        "a stock broker is the controller after a planned return, and a server stands by",
        servers("controller_active", "1x5 0x60", "0x5 stale") | servers("controller_id", "1000x5 3x60", "1000x5 stale"),
        {8: (), 60: ()},
    ),
    Case(
        "KafkaReassignNoController",
        "no server knows a controller, but those of another cluster do",
        servers("controller_active", "1x5 0x60", "0x60")
        | servers("controller_id", "1000x5 -1x60", "1000x5 -1x60")
        | servers("controller_active", "1x60", job=OTHER)
        | servers("controller_id", "1000x60", job=OTHER),
        {7: (), 8: (GONE,)},
    ),
    Case(
        "KafkaReassignNoController",
        "another server takes over",
        servers("controller_active", "1x5 0x60", "0x6 1x60"),
        {7: (), 60: ()},
    ),
    Case(
        "KafkaReassignNoController",
        "all servers of one cluster are gone",
        servers("controller_active", "1x5 stale", "0x5 stale") | servers("controller_active", f"1{LONG}", job=OTHER),
        {7: (), 8: (GONE,), 1000: (GONE,)},
    ),
    Case(
        "KafkaReassignNoController",
        "the controller fails, and then the standby",
        servers("controller_active", "1x5 stale", "0x6 stale"),
        {7: (), 8: (GONE,), 1000: (GONE,)},
    ),
    Case(
        "KafkaReassignNoController",
        "no server was ever there",
        {},
        {1: (), 2: (GONE._replace(labels={}),)},
    ),
    Case(
        "KafkaReassignServerNotReady",
        "one of two servers",
        servers("ready", "1x5 0x60", "1x60"),
        {7: (), 8: (Fired("a is neither controller nor standby.", ON_A),)},
    ),
    Case("KafkaReassignServerNotReady", "during an election", servers("ready", "1x5 0x1 1x60"), {8: (), 60: ()}),
    Case(
        "KafkaReassignControllerChangesOften",
        "three times between two servers",
        servers("controller_epoch", "5x10 -1x9 7x9 -1x60", "-1x10 6x9 -1x9 8x60"),
        {30: (), 31: (CHANGED,), 60: (CHANGED,)},
    ),
    Case(
        "KafkaReassignControllerChangesOften",
        "three restarts of one server",
        servers("controller_epoch", "5x10 stale 6x10 stale 7x10 stale 8x60"),
        {35: (), 36: (CHANGED,)},
    ),
    Case(
        "KafkaReassignControllerChangesOften",
        "twice in an hour, and once in each of two clusters more",
        servers("controller_epoch", "5x10 -1x9 7x200", "-1x10 6x9 -1x200")
        | servers("controller_epoch", "1x20 2x200", job=OTHER)
        | servers("controller_epoch", "1x20 2x200", job="third"),
        {20: (), 59: (), 60: (), 61: ()},
    ),
    Case(
        "KafkaReassignControllerChangesOften",
        "three times in three hours",
        servers("controller_epoch", "5x70 6x70 7x70 8x70"),
        {72: (), 143: (), 214: (), 280: ()},
    ),
    Case(
        "KafkaReassignControllerChangesOften",
        "servers that only stand by",
        servers("controller_epoch", "-1x200", "-1x200"),
        {100: ()},
    ),
    Case(
        "KafkaReassignZooKeeperSlow",
        "it is away from one server",
        servers("zookeeper_connected", "1x5 0x60", "1x60"),
        {6: (), 7: (SLOW,)},
    ),
    Case(
        "KafkaReassignZooKeeperSlow",
        "it is slow",
        servers("zookeeper_round_trip_seconds", "1x5 1.5x60", "0.002x60"),
        {6: (), 7: (SLOW,)},
    ),
    Case(
        "KafkaReassignZooKeeperSlow",
        "it is away, then slow",
        servers("zookeeper_connected", "1x5 0 1x60") | servers("zookeeper_round_trip_seconds", "0.1x6 2x60"),
        {6: (), 7: (SLOW,)},
    ),
    Case(
        "KafkaReassignZooKeeperSlow",
        "one answer was slow",
        servers("zookeeper_connected", "1x60") | servers("zookeeper_round_trip_seconds", "0.1x5 2 0.1x60"),
        {6: (), 7: (), 60: ()},
    ),
    crosses(
        "KafkaReassignPartitionsOffline",
        "partitions_offline",
        "0x5 3x60",
        "Partitions without a leader: 3.",
        begins=6,
        lasts=1,
    ),
    passes("KafkaReassignPartitionsOffline", "partitions_offline", "0x5 3 0x60", at=7),
    Case(
        "KafkaReassignPartitionsOffline",
        "in two clusters",
        servers("partitions_offline", "3x60") | servers("partitions_offline", "1x60", job=OTHER),
        {
            1: (
                Fired("Partitions without a leader: 3."),
                Fired("Partitions without a leader: 1.", {"job": OTHER}),
            )
        },
    ),
    crosses(
        "KafkaReassignMovesStalled", "moves_stalled", "0x5 2x60", "Moves that make no progress: 2.", begins=6, lasts=5
    ),
    passes("KafkaReassignMovesStalled", "moves_stalled", "0x5 2x4 0x60", at=11),
    Case(
        "KafkaReassignMovesWaitForLong",
        "nothing moves, whatever other clusters do",
        WAITING | servers("moves_in_flight", f"0{LONG}", f"0{LONG}") | OTHERS_MOVE,
        {20: (), 21: (WAIT,)},
    ),
    Case(
        "KafkaReassignMovesWaitForLong",
        "others move meanwhile",
        WAITING | servers("moves_in_flight", f"1x10 0x9 1{LONG}", f"0{LONG}"),
        {25: (), 100: ()},
    ),
    Case("KafkaReassignMovesWaitForLong", "nothing waits", NOTHING_MOVES, {100: ()}),
    Case(
        "KafkaReassignMovesWaitForLong",
        "all that waits is held, until one of them is released",
        NOTHING_MOVES | WAITING | servers("moves_held", f"0x5 2x94 1{LONG}", f"0{LONG}"),
        {50: (), 115: (), 116: (WAIT,)},
    ),
    Case(
        "KafkaReassignMovesWaitForLong",
        "one is held and the other waits for approval, until it is approved",
        NOTHING_MOVES
        | WAITING
        | servers("moves_held", f"1{LONG}", f"0{LONG}")
        | servers("repairs_unapproved", f"1x100 0{LONG}", f"0{LONG}"),
        {50: (), 115: (), 116: (WAIT,)},
    ),
    Case(
        "KafkaReassignMovesWaitForLong",
        "they wait for a window, and then in it",
        NOTHING_MOVES | WAITING | servers("window_open", f"0x60 1{LONG}", f"1{LONG}"),
        {50: (), 75: (), 76: (WAIT,)},
    ),
    crosses("KafkaReassignMovesHeldForLong", "moves_held", f"0x5 3{LONG}", HELD.summary, begins=6, lasts=1440),
    passes("KafkaReassignMovesHeldForLong", "moves_held", f"0x5 3x1430 0{LONG}", at=1450),
    Case(
        "KafkaReassignMovesHeldForLong",
        "the controller changes meanwhile",
        servers("moves_held", "3x99 stale", f"0x101 3{LONG}"),
        {1439: (), 1440: (HELD,)},
    ),
    Case(
        "KafkaReassignLeaseStays",
        "brokers join the migration while throttles cannot be taken back",
        servers("leases_refused", f"0x3 2{LONG}", f"0{LONG}")
        | servers("brokers_migrating", f"0x6 1{LONG}", f"0{LONG}"),
        {8: (), 9: (LEASE_STAYS,)},
    ),
    Case(
        "KafkaReassignLeaseStays",
        "no broker migrates",
        servers("leases_refused", f"2{LONG}", f"0{LONG}") | servers("brokers_migrating", f"0{LONG}", f"0{LONG}"),
        {60: ()},
    ),
    Case(
        "KafkaReassignLeaseStays",
        "they are taken back at the next try",
        servers("leases_refused", f"2x1 0{LONG}", f"0{LONG}") | servers("brokers_migrating", f"1{LONG}", f"0{LONG}"),
        {10: ()},
    ),
    Case(
        "KafkaReassignDisabledForLong",
        "the controller says so",
        servers("reassignments_enabled", f"1x5 0{LONG}", f"1{LONG}"),
        {245: (), 246: (DISABLED,)},
    ),
    Case(
        "KafkaReassignDisabledForLong",
        "the controller changes meanwhile",
        servers("reassignments_enabled", "0x99 stale", f"1x101 0{LONG}"),
        {239: (), 240: (DISABLED,)},
    ),
    Case(
        "KafkaReassignDisabledForLong",
        "they are enabled in time",
        servers("reassignments_enabled", f"0x230 1{LONG}", f"1{LONG}"),
        {240: (), 500: ()},
    ),
    Case(
        "KafkaReassignThrottleLeft",
        "nothing moves, whatever other clusters do",
        THROTTLED | NOTHING_MOVES | OTHERS_MOVE,
        {65: (), 66: (LEFT,)},
    ),
    Case(
        "KafkaReassignThrottleLeft",
        "a move is in flight",
        THROTTLED | NOTHING_MOVES | servers("moves_in_flight", f"0x30 1x9 0x40 1{LONG}", f"0{LONG}"),
        {66: (), 99: (), 1000: ()},
    ),
    Case(
        "KafkaReassignThrottleLeft",
        "a move waits",
        THROTTLED | NOTHING_MOVES | servers("moves_waiting", f"1{LONG}", route="rpc"),
        {100: ()},
    ),
    Case(
        "KafkaReassignThrottleLeft",
        "a rate of all brokers is meant to stay",
        servers("broker_throttle_bytes_per_second", f"5{LONG}", broker="1", side="leader", by="default")
        | NOTHING_MOVES,
        {100: ()},
    ),
    Case(
        "KafkaReassignThrottleLeft",
        "the broker's own rate was deleted, that of all brokers is left",
        servers("broker_throttle_bytes_per_second", "5x70 stale", broker="1", side="leader", by="config")
        | servers("broker_throttle_bytes_per_second", f"_x70 5{LONG}", broker="1", side="leader", by="default")
        | NOTHING_MOVES,
        {66: (LEFT,), 80: ()},
    ),
    Case(
        "KafkaReassignThrottleLeft",
        "of the clusters of a watch, which does not know what waits, nothing moves in one",
        servers("broker_throttle_bytes_per_second", f"5{LONG}", cluster="east", broker="1", side="leader", by="config")
        | servers("moves_in_flight", f"0{LONG}", cluster="east")
        | servers(
            "broker_throttle_bytes_per_second", f"5{LONG}", cluster="west", broker="1", side="leader", by="config"
        )
        | servers("moves_in_flight", f"7{LONG}", cluster="west"),
        {60: (LEFT._replace(labels={**LEFT.labels, "cluster": "east"}),)},
    ),
    Case(
        "KafkaReassignThrottleLeft",
        "there is no throttle",
        servers("broker_throttle_bytes_per_second", f"-1{LONG}", broker="1", side="leader", by="none") | NOTHING_MOVES,
        {100: ()},
    ),
    Case(
        "KafkaReassignBrokersCordonedForLong",
        "the drain is over, or nobody drains",
        NOTHING_MOVES | servers("brokers_cordoned", f"0x5 2{LONG}", f"0{LONG}"),
        {1445: (), 1446: (CORDONED,)},
    ),
    Case(
        "KafkaReassignBrokersCordonedForLong",
        "moves drain them meanwhile",
        NOTHING_MOVES
        | servers("moves_in_flight", f"0x700 3x9 0{LONG}", f"0{LONG}")
        | servers("brokers_cordoned", f"0x5 2{LONG}", f"0{LONG}"),
        {1500: ()},
    ),
    Case(
        "KafkaReassignReplicasOnCordonedBroker",
        "two replicas land there, and the next minute nothing more",
        servers("cordoned_broker_replicas_total", f"0x5 2{LONG}", f"0{LONG}"),
        {5: (), 7: (ON_CORDONED,), 30: ()},
    ),
    Case(
        "KafkaReassignReplicasOnCordonedBroker",
        "what landed there before is counted",
        servers("cordoned_broker_replicas_total", f"2{LONG}", f"0{LONG}"),
        {30: ()},
    ),
    crosses(
        "KafkaReassignBrokerLost",
        "brokers_alerted",
        "0x5 2x60",
        "Brokers that are gone, or have lost log dirs, for longer than failure.alert.interval.ms: 2.",
        begins=6,
        lasts=0,
    ),
    passes("KafkaReassignBrokerLost", "brokers_alerted", "0x5 2x2 0x60", at=9),
    Case(
        "KafkaReassignLogDirLost",
        "a broker loses a log dir, and its replicas are moved",
        servers("log_directory_offline", "_x5 1x10 stale", broker="3", log_directory="/data/2"),
        {4: (), 6: (LOG_DIR_LOST,)},
    ),
    Case(
        "KafkaReassignLogDirLost",
        "a broker does not name the log dir that it has lost",
        servers("log_directory_offline", "1x10", broker="3", log_directory=""),
        {5: (Fired("Broker 3 has lost a log dir.", {"job": KAFKA, "broker": "3"}),)},
    ),
    Case(
        "KafkaReassignLogDirLost",
        "what it held has been moved",
        servers("log_directory_offline", "1x3 stale", broker="3", log_directory="/data/2"),
        {10: ()},
    ),
    crosses(
        "KafkaReassignHealingHeldBack",
        "healing_held_back",
        "0x5 1x60",
        "Repairs are due and do not start.",
        begins=6,
        lasts=5,
    ),
    passes("KafkaReassignHealingHeldBack", "healing_held_back", "0x5 1x4 0x60", at=11),
    crosses("KafkaReassignHealingPaused", "healing_paused", f"0x5 1{LONG}", PAUSED.summary, begins=6, lasts=1440),
    passes("KafkaReassignHealingPaused", "healing_paused", f"0x5 1x1430 0{LONG}", at=1450),
    Case(
        "KafkaReassignHealingPaused",
        "the controller changes meanwhile",
        servers("healing_paused", "1x99 stale", f"0x101 1{LONG}"),
        {1439: (), 1440: (PAUSED,)},
    ),
    crosses(
        "KafkaReassignRepairImpossible",
        "repairs_impossible",
        "0x5 4x60",
        "Partitions that cannot be repaired: 4.",
        begins=6,
        lasts=5,
    ),
    passes("KafkaReassignRepairImpossible", "repairs_impossible", "0x5 4x4 0x60", at=11),
    crosses(
        "KafkaReassignRepairUnapproved",
        "repairs_unapproved",
        "0x5 4x60",
        "Moves of repairs that wait for approval: 4.",
        begins=6,
        lasts=0,
    ),
    passes("KafkaReassignRepairUnapproved", "repairs_unapproved", "0x5 4x2 0x60", at=9),
    *CERTIFICATE_CASES,
    Case(
        "KafkaReassignEventsLost",
        "events are lost, and then no more",
        servers("event_log_lost_total", "0x5 7x60", "3x60"),
        {5: (), 6: (LOST,), 15: (LOST,), 17: ()},
    ),
    Case(
        "KafkaReassignEventsLost",
        "a server restarts",
        servers("event_log_lost_total", "7x5 0x60", "3x60"),
        {6: (), 15: ()},
    ),
    Case(
        "KafkaReassignNotificationsDropped",
        "events are dropped, and then no more",
        servers("webhook_dropped_total", "0x5 7x60", "3x60", receiver="https://hooks"),
        {5: (), 6: (UNTOLD,), 15: (UNTOLD,), 17: ()},
    ),
    Case(
        "KafkaReassignNotificationsDropped",
        "a server restarts",
        servers("webhook_dropped_total", "7x5 0x60", "3x60", receiver="https://hooks"),
        {6: (), 15: ()},
    ),
)

HEALTHY = {
    **servers("controller_active", f"1{LONG}", f"0{LONG}"),
    **servers("controller_epoch", f"5{LONG}", f"-1{LONG}"),
    **servers("controller_id", f"1000{LONG}", f"1000{LONG}"),
    **servers("reassignments_enabled", f"1{LONG}", f"1{LONG}"),
    **servers("window_open", f"1{LONG}", f"1{LONG}"),
    **{name: f"1{LONG}" for metric in ("ready", "zookeeper_connected") for name in servers(metric, "", "")},
    **servers("zookeeper_round_trip_seconds", f"0.003{LONG}", f"0.003{LONG}"),
    **servers("broker_throttle_bytes_per_second", f"-1{LONG}", broker="1", side="leader", by="none"),
    **NOTHING_MOVES,
    **servers("webhook_dropped_total", f"0{LONG}", f"0{LONG}", receiver="https://hooks"),
    **servers("cordoned_broker_replicas_total", f"0{LONG}", f"0{LONG}"),
    **VALID,
    **servers("log_directory_offline", f"_{LONG}", broker="3", log_directory="/data/2"),
    **{
        name: f"0{LONG}"
        for metric in (
            *(
                "brokers_cordoned",
                "leases_refused",
                "brokers_migrating",
                "partitions_offline",
                "moves_stalled",
                "brokers_alerted",
                "healing_held_back",
                "healing_paused",
            ),
            *("repairs_impossible", "repairs_unapproved", "event_log_lost_total", "brokers_cordoned"),
        )
        for name in servers(metric, "", "")
    },
}
"""Two servers that control a cluster with which nothing is wrong."""
