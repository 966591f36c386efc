"""What has to hold at every moment of a campaign."""

from .checks import needlessly_leaderless
from .facts import Facts, Name
from .history import Absence

PATIENCE_S = 45.0
"""How long a partition may have no leader: the sessions of a controller and of a broker have to expire first, and the
next controller has to read the cluster."""


class Watch:
    """Epochs never go down, and no partition is without a leader needlessly."""

    def __init__(self) -> None:
        self._epochs: dict[tuple[str, int], tuple[int, int, int]] = {}
        self._since: dict[tuple[str, Name], float] = {}

    def seen(self, now: float, facts: Facts, *, disturbed: frozenset[int] = frozenset()) -> list[str]:
        """The differences at a moment.

        now         seconds of a clock
        disturbed   brokers that may be unable to lead although they are alive: a log dir of theirs is away
        """
        found = []
        for name, state in facts.states.items():
            key = facts.topics[name[0]].id, name[1]
            epochs = (state.leader_epoch, state.version, state.controller_epoch)
            before = self._epochs.get(key, epochs)
            if any(new < old for new, old in zip(epochs, before, strict=True)):
                found.append(f"{name}: leader epoch, version, controller epoch went from {before} to {epochs}")
            self._epochs[key] = epochs
        waiting = {
            (facts.topics[name[0]].id, name): able
            for name, able in needlessly_leaderless(facts, facts.live - disturbed).items()
        }
        self._since = {one: self._since.get(one, now) for one in waiting}
        for late, since in self._since.items():
            if now - since > PATIENCE_S:
                found.append(f"{late[1]} has no leader for {now - since:.0f} s though {waiting[late]} could lead")
        return found

    def interrupted(self) -> None:
        """Nobody can elect now: ZooKeeper or every controller is away. The waiting begins anew."""
        self._since.clear()


class Registrations:
    """Brokers that register anew although no step has taken them away: on a busy machine a session ends by itself."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[float, float]] = {}
        """By broker: since when it was registered, and when that was last seen."""

    def absences(self, now: float, facts: Facts) -> list[Absence]:
        """Those that have ended since the moment before. now: seconds of the epoch"""
        found = []
        for broker, since in facts.registered.items():
            before, last = self._seen.get(broker, (since, now))
            if since != before:
                found.append(Absence(broker, last, since))
            self._seen[broker] = since, now
        return found
