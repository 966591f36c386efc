"""From a seed to the steps of a campaign on KRaft. The seed alone decides, as in `tests.campaign.generator`."""

import random
from collections.abc import Collection, Iterator
from typing import Any

from tests.campaign.generator import (
    IDEMPOTENT,
    INTERNAL_TOPICS,
    MEMBERS,
    TOPICS,
    Drawn,
    between,
    draws,
    in_order,
    kinds_of,
    life_of_topic,
    numbers_of,
    replicas,
    some,
    targets,
)
from tests.campaign.proxies import WRITE_CUTS
from tests.campaign.steps import BROKERS, READERS, SERVERS, TOPIC, Step

from .kraft_kinds import CONTROLLERS, KINDS, OPERATORS, STATE_LOG

BROKER_IDS = (1, 2, 3)
CONTROLLER_IDS = (101, 102, 103)
KRAFT_TOPICS = {topic: kind for topic, kind in TOPICS.items() if topic.endswith("-0") or kind == IDEMPOTENT}
FEWEST_PARTITIONS = 2
RATES = (100_000, 400_000)
"""Throttles, bytes/s: such that moves take seconds."""
HOWS = ("reset", "silence", "mute", "refuse")


def plan(seed: int, seconds: float, off: Collection[str] = ()) -> list[Step]:
    """All steps in the order in which they begin. `off`: kinds that are not drawn."""
    lanes: dict[str, Iterator[Drawn]] = {
        BROKERS: _brokers(numbers_of(seed, BROKERS), off),
        CONTROLLERS: _controllers(numbers_of(seed, CONTROLLERS), off),
        SERVERS: _servers(numbers_of(seed, SERVERS), off),
        STATE_LOG: _state_log(numbers_of(seed, STATE_LOG), off),
        READERS: _readers(numbers_of(seed, READERS), off),
    }
    # Else most campaigns have nothing that a group must read.
    kept = numbers_of(seed, "kept").choice(list(KRAFT_TOPICS))
    lanes[OPERATORS] = _operators(numbers_of(seed, OPERATORS), kept, off)
    for topic in KRAFT_TOPICS:
        lanes[topic] = _topic(numbers_of(seed, topic), topic, (*off, "delete_topic") if topic == kept else off)
    internal = {name: kind for name, kind in kinds_of(TOPIC, off, KINDS).items() if kind.internal}
    for topic, partitions in INTERNAL_TOPICS.items():
        lanes[topic] = _internal(numbers_of(seed, topic), topic, partitions, internal)
    return in_order(seed, seconds, lanes)


def _brokers(numbers: random.Random, off: Collection[str]) -> Iterator[Drawn]:
    for name, kind in draws(numbers, kinds_of(BROKERS, off, KINDS)):
        away = between(numbers, 0, 8)
        arguments: dict[str, Any] = {"away": away}
        if not name.endswith("log_leader"):
            arguments["broker"] = numbers.choice(BROKER_IDS)
        if name == "cut_broker":
            arguments["how"] = numbers.choice(HOWS)
        if name == "lose_broker":
            arguments["brake"] = numbers.random() < 0.5
        yield name, arguments, kind.takes + away + between(numbers, 2, 10)


def _controllers(numbers: random.Random, off: Collection[str]) -> Iterator[Drawn]:
    for name, kind in draws(numbers, kinds_of(CONTROLLERS, off, KINDS)):
        away = between(numbers, 0, 5)
        arguments: dict[str, Any] = {"away": away}
        if name != "kill_two_controllers":
            arguments["active"] = numbers.random() < 0.7
        yield name, arguments, kind.takes + away + between(numbers, 5, 20)


def _servers(numbers: random.Random, off: Collection[str]) -> Iterator[Drawn]:
    for name, kind in draws(numbers, kinds_of(SERVERS, off, KINDS)):
        away = between(numbers, 0.3, 6)
        arguments: dict[str, Any] = {"away": away}
        if name == "cut_requests":
            arguments["cuts"] = numbers.choices(list(WRITE_CUTS), k=numbers.randint(1, 8))
        else:
            arguments["leads"] = numbers.random() < 0.8
        if name == "cut_server":
            arguments["how"] = numbers.choice(HOWS)
        yield name, arguments, kind.takes + away + between(numbers, 2, 10)


def _state_log(numbers: random.Random, off: Collection[str]) -> Iterator[Drawn]:
    for name, kind in draws(numbers, kinds_of(STATE_LOG, off, KINDS)):
        arguments = {"target": replicas(numbers, BROKER_IDS)} if name == "move_log" else {}
        yield name, arguments, kind.takes + between(numbers, 3, 15)


def _operators(numbers: random.Random, kept: str, off: Collection[str]) -> Iterator[Drawn]:
    """Beside the lanes of topics: some may find no topic of the name any more. `kept` is never deleted."""
    for name, kind in draws(numbers, kinds_of(OPERATORS, off, KINDS)):
        away = between(numbers, 3, 9)
        arguments: dict[str, Any] = {"away": away}
        if name == "cordon_broker":
            drain = numbers.choice(("no", "drain", "cancelled"))
            arguments |= {"topic": kept, "broker": numbers.choice(BROKER_IDS), "drain": drain}
        else:
            arguments["topic"] = numbers.choice(list(KRAFT_TOPICS))
            arguments["targets"] = targets(numbers, FEWEST_PARTITIONS, BROKER_IDS)
        yield name, arguments, kind.takes + away + between(numbers, 2, 10)


def _readers(numbers: random.Random, off: Collection[str]) -> Iterator[Drawn]:
    for name, kind in draws(numbers, kinds_of(READERS, off, KINDS)):
        away = between(numbers, 0, 3)
        yield name, {"member": numbers.choice(MEMBERS), "away": away}, kind.takes + away + between(numbers, 5, 20)


def _movement(numbers: random.Random, name: str, topic: str, partitions: int) -> dict[str, Any]:
    """The arguments of a step that moves partitions or cancels moves."""
    if name.startswith("cancel"):
        return {"topic": topic, "partitions": some(numbers, partitions)}
    found: dict[str, Any] = {"topic": topic, "targets": targets(numbers, partitions, BROKER_IDS)}
    if name in {"move_with_lease", "throttle_behind", "stock_tool"}:
        found["rate"] = numbers.choice(RATES)
    if name == "queue_moves":
        found["rate"] = numbers.choice((None, *RATES))
    if name in {"throttle_behind", "stock_tool"}:
        found["away"] = between(numbers, 1, 8)
    return found


def _topic(numbers: random.Random, topic: str, off: Collection[str]) -> Iterator[Drawn]:
    def new(partitions: int) -> tuple[dict[int, list[int]], int]:
        factor = numbers.randint(2, len(BROKER_IDS))
        return {index: numbers.sample(BROKER_IDS, factor) for index in range(partitions)}, 1

    def other(name: str, partitions: int, rest: float) -> Drawn:
        if name == "cancel_all":
            return name, {}, rest
        arguments = _movement(numbers, name, topic, partitions)
        return name, arguments, rest + arguments.get("away", 0.0)

    return life_of_topic(numbers, topic, kinds_of(TOPIC, off, KINDS), FEWEST_PARTITIONS, 4, new, other)


def _internal(numbers: random.Random, topic: str, partitions: int, kinds: Any) -> Iterator[Drawn]:
    for name, kind in draws(numbers, kinds):
        yield name, _movement(numbers, name, topic, partitions), kind.takes + between(numbers, 4, 15)
