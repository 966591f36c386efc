"""Which replica leads before a copy begins, so that no broker sends much more than others. A follower fetches from its
leader, and leadership moves without copying: any live in-sync replica can lead first, and send.

The first of these rounds, which come last, measures what brokers send and get. In the next ones the coordinator
chooses the senders of all moves, of a random part in each if there are many. A leader goes on sending while it stays
below the level: what the busiest receiver gets, or what brokers send on average, by the time that each takes for it.
What it sends meanwhile to followers and consumers counts too.
"""

from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping
from functools import partial

from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.deterministic_random import partition_key
from kafka_reassign_rpc.planner.network_limits import NetworkLimits, broker_speeds
from kafka_reassign_rpc.planner.placement.acceptance_thresholds import BucketSums
from kafka_reassign_rpc.planner.planner_cluster import Place, PlannerPartition, PlannerTopic, found_in
from kafka_reassign_rpc.planner.proposals import piecewise
from kafka_reassign_rpc.planner.proposals.change_proposal import IN, OUT, ChangeProposal, LoadChange, PartitionName
from kafka_reassign_rpc.planner.proposals.piecewise import BetterPlace, Collects, even_out
from kafka_reassign_rpc.planner.proposals.round_parameters import RoundParameters
from kafka_reassign_rpc.planner.proposals.round_sums import AcceptedSums, ProposedSums, Thresholds

MOVES_IN_ROUND = 50_000
_LEAST_FREE = 0.1
_GOOD_ENOUGH = 1.02


def propose_leaders(
    chunk: list[PlannerTopic], params: RoundParameters, seconds: float
) -> Iterator[ChangeProposal | None]:
    """If the coordinator collects none, the round measures. `seconds`: how long the copies take, as far as known."""
    return found_in(chunk, partial(_proposal, params, seconds))


def _proposal(
    params: RoundParameters, seconds: float, position: Place, topic: str, partition: PlannerPartition
) -> ChangeProposal | None:
    if not partition.original or partition.original == partition.replicas:
        return None
    copies = [broker for broker in partition.replicas if broker not in partition.original]
    size, sender = params.size(partition), partition.leader
    sent = size * len(copies)
    if not sent or sender < 0:
        return None
    if params.collects is None:
        changes = [LoadChange(sender, OUT, Load(sent)), *(LoadChange(broker, IN, Load(size)) for broker in copies)]
        return ChangeProposal(position, partition.replicas, 0, changes, 0, "", "")
    key = partition_key(topic, partition.index)
    name = params.collected_name(topic, partition.index, size, key)
    if name is None or sender not in params.sources:  # the leader that the snapshot shows is lost: another will send
        return None
    others = [
        broker
        for broker in partition.original
        if broker != sender and broker in partition.isr and broker in params.sources
    ]
    if not others:
        return None
    load = Load(sent + int(partition.client_sends * seconds), 1)
    changes = [LoadChange(sender, OUT, load), *(LoadChange(broker, IN, load) for broker in others)]
    return ChangeProposal(position, partition.replicas, 0, changes, 0, "", "", first_leader=others[0], name=name)


