"""Places replicas one by one."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.core.rack_evenness import count_by_rack, is_as_even
from kafka_reassign_rpc.planner.brokers.broker_load import Load
from kafka_reassign_rpc.planner.brokers.broker_room import Spare
from kafka_reassign_rpc.planner.placement.filling_broker import FillingBroker
from kafka_reassign_rpc.planner.proposals.change_proposal import IN, ChangeProposal, PartitionName
from kafka_reassign_rpc.planner.proposals.piecewise import BetterPlace, even_out, lowest


class Copy(NamedTuple):
    name: PartitionName
    place: int
    load: Load


def copies_of(proposal: ChangeProposal) -> list[Copy]:
    name = proposal.name
    assert name is not None
    return [
        Copy(name, proposal.replicas.index(change.broker), change.load)
        for change in proposal.load_changes
        if change.side == IN and change.load.replicas
    ]


class Placing:
    """Iterate over `steps()`, then read `placed`: the partitions for which there is room. A copy goes to the lowest
    broker with room, in a rack with the fewest replicas of the partition. Then copies leave the highest brokers for
    lower ones, while no partition becomes less even over racks.
    """

    def __init__(
        self,
        by_rack: Mapping[str, Sequence[Sequence[int]]],
        racks: Mapping[int, str],
        filling: Mapping[int, FillingBroker],
        room: Callable[[int, Load], Spare],
        *,
        home_first: bool,
    ) -> None:
        """Arguments are those of ForcedRounds; `by_rack` has brokers of one speed together. With `home_first` a copy
        stays in the rack that is proposed, where that is one of the emptiest.
        """
        self._by_rack = by_rack
        self._racks = racks
        self._filling = filling
        self._room, self._home_first = room, home_first
        self._heights = {broker: one.height for broker, one in filling.items()}
        self._got: dict[int, Load] = defaultdict(Load)
        self._held: dict[int, list[Copy]] = defaultdict(list)
        self.placed: dict[PartitionName, tuple[int, ...]] = {}

    def steps(self, proposals: Iterable[ChangeProposal]) -> Iterator[None]:
        for proposal in proposals:
            self._place(proposal)
            yield
        yield from even_out(self._heights, self._held, self._better, self._move)

    def _place(self, proposal: ChangeProposal) -> None:
        copies, new = copies_of(proposal), list(proposal.replicas)
        absent = {copy.place for copy in copies}
        kept = [broker for place, broker in enumerate(new) if place not in absent]
        for copy in copies:
            chosen = self._choose(copy, kept, self._racks.get(proposal.replicas[copy.place]))
            if chosen is None:
                return
            new[copy.place] = chosen
            kept.append(chosen)
        counts, proposed = (count_by_rack(replicas, self._racks).values() for replicas in (new, proposal.replicas))
        if not is_as_even(counts, proposed):
            return
        self.placed[copies[0].name] = tuple(new)
        for copy in copies:
            self._held[new[copy.place]].append(copy)
            self._take(copy, new[copy.place])

    def _choose(self, copy: Copy, kept: Sequence[int], proposed: str | None) -> int | None:
        held = [self._racks.get(broker) for broker in kept]
        for count in sorted({held.count(rack) for rack in self._by_rack}):
            racks = [rack for rack in self._by_rack if held.count(rack) == count]
            if self._home_first and proposed in racks:
                home = self._lowest(copy, [proposed], kept)
                if home is not None:
                    return home.broker
            found = self._lowest(copy, racks, kept)
            if found is not None:
                return found.broker
        return None

    def _lowest(self, copy: Copy, racks: Iterable[str], kept: Sequence[int]) -> BetterPlace | None:
        found = []
        for alike in (brokers for rack in racks for brokers in self._by_rack[rack]):
            broker = lowest(
                self._heights,
                alike,
                lambda one: one not in kept and self._room(one, self._got[one]).fits(copy.load),
            )
            if broker is not None:
                found.append(BetterPlace(self._heights[broker] + self._filling[broker].rise(copy.load), broker))
        return min(found, default=None)

    def _better(self, copy: Copy, broker: int) -> BetterPlace | None:
        replicas = self.placed[copy.name]
        others, rack = count_by_rack([one for one in replicas if one != broker], self._racks), self._racks[broker]
        most = -1 if self._home_first else others.get(rack, 0)
        racks = [one for one in self._by_rack if one == rack or others.get(one, 0) <= most]
        return self._lowest(copy, racks, replicas)

    def _move(self, copy: Copy, source: int, destination: int) -> None:
        self._heights[source] -= self._filling[source].rise(copy.load)
        self._got[source] = self._got[source].minus(copy.load)
        self._take(copy, destination)
        new = list(self.placed[copy.name])
        new[copy.place] = destination
        self.placed[copy.name] = tuple(new)

    def _take(self, copy: Copy, broker: int) -> None:
        self._heights[broker] += self._filling[broker].rise(copy.load)
        self._got[broker] = self._got[broker].plus(copy.load)
