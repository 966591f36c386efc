"""What has to hold at every moment of a campaign."""

from collections.abc import Collection

from .checks import needlessly_leaderless
from .facts import Facts, Name, State
from .history import Absence

PATIENCE_S = 45.0
"""How long a partition may have no leader: the sessions of a controller and of a broker have to expire first, and the
next controller has to read the cluster."""


class Watch:
    """Epochs never go down, and no partition is without a leader needlessly."""

    def __init__(self) -> None:
        self._states: dict[tuple[str, Name], State] = {}
        self._since: dict[tuple[str, Name], float] = {}

    def seen(
        self, now: float, facts: Facts, *, disturbed: frozenset[int] = frozenset(), edited: Collection[str] = ()
    ) -> list[str]:
        """The differences at a moment.

        now         seconds of a clock
        edited      topics of which somebody puts older states back: each counts once the controller has taken it up
        disturbed   brokers that may be unable to lead although they are alive: a log dir of theirs is away
        """
        found = []
        for name, state in facts.states.items():
            key = facts.topics[name[0]].id, name
            known = self._states.get(key, state)
            if name[0] in edited and state.created != known.created and not state.version:
                continue
            before, after = _epochs(known), _epochs(state)
            if any(new < old for new, old in zip(after, before, strict=True)):
                found.append(f"{name}: leader epoch, controller epoch, version went from {before} to {after}")
            self._states[key] = state
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


def _epochs(state: State) -> tuple[tuple[int, ...], ...]:
    """The version begins anew where somebody puts a znode back that had vanished, the epochs go on."""
    return (state.leader_epoch,), (state.controller_epoch,), (state.created, state.version)


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