class LeaderRounds:
    def __init__(self, client_sends: Mapping[int, int], live: Iterable[int], network: NetworkLimits, seed: int) -> None:
        """`client_sends`: bytes/s that each leader sends anyway."""
        self._live = sorted(live)
        self._client_sends = client_sends
        self._network = network
        self._speeds = broker_speeds(self._live, network)
        self._busy: dict[int, float] = {}
        self._level = 0.0
        self._seed = seed
        self._rounds = self._parts = 0
        self.seconds = 0.0
        """How long the copies take, where no broker sends more than the level; 0.0 before it is measured."""
        self.is_over = False

    def collects(self) -> Collects | None:
        return Collects(one_in=self._parts, part=self._rounds - 1) if self._rounds else None

    def deciding(
        self, buckets: Mapping[tuple[int, int], BucketSums], proposed: ProposedSums
    ) -> Generator[None, None, Thresholds]:
        self._rounds += 1
        if self._rounds == 1:
            self._parts = -(-proposed.proposals // MOVES_IN_ROUND)
            self._measure(buckets)
            return Thresholds()
        sent = {one: size - self._client_sends.get(one, 0) * self.seconds for one, size in self._busy.items()}
        choosing = _Senders(sent, {one: self._free(one) for one in sent}, self._level, self._seed)
        yield from choosing.steps(proposed.collected)
        return Thresholds(placed=choosing.chosen)

    def take(self, accepted: AcceptedSums) -> None:
        for broker, load in accepted.loads.items():
            self._busy[broker] = self._busy.get(broker, 0.0) + load.bytes
        busiest = max((size / self._speeds[broker] for broker, size in self._busy.items()), default=0.0)
        self.is_over = busiest <= self._level * _GOOD_ENOUGH or self._rounds > self._parts

    def _free(self, broker: int) -> float:
        """The speed with what clients leave of the bandwidth."""
        left = 1 - self._client_sends.get(broker, 0) / self._network.bandwidth_of(broker)
        return self._speeds[broker] * max(_LEAST_FREE, left)

    def _measure(self, buckets: Mapping[tuple[int, int], BucketSums]) -> None:
        moved = {key: sum(load.bytes for _, load, _ in sums) for key, sums in buckets.items() if key[0] >= 0}
        received = max((size / self._speeds[one] for (one, side), size in moved.items() if side == IN), default=0.0)
        sent = {broker: size for (broker, side), size in moved.items() if side == OUT}
        self._level = max(received, sum(sent.values()) / sum(map(self._free, self._live)))
        bandwidths = [self._network.bandwidth_of(broker) for broker in self._live]
        self.seconds = self._level / (sum(bandwidths) / len(bandwidths))
        self._busy = {
            broker: sent.get(broker, 0) + self._client_sends.get(broker, 0) * self.seconds for broker in self._live
        }


class _Senders:
    """Iterate over `steps()`, then read `chosen`. The largest move comes first. If its leader would exceed the level,
    the replica with least to send sends. Then moves leave the busiest senders for others.
    """

    def __init__(self, sent: Mapping[int, float], free: Mapping[int, float], level: float, seed: int) -> None:
        """By live broker.

        sent     bytes that it sends so far, with these moves
        free     as of `LeaderRounds._free`
        level    bytes that a broker of speed 1.0 sends in the time that the plan takes
        """
        self._free = free
        self._heights = {broker: size / free[broker] for broker, size in sent.items()}
        self._level = level
        self._seed = seed
        self.chosen: dict[PartitionName, tuple[int, ...]] = {}

    def steps(self, proposals: Iterable[ChangeProposal]) -> Iterator[None]:
        held: dict[int, list[ChangeProposal]] = defaultdict(list)
        in_order = yield from piecewise.in_order(proposals, self._seed)
        for one in in_order:
            self._heights[one.load_changes[0].broker] -= self._rise(one, one.load_changes[0].broker)
            yield
        for one in in_order:
            leader = one.load_changes[0].broker
            best = BetterPlace(self._heights[leader] + self._rise(one, leader), leader)
            if best.height > self._level:
                best = min(best, self._better(one, leader))
            self._take(one, best.broker)
            held[best.broker].append(one)
            yield
        yield from even_out(self._heights, held, self._better, self._move)

    def _better(self, proposal: ChangeProposal, sender: int) -> BetterPlace:
        return min(
            BetterPlace(self._heights[change.broker] + self._rise(proposal, change.broker), change.broker)
            for change in proposal.load_changes
            if change.broker != sender
        )

    def _rise(self, proposal: ChangeProposal, sender: int) -> float:
        return proposal.load_changes[0].load.bytes / self._free[sender]

    def _move(self, proposal: ChangeProposal, source: int, destination: int) -> None:
        self._heights[source] -= self._rise(proposal, source)
        self._take(proposal, destination)

    def _take(self, proposal: ChangeProposal, sender: int) -> None:
        name, leader = proposal.name, proposal.load_changes[0].broker
        assert name is not None
        self._heights[sender] += self._rise(proposal, sender)
        self.chosen.pop(name, None)
        if sender != leader:
            self.chosen[name] = (sender,)
