"""`/api/v1/departure`, and whether each broker and rack may go."""

from collections.abc import Collection, Generator, Iterator, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.brokers import departure
from kafka_reassign_rpc.core.brokers.departure import MOST_NAMED, Brokers, Disks, Named
from kafka_reassign_rpc.core.status import broker_documents
from kafka_reassign_rpc.core.status.broker_documents import LostPartitions, MayGo, RackStatus, RoomLeft
from kafka_reassign_rpc.core.status.views import TermView

MOST_BROKERS = 100
"""Brokers of a rack, or of a question, that an answer lists."""

Key = int | str | None
"""A broker, the brokers of a rack, or those of a question."""


class Asked(NamedTuple):
    """The brokers in question, and what is lost with them."""

    brokers: Mapping[Key, Collection[int]]
    losses: Mapping[Key, departure.Losses]


def ask(term: TermView, away: Collection[int] | None) -> Generator[None, None, Asked]:
    """What is lost with these brokers; None: as counts without names, with each broker and with each rack."""
    cluster = term.cluster
    asked: dict[Key, Collection[int]] = {}
    if away is not None:
        asked[None] = away
    else:
        racks: dict[str, set[int]] = {}
        for broker in list(cluster.brokers.values()):
            asked[broker.id] = (broker.id,)
            if broker.rack is not None:
                racks.setdefault(broker.rack, set()).add(broker.id)
        asked.update(racks)
    yield
    brokers = departure.brokers_of(cluster, term.disks)
    most = 0 if away is None else MOST_NAMED
    partitions = departure.partitions_of(cluster)
    return Asked(asked, (yield from departure.count_losses(partitions, asked, brokers, most)))


class Answers:
    """Of what was counted, with the disks as they are known now."""

    def __init__(self, term: TermView, found: Asked) -> None:
        self._found = found
        self._brokers: Brokers = departure.brokers_of(term.cluster, term.disks)
        self._disks = Disks(self._brokers)

    def of_broker(self, broker: int) -> MayGo | None:
        return self._may_go(broker) if broker in self._brokers and broker in self._found.losses else None

    def racks(self) -> Iterator[RackStatus]:
        for key in sorted(key for key in self._found.losses if isinstance(key, str)):
            yield RackStatus(key, sorted(self._found.brokers[key])[:MOST_BROKERS], self._may_go(key))

    def document(self, *, at: int, counted_at: int) -> broker_documents.Departure:
        found = self._departure(None)
        return broker_documents.Departure(
            at,
            counted_at,
            sorted(found.brokers)[:MOST_BROKERS],
            found.strangers(self._brokers)[:MOST_BROKERS],
            found.may_go(self._brokers),
            found.why_not(self._brokers),
            found.meanwhile(),
            losses_document(found),
        )

    def _may_go(self, key: Key) -> MayGo:
        found = self._departure(key)
        return MayGo(found.may_go(self._brokers), found.why_not(self._brokers), found.meanwhile())

    def _departure(self, key: Key) -> departure.Departure:
        away, losses = self._found.brokers[key], self._found.losses[key]
        return departure.Departure(away, losses, self._disks.room(away, losses.replicas))


def losses_document(found: departure.Departure) -> broker_documents.Losses:
    losses, room = found.losses, found.room
    lists = {kind: _listed(getattr(losses, kind)) for kind in departure.KINDS}
    left = RoomLeft(room.enough, room.needed, room.free, room.silent)
    return broker_documents.Losses(replicas=losses.replicas, room=left, **lists)


def _listed(lost: Named) -> LostPartitions:
    names = lost.names
    return LostPartitions(lost.count, names, lost.count - len(names))
