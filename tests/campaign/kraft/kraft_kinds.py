"""The steps of a campaign on KRaft: their kinds, and how often each comes."""

from collections.abc import Mapping

from tests.campaign.steps import BROKERS, READERS, SERVERS, TOPIC, Kind

CONTROLLERS = "controllers"
STATE_LOG = "state-log"
OPERATORS = "operators"

KINDS: Mapping[str, Kind] = {
    "kill_broker": Kind(BROKERS, 2, takes=8, harms=1),
    "stop_broker": Kind(BROKERS, 1, takes=8, harms=1),
    "freeze_broker": Kind(BROKERS, 2, harms=1),
    "cut_broker": Kind(BROKERS, 2, takes=2, harms=1),
    "kill_log_leader": Kind(BROKERS, 3, takes=8, harms=1),
    "freeze_log_leader": Kind(BROKERS, 2, harms=1),
    "lose_broker": Kind(BROKERS, 1, takes=40, harms=1),
    "kill_controller": Kind(CONTROLLERS, 3, takes=5, harms=1),
    "freeze_controller": Kind(CONTROLLERS, 2, harms=1),
    "kill_two_controllers": Kind(CONTROLLERS, 1, takes=7, harms=2),
    "kill_server": Kind(SERVERS, 3, takes=2),
    "stop_server": Kind(SERVERS, 1, takes=2),
    "freeze_server": Kind(SERVERS, 4),
    "cut_server": Kind(SERVERS, 3, takes=1),
    "cut_requests": Kind(SERVERS, 4, takes=1),
    "move_log": Kind(STATE_LOG, 3, takes=2),
    "elect_log": Kind(STATE_LOG, 1, takes=1),
    "cordon_broker": Kind(OPERATORS, 2, takes=6),
    "hold_moves": Kind(OPERATORS, 2, takes=2),
    "close_window": Kind(OPERATORS, 1, takes=1),
    "strip_throttle": Kind(OPERATORS, 3, takes=3),
    "restart_reader": Kind(READERS, 1),
    "create_topic": Kind(TOPIC, 0, takes=2),
    "delete_topic": Kind(TOPIC, 1, takes=1),
    "grow_topic": Kind(TOPIC, 1),
    "configure_topic": Kind(TOPIC, 1),
    "move": Kind(TOPIC, 4, internal=True),
    "move_with_lease": Kind(TOPIC, 4, internal=True),
    "cancel": Kind(TOPIC, 4, internal=True),
    "queue_moves": Kind(TOPIC, 4),
    "cancel_all": Kind(TOPIC, 1),
    "move_behind": Kind(TOPIC, 2, internal=True),
    "cancel_behind": Kind(TOPIC, 1, internal=True),
    "throttle_behind": Kind(TOPIC, 1),
    "stock_tool": Kind(TOPIC, 1),
}

APART = frozenset({"lose_broker", *(name for name, kind in KINDS.items() if kind.lane == CONTROLLERS)})
"""What a small campaign has not."""
CORDONS_FROM = (4, 3)
"""The release from which on brokers know `cordoned.log.dirs` (KIP-1066)."""


def unknown_to(version: str) -> set[str]:
    """Kinds that a cluster of this release cannot have."""
    return set() if tuple(map(int, version.split(".")[:2])) >= CORDONS_FROM else {"cordon_broker"}
