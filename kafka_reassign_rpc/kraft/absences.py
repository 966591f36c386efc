"""Which topics and brokers are gone, by looks one after the other. That one leaves them out is no evidence. No I/O."""

from collections.abc import Collection, Generator, Iterable, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.topic import topic_id_text
from kafka_reassign_rpc.kraft.ports import Look


class Known(NamedTuple):
    """A topic that this server has seen, or has intents for. `id`: as text; "" means any."""

    name: str
    id: str = ""


class Absent(NamedTuple):
    """gone     looks agree that there is no such topic any more
    unseen   nothing is concluded of these: no broker shows them, or only one look denies them
    """

    gone: frozenset[Known] = frozenset()
    unseen: frozenset[Known] = frozenset()


class Absences:
    """A look denies a topic where a broker has said, when asked for it by name, that there is none, or where another
    topic has its name. What the broker knows may be old; so a topic is gone once the next look at it denies it, too.
    Looks are far enough apart that a broker which lives has by the second what the controller had at the first.
    """

    def __init__(self) -> None:
        self._doubted: frozenset[Known] = frozenset()
        """Denied by the last look at them."""
        self._incomplete: frozenset[Known] = frozenset()
        """Shown by it without partitions that moves wait for."""

    def taken(
        self, look: Look, asked: Iterable[Known], waiting: Mapping[str, Collection[int]]
    ) -> Generator[None, None, Absent]:
        """`asked`: the topics that it was a look at; `waiting`: partitions that are waited for. A broker may not have
        them yet, so they count as unseen until the next look. Yields after each topic."""
        listed = {name.topic for name in look.moves}
        doubted, incomplete = set(self._doubted), set(self._incomplete)
        gone: set[Known] = set()
        unseen: set[Known] = set()
        for one in asked:
            doubted.discard(one)
            incomplete.discard(one)
            found = look.topics.get(one.name)
            if is_denied(look, listed, one):
                doubted.add(one)
                (gone if one in self._doubted else unseen).add(one)
            elif found is None:
                unseen.add(one)
            elif not found.partitions.keys() >= set(waiting.get(one.name, ())):
                incomplete.add(one)
                if one not in self._incomplete:
                    unseen.add(one)
            yield
        self._doubted, self._incomplete = frozenset(doubted), frozenset(incomplete)
        return Absent(frozenset(gone), frozenset(unseen))


def is_denied(look: Look, listed: Collection[str], known: Known) -> bool:
    """`listed`: topics with moves in flight, by the controller: they are there, whatever a broker says."""
    found = look.topics.get(known.name)
    if found is None:
        return known.name in look.absent and known.name not in listed
    return is_another(known, "" if found.id is None else topic_id_text(found.id))


def is_another(known: Known, found: str) -> bool:
    """Whether a topic with the id `found` is another one of the same name."""
    return bool(known.id) and bool(found) and known.id != found


class AbsentBrokers:
    """A broker is gone once two looks in a row do not show it, or show it fenced. One that a look shows is there."""

    def __init__(self) -> None:
        self._doubted: frozenset[int] = frozenset()
        """Not shown by the last look."""

    def taken(self, shown: Mapping[int, Broker], known: Mapping[int, Broker]) -> dict[int, Broker]:
        """Those that are there, after a look. `known`: before it."""
        doubted = frozenset(known.keys() - shown.keys())
        kept = {one: known[one] for one in doubted - self._doubted}
        self._doubted = doubted
        return {**kept, **shown}
