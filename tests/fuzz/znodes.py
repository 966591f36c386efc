"""Garbage for every znode that a controller reads, but for those whose content is the right to control: /controller,
/controller_epoch and /migration.
"""

import json
from random import Random
from typing import NamedTuple

from kafka_reassign_rpc.zookeeper import znode_paths
from tests.fuzz.damage import damaged
from tests.fuzz.messages import BROKERS, TEXTS

TOPICS = ("fuzz-0", "fuzz-1", "fuzz-2", "garbage", "²", "n" * 249, "n" * 5_000)
LIMIT = 1_000_000
"""ZooKeeper takes a little more than that."""

_DIGITS = "9" * 5_000
_DEEP = "[" * 300 + "]" * 300


class Change(NamedTuple):
    """`data` is None: the znode is deleted. `sequence`: ZooKeeper appends a number to the path."""

    path: str
    data: bytes | None
    sequence: bool = False

    def __str__(self) -> str:
        what = "is deleted" if self.data is None else f"{self.data[:60]!r}, {len(self.data)} bytes"
        return f"{self.path[:100]} {what}"


def change(rng: Random) -> Change:
    """Any change."""
    path, sequence = _path(rng)
    if not sequence and rng.random() < 0.3:
        return Change(path, None)
    return Change(path, _content(rng, path)[:LIMIT], sequence)


def _path(rng: Random) -> tuple[str, bool]:
    topic, index = rng.choice(TOPICS), rng.choice((0, 1, 77, "x", "²", _DIGITS))
    broker = rng.choice((11, 12, "²", "x", _DIGITS, -1))
    number = f"{rng.randrange(5):010d}"
    return rng.choice(
        (
            (f"{znode_paths.BROKER_IDS}/{broker}", False),
            (znode_paths.topic(topic), False),
            (f"{znode_paths.partitions(topic)}/{index}/state", False),
            (znode_paths.config_topic(topic), False),
            (znode_paths.config_broker(str(rng.choice((*BROKERS, 11, "<default>", "²", _DIGITS)))), False),
            (f"{znode_paths.CONFIG}/{rng.choice(('users', 'clients', 'ips'))}/{topic}", False),
            (znode_paths.SETTINGS, False),
            (znode_paths.LAST_CONTROL, False),
            (znode_paths.CONFIG_CHANGE_PREFIX, True),
            (f"{znode_paths.CONFIG_CHANGES}/config_change_²", False),
            (znode_paths.delete_topic(topic), False),
            (f"{znode_paths.reassignment_topic(topic)}/{index}", False),
            (znode_paths.reassignment_request("request_"), True),
            (znode_paths.REASSIGN_PARTITIONS, False),
            (znode_paths.CANCEL_IN_PROGRESS, False),
            (znode_paths.REASSIGN_CANCEL, False),
            (rng.choice(znode_paths.QUEUES), False),
            (f"{rng.choice(znode_paths.QUEUES)}/part_{number}", False),
            (znode_paths.PREFERRED_REPLICA_ELECTION, False),
            (znode_paths.throttle_memory(rng.choice(("topics", "brokers")), rng.choice((topic, "1"))), False),
            (f"{znode_paths.FAILED_BROKERS}/{broker}", False),
            (f"{znode_paths.FAILED_LOG_DIRS}/{broker}", False),
            (f"{znode_paths.REASSIGNMENT_SERVERS}/{broker}", False),
            (f"{znode_paths.REASSIGNMENT_SERVER_IDS}/{broker}", False),
            (f"{znode_paths.ISR_CHANGES}/isr_change_", True),
            (f"{znode_paths.LOG_DIR_EVENTS}/log_dir_event_", True),
            (znode_paths.PRODUCER_ID_BLOCK, False),
            (znode_paths.FEATURE, False),
            (znode_paths.CLUSTER_ID, False),
        )
    )


