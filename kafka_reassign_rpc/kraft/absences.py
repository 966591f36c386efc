"""Which topics are gone, by looks one after the other. That a look leaves a topic out is no evidence. No I/O."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

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

    def taken(self, look: Look, asked: Iterable[Known], waiting: Mapping[str, Collection[int]]) -> Absent:
        """`asked`: the topics that it was a look at; `waiting`: partitions that are waited for. A broker may not have
        them yet, so they count as unseen until the next look."""
        asked = frozenset(asked)
        listed = {name.topic for name in look.moves}
        denied = frozenset(one for one in asked if is_denied(look, listed, one))
        incomplete = frozenset(
            one
            for one in asked - denied
            if one.name in look.topics and not look.topics[one.name].partitions.keys() >= set(waiting.get(one.name, ()))
        )
        gone = denied & self._doubted
        unseen = frozenset(one for one in asked - gone if one.name not in look.topics) | (denied - gone)
        absent = Absent(gone, unseen | (incomplete - self._incomplete))
        self._doubted = self._doubted - asked | denied
        self._incomplete = self._incomplete - asked | incomplete
        return absent


def is_denied(look: Look, listed: Collection[str], known: Known) -> bool:
    """`listed`: topics with moves in flight, by the controller: they are there, whatever a broker says."""
    found = look.topics.get(known.name)
    if found is None:
        return known.name in look.absent and known.name not in listed
    return is_another(known, "" if found.id is None else topic_id_text(found.id))


def is_another(known: Known, found: str) -> bool:
    """Whether a topic with the id `found` is another one of the same name."""
    return bool(known.id) and bool(found) and known.id != found
