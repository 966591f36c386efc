"""From a seed to the steps of a campaign. The seed alone decides: no clock, no answer, no order of arrival.

Each lane has a generator and random numbers of its own, and keeps a model of what its own steps have made of it.
"""

import itertools
import random
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from .proxies import WRITE_CUTS
from .steps import BROKERS, KINDS, ONE_ACK, READERS, SERVERS, TOPIC, ZOOKEEPER, Kind, Step

BROKER_IDS = (1, 2, 3, 4)
LOG_DIRS = dict.fromkeys(BROKER_IDS, 2)
"""How many log dirs each broker has."""

SERVER_NAMES = ("a", "b")
MEMBERS = (0, 1)
"""Of the group of readers."""

PLAIN, IDEMPOTENT, TRANSACTIONAL = "plain", "idempotent", "transactional"
TOPICS = {"plain-0": PLAIN, "plain-1": PLAIN, "idem-0": IDEMPOTENT, "idem-1": IDEMPOTENT, "tx-0": TRANSACTIONAL}
"""Each topic's kind of producer."""
PRODUCERS = {**TOPICS, ONE_ACK: ONE_ACK}
"""The same with the topic of acks=1."""

INTERNAL_TOPICS = {"__consumer_offsets": 2, "__transaction_state": 2}
"""The brokers make these themselves: partitions of each."""

HOLDER = "__consumer_offsets"
"""Its id is given to other topics too. It is older than all of them, and is never deleted."""

BAD_DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "log-defaults": {"log.flush.interval.ms": "-1"},
    "compaction-lags": {"log.cleaner.min.compaction.lag.ms": "10", "log.cleaner.max.compaction.lag.ms": "5"},
    "reporters": {"metric.reporters": "org.apache.kafka.tools.PushHttpMetricsReporter"},
    "rates": {"leader.replication.throttled.rate": " 5 "},
    "unjudged-at-start": {"metric.reporters": "no.such.Class"},
}
"""By row of `core.restarts.table`: cluster-wide configs that end each broker at its next start."""

MOST_PARTITIONS = 6
FEWEST_REPLICAS, MOST_REPLICAS = 2, 3
"""Of a partition, internal topics included: each topic and each target is drawn so."""
RATES = (200_000, 1_000_000)
"""Throttles, bytes/s: such that moves take seconds."""

CONFIGS = {"max.message.bytes": ("1000000", "1100000"), "segment.bytes": ("2097152", "4194304"), "flush.ms": ("500",)}
"""None is below what was accepted before: a follower could not copy a batch that is larger than a segment."""

FIRST_HARM_S = 3.0

Drawn = tuple[str, dict[str, Any], float]
"""A kind, its arguments, and the seconds until the lane's next step."""


def plan(seed: int, seconds: float, off: Collection[str] = (), *, upgrade: bool = False) -> list[Step]:
    """All steps of a campaign in the order in which they begin.

    off       kinds that are not drawn
    upgrade   whether the brokers begin with an older version and are upgraded one after the other
    """
    lanes: dict[str, Iterator[Drawn]] = {
        BROKERS: _brokers(numbers_of(seed, BROKERS), off, _upgrades(seconds) if upgrade else []),
        SERVERS: _servers(numbers_of(seed, SERVERS), off),
        ZOOKEEPER: _zookeeper(numbers_of(seed, ZOOKEEPER), off),
        READERS: _readers(numbers_of(seed, READERS), off),
    }
    kept = numbers_of(seed, "kept").choice(list(TOPICS))  # else most campaigns have nothing that a group must read
    for topic in TOPICS:
        lanes[topic] = _topic(numbers_of(seed, topic), topic, (*off, "delete_topic") if topic == kept else off)
    lanes[ONE_ACK] = _one_ack(numbers_of(seed, ONE_ACK), ONE_ACK, off)
    for topic, partitions in INTERNAL_TOPICS.items():
        lanes[topic] = _internal(numbers_of(seed, topic), topic, partitions, off)
    return in_order(seed, seconds, lanes)


def in_order(seed: int, seconds: float, lanes: Mapping[str, Iterator[Drawn]]) -> list[Step]:
    """The steps of all lanes that begin in this time."""
    steps: list[Step] = []
    for lane, drawn in lanes.items():
        at = 0.0 if lane in PRODUCERS else FIRST_HARM_S + numbers_of(seed, f"{lane} begins").uniform(0, 4)
        for kind, arguments, rest in drawn:
            if at >= seconds:
                break
            steps.append(Step(round(at, 1), lane, kind, arguments))
            at += rest
    return sorted(steps, key=lambda step: (step.at, step.lane))


def numbers_of(seed: int, lane: str) -> random.Random:
    return random.Random(f"{seed}/{lane}")


