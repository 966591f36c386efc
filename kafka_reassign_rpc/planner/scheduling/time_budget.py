from collections.abc import Callable, Mapping, Sequence

from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.brokers.broker_targets import BrokerTargets
from kafka_reassign_rpc.planner.network_limits import NetworkLimits
from kafka_reassign_rpc.planner.plan_result import Link, PlannedMove, bytes_by_link, sender_and_receivers

_TRIES = 12
_SHORTER = 0.9
"""Each try counts with less time than the one before: brokers wait for each other."""


def worth_first(
    moves: Sequence[PlannedMove], before: Mapping[int, Load], targets: BrokerTargets | None
) -> list[PlannedMove]:
    """What is at risk, then what is worth most for a copied byte.

    targets    of a goal that balances: a move is worth how much nearer to them brokers come by bytes, replicas and
               leaders. None: a goal that forces changes wants as many partitions done as possible
    """

    def place(move: PlannedMove) -> tuple[int, float, str, int]:
        cost = float(move.bytes) if targets is None else -_gain(move, before, targets) / (move.bytes + 1)
        return move.priority, cost, move.topic, move.partition

    return sorted(moves, key=place)


def moves_beyond(
    ordered: Sequence[PlannedMove],
    network: NetworkLimits,
    seconds: float,
    simulated: Callable[[Sequence[PlannedMove]], float],
) -> list[PlannedMove]:
    """Those that do not fit. Moves without a copy take no time.

    ordered      the first are worth most
    simulated    the seconds that some of them take
    """
    kept, rest, given = list(ordered), list[PlannedMove](), seconds
    for _ in range(_TRIES):
        took = simulated(kept)
        if took <= seconds:
            return rest
        kept, rest = _fitting(ordered, network, given)
        given *= _SHORTER
    return [move for move in ordered if move.bytes]


def _fitting(
    ordered: Sequence[PlannedMove], network: NetworkLimits, seconds: float
) -> tuple[list[PlannedMove], list[PlannedMove]]:
    """The moves for which all their brokers have time left; the others."""
    left: dict[Link, float] = {}
    kept, rest = list[PlannedMove](), list[PlannedMove]()
    for move in ordered:
        links = bytes_by_link(move)
        for link in links:
            left.setdefault(link, seconds * network.rate(link.broker))
        if all(size <= left[link] for link, size in links.items()):
            kept.append(move)
            for link, size in links.items():
                left[link] -= size
        else:
            rest.append(move)
    return kept, rest


def _gain(move: PlannedMove, before: Mapping[int, Load], targets: BrokerTargets) -> float:
    _, receivers, each = sender_and_receivers(move)
    if not receivers:
        return 0.0
    gone = [broker for broker in move.original if broker not in move.target]
    changes = dict.fromkeys(gone, -1) | dict.fromkeys(receivers, 1)
    return sum(
        _distance(broker, before[broker], targets)
        - _distance(broker, before[broker].plus(_part(move, broker, each, sign)), targets)
        for broker, sign in changes.items()
    )


def _part(move: PlannedMove, broker: int, each: int, sign: int) -> Load:
    leads = broker == (move.original if sign < 0 else move.target)[0]
    return Load(sign * each, sign, sign * leads)


def _distance(broker: int, load: Load, targets: BrokerTargets) -> float:
    shares, weights = targets.shares(broker, load), targets.weights
    parts = zip(shares, (weights.bytes, weights.replicas, weights.leaders), strict=False)
    return sum(weight * (share - 1) ** 2 for share, weight in parts)
