"""Proposals for a more even cluster: the change that saves most cost for a copied byte. The gain is exact only for its
partition; the coordinator keeps many changes at once from overshooting.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.planner.brokers.broker_load import MEASURES, Load, leadership_load, replica_load
from kafka_reassign_rpc.planner.deterministic_random import RANDOM_RANGE, random_bits
from kafka_reassign_rpc.planner.planner_cluster import PlannerPartition
from kafka_reassign_rpc.planner.proposals.change_proposal import (
    BUCKETS_PER_CLASS,
    CLASSES,
    GAIN_UNIT,
    LoadChange,
    load_changes,
)
from kafka_reassign_rpc.planner.proposals.imbalance_cost import cost_change, distance, topic_crowding_cost
from kafka_reassign_rpc.planner.proposals.round_parameters import BalanceParameters, RoundParameters
from kafka_reassign_rpc.planner.proposals.topic_spread import TopicCounts

DRAWS = 4
LEAST_GAIN = 1e-12
NO_COPY = 1
"""Bytes for a change without a copy: so its gain for a byte is defined."""


class BestChange(NamedTuple):
    """See ChangeProposal."""

    replicas: tuple[int, ...]
    load_changes: list[LoadChange]
    bucket: int
    reason: str
    rule: str
    gain: int


class _Candidate(NamedTuple):
    """`replicas`: those afterwards."""

    source: int
    destination: int
    load: Load
    replicas: tuple[int, ...]


def best_change(
    partition: PlannerPartition,
    params: RoundParameters,
    key: int,
    topic_replicas: Mapping[int, int],
    counts: TopicCounts | None = None,
) -> BestChange | None:
    """None if there is none, or the round does not consider the partition. `topic_replicas`: of its topic, by broker;
    with `counts` the topic stays spread.
    """
    balance = params.balance
    assert balance is not None
    chance = random_bits(key, params.round_number * 7919 + params.seed) / RANDOM_RANGE
    sources = [broker for broker in partition.replicas if chance < balance.sampling_rates.get(broker, 0.0)]
    if not sources or partition.moving or not params.live.issuperset(partition.replicas):
        return None
    if params.sources.isdisjoint(partition.isr):
        return None
    size, weights = params.size(partition), params.weights.by_measure()
    best: tuple[float, float, _Candidate] | None = None
    last_load, relief = None, 0.0
    for candidate in _candidates(partition, params, balance, sources, size, key):
        source, destination, load, _ = candidate
        if counts is not None and counts.crowds(destination, load):
            continue
        if load is not last_load:
            last_load, relief = load, -cost_change(source, -1, load, balance, weights)
        gain = relief - cost_change(destination, 1, load, balance, weights)
        if load.replicas:
            gain -= topic_crowding_cost(topic_replicas, source, destination, balance, params.weights.topic)
        gain_per_byte = gain / (load.bytes + NO_COPY)
        if gain > LEAST_GAIN and (best is None or gain_per_byte > best[0]):
            best = (gain_per_byte, gain, candidate)
    if best is None:
        return None
    gain_per_byte, gain, candidate = best
    if counts is not None:
        counts.bring(candidate.destination, candidate.load)  # as if it were accepted, and no other were
    bucket = _bucket(gain_per_byte, balance, params.bucket_in_class(key))
    reason, rule = reason_and_rule(candidate.source, candidate.destination, balance, params)
    changes = load_changes(partition, size, candidate.replicas)
    return BestChange(candidate.replicas, changes, bucket, reason, rule, round(gain / GAIN_UNIT))


def _candidates(
    partition: PlannerPartition,
    params: RoundParameters,
    balance: BalanceParameters,
    sources: list[int],
    size: int,
    key: int,
) -> Iterator[_Candidate]:
    """Changes of the preferred leader, then of one replica. A new broker that leads too much gives leaderships back;
    its replicas stay.
    """
    old, choice, rack_rule = partition.replicas, params.choice, params.choice.rack_rule
    if old[0] in sources:
        for place in range(1, len(old)):
            if old[place] in partition.isr and (old[0] in choice.free_bytes or old[place] in choice.free_bytes):
                yield _Candidate(old[0], old[place], leadership_load(partition), _with_leader(old, place))
    for turn, source in enumerate(sources):
        if params.goal.joining and source in choice.free_bytes:
            continue
        place = old.index(source)
        load = replica_load(partition, size, leads=place == 0)
        others, source_rack = rack_rule.counts((*old[:place], *old[place + 1 :])), rack_rule.racks[source]
        to_gain = choice.racks_to_gain(others, source_rack, size)
        if to_gain and balance.inside_racks:
            continue  # a copy that is made anyway would have to go there
        draws_key = random_bits(key, 50 + turn + 10 * params.round_number + params.seed)
        for broker in _destinations(source, to_gain, params, balance, draws_key):
            if broker in old or not choice.has_room(broker, size):
                continue
            target = (*old[:place], broker, *old[place + 1 :])
            rack = rack_rule.racks[broker]
            if to_gain:
                keeps_rule = rack in to_gain  # a copy that is made anyway mends the partition's racks
            else:
                keeps_rule = rack == source_rack or others.get(rack, 0) <= others.get(source_rack, 0)
            if keeps_rule:
                yield _Candidate(source, broker, load, target)


def _destinations(
    source: int, to_gain: list[str], params: RoundParameters, balance: BalanceParameters, key: int
) -> Iterator[int]:
    """From the racks that the partition can gain; without such, from the cluster and the rack of the source."""
    by_rack = params.choice.by_rack
    if to_gain:
        for draw in range(DRAWS):
            rack = to_gain[random_bits(key, 200 + draw) % len(to_gain)]
            yield by_rack[rack].draw(random_bits(key, draw))
        return
    for draw in range(0 if balance.inside_racks else DRAWS):
        yield balance.destinations.draw(random_bits(key, draw))
    same_rack = by_rack.get(params.choice.rack_rule.racks[source])
    if same_rack is not None and len(by_rack) > 1:
        for draw in range(DRAWS // 2):
            yield same_rack.draw(random_bits(key, 100 + draw))


def _with_leader(replicas: tuple[int, ...], place: int) -> tuple[int, ...]:
    swapped = list(replicas)
    swapped[0], swapped[place] = swapped[place], swapped[0]
    return tuple(swapped)


def _bucket(gain_per_byte: float, balance: BalanceParameters, bucket_in_class: int) -> int:
    step, bound = 0, balance.best_gain_per_byte
    while step < CLASSES - 1 and gain_per_byte < bound:
        step, bound = step + 1, bound / 4
    return step * BUCKETS_PER_CLASS + bucket_in_class


def reason_and_rule(
    source: int, destination: int, balance: BalanceParameters, params: RoundParameters
) -> tuple[str, str]:
    parts = []
    for place, (name, weight) in enumerate(zip(MEASURES, params.weights.by_measure(), strict=True)):
        for broker in (source, destination):
            share = balance.shares[broker][place]
            parts.append((weight * distance(share, balance.low, balance.high), -place, name, broker, share))
    _, _, name, broker, share = max(parts)
    return f"broker {broker} has {share:.0%} of its share of {name}", name