def _content(rng: Random, path: str) -> bytes:
    """Content that is nearly right, or nothing like it."""
    how = rng.randrange(10)
    if how == 0:
        return rng.choice((b"", b"7", b"null", b"{garbage", bytes(range(256)), b"[" * 100_000, b"\xff" * 50))
    if how == 1:
        return b'{"version":1,"x":"' + b"x" * rng.choice((30_000, 900_000)) + b'"}'
    text = json.dumps(_wrong(rng, _model(rng, path), 0.15), ensure_ascii=rng.random() < 0.5)
    text = text.replace('"DIGITS"', _DIGITS).replace('"DEEP"', _DEEP)
    data = text.encode(errors="surrogatepass")
    return damaged(rng, data) if how < 4 else data


def _model(rng: Random, path: str) -> object:
    """What belongs there."""
    topic, replicas = rng.choice(TOPICS), rng.sample((*BROKERS, 4), 2)
    moves = [{"topic": topic, "partition": 0, "replicas": replicas, "throttle": 1000, "reason": "why"}]
    if rng.random() < 0.03:
        moves *= 8_000
    if path.startswith(znode_paths.BROKER_IDS):
        endpoints = ["PLAINTEXT://127.0.0.1:1"]
        return {"version": 5, "endpoints": endpoints, "listener_security_protocol_map": {}, "rack": "a"}
    if path.startswith(znode_paths.TOPICS) and path.endswith("/state"):
        return {"version": 1, "leader": replicas[0], "isr": replicas, "leader_epoch": 1, "controller_epoch": 1}
    if path.startswith(znode_paths.TOPICS):
        partitions = {"0": replicas, "1": replicas[:1]}
        topic_id = "AAAAAAAAAAAAAAAAAAAABQ"
        return {"version": 3, "partitions": partitions, "adding_replicas": {"0": replicas[:1]}, "topic_id": topic_id}
    if path.startswith(znode_paths.CONFIG_CHANGES):
        return {"version": 2, "entity_path": rng.choice(("topics/fuzz-0", "brokers/1", "users/²", "nowhere"))}
    if path.startswith((znode_paths.CONFIG, znode_paths.SETTINGS)):
        names = ("leader.replication.throttled.replicas", "leader.replication.throttled.rate", "retention.ms",
                 "failure.interval.ms", "self.healing.throttle", "unclean.leader.election.enable")  # fmt: skip
        return {"version": 1, "config": {name: rng.choice((*TEXTS, "0:1", "DIGITS")) for name in rng.sample(names, 3)}}
    if path.startswith(znode_paths.REASSIGNMENT_REQUESTS):
        return {"version": 1, "assignments": {topic: {"0": replicas}}, "legacy": False}
    if path.startswith(f"{znode_paths.REASSIGNMENTS}/"):
        return {"version": 1, "target": replicas, "original_replicas": replicas}
    lists = (znode_paths.REASSIGN_PARTITIONS, *znode_paths.QUEUES, znode_paths.PREFERRED_REPLICA_ELECTION)
    if path.startswith(lists):
        return {"version": 1, "partitions": moves}
    if path.startswith(znode_paths.ISR_CHANGES):
        return {"version": 1, "partitions": [{"topic": topic, "partition": 0}]}
    if path.startswith(znode_paths.PRODUCER_ID_BLOCK):
        return {"version": 1, "broker": 1, "block_start": "0", "block_end": "999"}
    if path == znode_paths.LAST_CONTROL:
        return {"version": 1, "epoch": rng.randrange(9), "until": 1, "kraft": rng.choice((True, False))}
    if path.startswith(znode_paths.FEATURE):
        return {"version": 1, "status": 1, "features": {}}
    return {"version": 1, "id": "x", "broker": 1, "event": 1, "timestamp": "1"}


def _wrong(rng: Random, value: object, share: float) -> object:
    """The value with some of its parts replaced by others."""
    if rng.random() < share / 3:
        return rng.choice((None, True, -1, 1.5, 10**30, "", "²", "\ud800", "x" * 5_000, [], {}, [[]], "DIGITS", "DEEP"))
    if isinstance(value, dict):
        found = {key: _wrong(rng, inner, share) for key, inner in value.items() if rng.random() > share / 3}
        return found | ({rng.choice(TEXTS): 1} if rng.random() < share / 3 else {})
    if isinstance(value, list):
        return [_wrong(rng, inner, share / len(value)) for inner in value]
    return value
