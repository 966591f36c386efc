"""The steps of a campaign on KRaft: their kinds, and how often each comes."""

from collections.abc import Mapping

from tests.campaign.steps import BROKERS, READERS, SERVERS, TOPIC, Kind

CONTROLLERS = "controllers"
STATE_LOG = "state-log"

KINDS: Mapping[str, Kind] = {
    "kill_broker": Kind(BROKERS, 2, takes=8, harms=1),
    "stop_broker": Kind(BROKERS, 1, takes=8, harms=1),
    "freeze_broker": Kind(BROKERS, 2, harms=1),
    "cut_broker": Kind(BROKERS, 2, takes=2, harms=1),
    "kill_log_leader": Kind(BROKERS, 3, takes=8, harms=1),
    "freeze_log_leader": Kind(BROKERS, 2, harms=1),
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
