"""The steps of a campaign: their kinds, and how often each comes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Step:
    """One thing that happens.

    at          seconds after the start of the campaign; it begins later where its lane is behind
    lane        the steps of a lane come one after the other; lanes run beside each other
    kind        a key of KINDS
    arguments   what the generator has drawn: parameters of the function that carries the step out
    """

    at: float
    lane: str
    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        drawn = " ".join(f"{key}={_shown(value)}" for key, value in self.arguments.items())
        return f"{self.at:6.1f} s  {self.lane:<11}  {self.kind} {drawn}".rstrip()


@dataclass(frozen=True)
class Kind:
    """What is known of a step before it is drawn.

    lane      its lane: BROKERS, SERVERS, ZOOKEEPER, READERS, or TOPIC for each topic's own lane
    weight    how often it comes, beside the others of its lane; 0: the generator places it itself
    takes     seconds that the lane needs for it, besides what is drawn
    harms     brokers that it harms at a time
    internal  whether Kafka's internal topics get it too
    calm      whether nothing may be harmed meanwhile: what is acknowledged with acks=1 is safe only then
    """

    lane: str
    weight: int
    takes: float = 0.0
    harms: int = 0
    internal: bool = False
    calm: bool = False


BROKERS = "brokers"
SERVERS = "servers"
ZOOKEEPER = "zookeeper"
READERS = "readers"
ONE_ACK = "acks-1"
"""The topic whose replicas somebody edits in ZooKeeper, under a producer with acks=1. Its lane has kinds of its own."""
HARMFUL = (BROKERS, SERVERS, ZOOKEEPER)
"""Lanes that stand still while a step of a kind with `calm` is under way."""
TOPIC = "topic"

KINDS: Mapping[str, Kind] = {
    # One broker at a time, as far as min.insync.replicas allows; only kill_two_brokers harms more.
    "kill_broker": Kind(BROKERS, 3, takes=12, harms=1),
    "stop_broker": Kind(BROKERS, 3, takes=8, harms=1),
    "freeze_broker": Kind(BROKERS, 2, harms=1),
    "cut_broker": Kind(BROKERS, 2, takes=2, harms=1),
    "lose_log_dir": Kind(BROKERS, 2, takes=8, harms=1),
    "kill_two_brokers": Kind(BROKERS, 1, takes=14, harms=2),
    "bad_defaults": Kind(BROKERS, 1, takes=9, harms=1),
    # Only where brokers are upgraded: each gets the newer jars, then each the newer protocol.
    "upgrade_broker": Kind(BROKERS, 0, takes=8, harms=1),
    "raise_protocol": Kind(BROKERS, 0, takes=8, harms=1),
    "kill_server": Kind(SERVERS, 3, takes=2),
    "freeze_server": Kind(SERVERS, 3),
    "cut_server": Kind(SERVERS, 3, takes=1),
    "cut_commits": Kind(SERVERS, 4, takes=1),
    "hand_over": Kind(SERVERS, 2, takes=5),
    "restart_zookeeper": Kind(ZOOKEEPER, 1, takes=3),
    "kill_zookeeper": Kind(ZOOKEEPER, 1, takes=3),
    "restart_reader": Kind(READERS, 1),
    "create_topic": Kind(TOPIC, 0, takes=2),
    "delete_topic": Kind(TOPIC, 1, takes=1),
    "vanish_topic": Kind(TOPIC, 2, takes=1),
    "twin_ids": Kind(TOPIC, 1, takes=1),
    "grow_topic": Kind(TOPIC, 1),
    "configure_topic": Kind(TOPIC, 1),
    "elect_preferred": Kind(TOPIC, 1, internal=True),
    "move": Kind(TOPIC, 5, internal=True),
    "move_with_lease": Kind(TOPIC, 3, internal=True),
    "cancel": Kind(TOPIC, 2, internal=True),
    "queue_moves": Kind(TOPIC, 2),
    "request_moves": Kind(TOPIC, 2),
    "batch_moves": Kind(TOPIC, 2),
    "cancel_batch": Kind(TOPIC, 1),
    "hold_moves": Kind(TOPIC, 2, takes=2),
    "cordon_broker": Kind(TOPIC, 1, takes=1),
    "lower_epoch": Kind(SERVERS, 1, takes=5),
    "edit_replicas": Kind(ONE_ACK, 2, takes=8, calm=True),
    "put_back_older": Kind(ONE_ACK, 1, takes=8, calm=True),
}

TOLERATED: Mapping[str, str] = {
    "strays": "a replica that is dropped while its broker is away keeps its directory, as under stock Kafka",
    "logs of edited topics": "a broker from which somebody takes a replica away in ZooKeeper keeps its log: nobody has"
    " said that it may go",
    "begun logs": "a broker that is disturbed while it makes a log may leave an empty directory, and make the log in"
    " another log dir",
    "forgotten deletions": "a broker that lives on while it is away, and comes back to another controller than the one"
    " that has deleted a topic, goes on showing it, as under stock Kafka",
}
"""Differences that a check lets pass, each with the reason."""


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}:{_shown(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_shown, value)) + "]"
    return str(value)