def kinds_of(lane: str, off: Collection[str], all_kinds: Mapping[str, Kind] = KINDS) -> dict[str, Kind]:
    return {name: kind for name, kind in all_kinds.items() if kind.lane == lane and kind.weight and name not in off}


def draws(numbers: random.Random, kinds: Mapping[str, Kind]) -> Iterator[tuple[str, Kind]]:
    """Endless choices among the kinds; none where there is no kind."""
    while kinds:
        (name,) = numbers.choices(list(kinds), [kind.weight for kind in kinds.values()])
        yield name, kinds[name]


def between(numbers: random.Random, least: float, most: float) -> float:
    return round(numbers.uniform(least, most), 1)


def _upgrades(seconds: float) -> list[tuple[float, str, int]]:
    """When which broker is upgraded: first all get the newer version, then all the newer protocol."""
    steps = [(kind, broker) for kind in ("upgrade_broker", "raise_protocol") for broker in BROKER_IDS]
    return [(seconds * number / (len(steps) + 1), *step) for number, step in enumerate(steps)]


def _brokers(
    numbers: random.Random, off: Collection[str], upgrades: Sequence[tuple[float, str, int]]
) -> Iterator[Drawn]:
    at, left = 0.0, deque(upgrades)
    for name, kind in draws(numbers, kinds_of(BROKERS, off)):
        while left and at >= left[0][0]:
            _, upgrading, upgraded = left.popleft()
            rest = KINDS[upgrading].takes + 1
            yield upgrading, {"broker": upgraded, "away": 0.0}, rest
            at += rest
        broker = numbers.choice(BROKER_IDS)
        away = between(numbers, 0, 8)
        arguments: dict[str, Any] = {"broker": broker, "away": away}
        if name == "freeze_broker":
            away += 1  # up to 9 s: below and above the session's timeout
            arguments["away"] = away
        elif name == "cut_broker":
            arguments["how"] = numbers.choice(("reset", "silence", "refuse"))
        elif name == "lose_log_dir":
            away += 3  # it takes a checkpoint until the broker notices
            arguments = {"broker": broker, "log_dir": numbers.randrange(LOG_DIRS[broker]), "away": away}
            arguments["kill"] = numbers.random() < 0.5
        elif name == "kill_two_brokers":
            arguments = {"brokers": sorted(numbers.sample(BROKER_IDS, 2)), "away": away}
        elif name == "bad_defaults":
            row = numbers.choice(list(BAD_DEFAULTS))
            arguments |= {"server": numbers.choice(SERVER_NAMES), "row": row}
        rest = kind.takes + away + between(numbers, 1, 8)
        yield name, arguments, rest
        at += rest


def _servers(numbers: random.Random, off: Collection[str]) -> Iterator[Drawn]:
    for name, kind in draws(numbers, kinds_of(SERVERS, off)):
        away = between(numbers, 0.5, 5)
        arguments: dict[str, Any] = {"server": numbers.choice(SERVER_NAMES), "away": away}
        if name == "cut_server":
            arguments["how"] = numbers.choice(("reset", "silence", "mute", "refuse"))
        elif name == "cut_commits":
            arguments = {"away": away, "cuts": numbers.choices(list(WRITE_CUTS), k=numbers.randint(1, 12))}
        elif name == "hand_over":
            away = between(numbers, 2, 10)
            arguments = {"away": away, "kill": numbers.random() < 0.5}
        elif name == "lower_epoch":
            arguments = {"away": away, "by": numbers.choice((1, 5, 50))}
        yield name, arguments, kind.takes + away + between(numbers, 2, 10)


def _zookeeper(numbers: random.Random, off: Collection[str]) -> Iterator[Drawn]:
    for name, kind in draws(numbers, kinds_of(ZOOKEEPER, off)):
        away = between(numbers, 0, 4)
        yield name, {"away": away}, kind.takes + away + between(numbers, 15, 60)


def _readers(numbers: random.Random, off: Collection[str]) -> Iterator[Drawn]:
    for name, kind in draws(numbers, kinds_of(READERS, off)):
        away = between(numbers, 0, 3)
        yield name, {"member": numbers.choice(MEMBERS), "away": away}, kind.takes + away + between(numbers, 5, 20)


def replicas(numbers: random.Random, brokers: Sequence[int] = BROKER_IDS) -> list[int]:
    return numbers.sample(brokers, numbers.randint(FEWEST_REPLICAS, MOST_REPLICAS))


def targets(numbers: random.Random, partitions: int, brokers: Sequence[int] = BROKER_IDS) -> dict[int, list[int]]:
    return {index: replicas(numbers, brokers) for index in some(numbers, partitions)}


def some(numbers: random.Random, partitions: int) -> list[int]:
    """At least one of these."""
    return sorted(numbers.sample(range(partitions), numbers.randint(1, partitions)))


def _movement(numbers: random.Random, name: str, topic: str, partitions: int) -> dict[str, Any]:
    """The arguments of a step that moves partitions or cancels moves."""
    if name in {"cancel", "elect_preferred"}:
        return {"topic": topic, "partitions": some(numbers, partitions)}
    found: dict[str, Any] = {"topic": topic, "targets": targets(numbers, partitions)}
    if name == "move_with_lease":
        found["rate"] = numbers.choice(RATES)
    elif name == "request_moves":
        found["legacy"] = numbers.random() < 0.5
    return found


def life_of_topic(
    numbers: random.Random,
    topic: str,
    possible: Mapping[str, Kind],
    fewest: int,
    most: int,
    new: Callable[[int], tuple[dict[int, list[int]], int]],
    other: Callable[[str, int, float], Drawn],
) -> Iterator[Drawn]:
    """A topic is created, configured, grows, is deleted and created again. It begins with `fewest` to `most`
    partitions. `new`: the replicas of so many, and min.insync.replicas; `other`: any other kind, for so many, and the
    seconds that follow it at least.
    """
    incarnations = itertools.count()
    kinds = dict(possible)

    def create(partitions: int) -> Drawn:
        placed, least = new(partitions)
        arguments = {"topic": topic, "incarnation": next(incarnations), "replicas": placed, "min_insync": least}
        return "create_topic", arguments, KINDS["create_topic"].takes + between(numbers, 1, 4)

    partitions = numbers.randint(fewest, most)
    yield create(partitions)
    for name, kind in draws(numbers, kinds):
        rest = kind.takes + between(numbers, 0.2, 6)
        if name == "delete_topic":
            # Half of them at once: moves of the former topic are under way when the name is another one's.
            yield name, {"topic": topic}, between(numbers, 0, 4) * (numbers.random() < 0.5)
            partitions = numbers.randint(fewest, most)
            kinds.update(possible)
            yield create(partitions)
        elif name == "grow_topic":
            yield name, {"topic": topic, "partitions": partitions + 1}, rest
            partitions += 1
            if partitions == MOST_PARTITIONS:
                del kinds[name]
        elif name == "configure_topic":
            config = numbers.choice(sorted(CONFIGS))
            yield name, {"topic": topic, "config": config, "value": numbers.choice((None, *CONFIGS[config]))}, rest
        else:
            yield other(name, partitions, rest)


def _topic(numbers: random.Random, topic: str, off: Collection[str]) -> Iterator[Drawn]:
    def new(partitions: int) -> tuple[dict[int, list[int]], int]:
        # Kafka creates all partitions with the same number of replicas.
        factor = numbers.randint(FEWEST_REPLICAS, MOST_REPLICAS)
        placed = {index: numbers.sample(BROKER_IDS, factor) for index in range(partitions)}
        return placed, 2 if factor > 2 and numbers.random() < 0.5 else 1

    def other(name: str, partitions: int, rest: float) -> Drawn:
        if name in {"vanish_topic", "twin_ids"}:
            # A quarter of them are undone at once: the controller may never see what was.
            away = between(numbers, 0, 8) * (numbers.random() < 0.75)
            return name, {"topic": topic, "away": away}, rest + away
        if name == "cancel_batch":
            return name, {}, rest
        if name in {"hold_moves", "cordon_broker"}:
            away = between(numbers, 0.5, 6)
            what: dict[str, Any] = {"broker": numbers.choice(BROKER_IDS)}
            if name == "hold_moves":
                what = {"topic": topic, "targets": targets(numbers, partitions)}
            return name, {**what, "away": away}, rest + away
        return name, _movement(numbers, name, topic, partitions), rest

    return life_of_topic(numbers, topic, kinds_of(TOPIC, off), 1, 3, new, other)


def _one_ack(numbers: random.Random, topic: str, off: Collection[str]) -> Iterator[Drawn]:
    kinds = kinds_of(ONE_ACK, off)
    if kinds:
        arguments = {"topic": topic, "incarnation": 0, "replicas": {0: replicas(numbers)}, "min_insync": 1}
        yield "create_topic", arguments, KINDS["create_topic"].takes + between(numbers, 5, 10)
    for name, kind in draws(numbers, kinds):
        wanted = {"replicas": replicas(numbers)} if name == "edit_replicas" else {}
        yield name, {"topic": topic, **wanted}, kind.takes + between(numbers, 5, 15)


def _internal(numbers: random.Random, topic: str, partitions: int, off: Collection[str]) -> Iterator[Drawn]:
    kinds = {name: kind for name, kind in kinds_of(TOPIC, off).items() if kind.internal}
    for name, kind in draws(numbers, kinds):
        yield name, _movement(numbers, name, topic, partitions), kind.takes + between(numbers, 4, 15)
