"""What topic and broker configs should say, given the leases (see `core.state.throttle_leases`), what stands, and
what stood before.

    topic lists     what stands but for entries of ours, then one entry for each leased replica that is not among it;
                    `*` names every replica already and stays `*`
    broker rates    the lowest of the leases on the broker and of the rate that stood before (the broker's own, or else
                    the cluster's): a lease never takes a limit away that is stricter
    no lease left   what stood before, to the letter; a rate of which nothing stood before stays while moves without
                    a lease are still throttled on the broker (their operator set the same, or counts on it)

What somebody else changes meanwhile:

    adds entries                      theirs: they stay
    takes entries of ours out         put back: the move still needs them
    sets another rate                 theirs: it stands until the leases on the broker are others, and after them
    takes the rate away               put back while there are leases; nothing is put back after them

What is remembered of it (`ListMemory`, `RateMemory`) is written in the same transaction as the config that it is of.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.core.state.throttle_leases import NO_RATE
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    Configs,
    rate_of,
)


class ListMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of one list of a topic: what stood before our first entry (None: nothing), and our entries, comma-separated."""

    ours: str
    before: str | None = None


class RateMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of one rate of a broker: what stood before, what we know to stand since, and the lease that it follows from."""

    set: str
    before: str | None = None
    lease: int = NO_RATE


class TopicMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    leader: ListMemory | None = None
    follower: ListMemory | None = None

    def __bool__(self) -> bool:
        return self != TopicMemory()

    def with_all_of(self, other: "TopicMemory") -> "TopicMemory":
        """What is to be remembered while it is not known which of the two fits what stands."""
        return TopicMemory(_both(self.leader, other.leader), _both(self.follower, other.follower))


def _both(one: ListMemory | None, other: ListMemory | None) -> ListMemory | None:
    if one is None or other is None:
        return one or other
    known = set(one.ours.split(","))
    return ListMemory(",".join([one.ours, *(e for e in other.ours.split(",") if e not in known)]), one.before)


class BrokerMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    leader: RateMemory | None = None
    follower: RateMemory | None = None

    def __bool__(self) -> bool:
        return self != BrokerMemory()


class TopicAfter(NamedTuple):
    configs: dict[str, str]
    memory: TopicMemory


class BrokerAfter(NamedTuple):
    configs: dict[str, str]
    memory: BrokerMemory


def topic_after(
    configs: Configs, memory: TopicMemory, leaders: Collection[str], followers: Collection[str]
) -> TopicAfter:
    """`leaders`, `followers`: the entries that leases ask for."""
    after = dict(configs)
    leader = _list_after(after, LEADER_REPLICAS, memory.leader, leaders)
    follower = _list_after(after, FOLLOWER_REPLICAS, memory.follower, followers)
    return TopicAfter(after, TopicMemory(leader, follower))


def _list_after(
    configs: dict[str, str], name: str, memory: ListMemory | None, wanted: Collection[str]
) -> ListMemory | None:
    """Puts the list into `configs`."""
    standing = configs.get(name)
    if standing is not None and standing.strip() == "*":
        return None
    if memory is None and not wanted:
        return None
    theirs = _theirs(standing, memory)
    added = [entry for entry in wanted if entry not in theirs] if theirs else wanted
    before = standing if memory is None else memory.before
    if added:
        _put(configs, name, ",".join([*theirs, *added]))
        return ListMemory(",".join(added), before)
    _put(configs, name, before if list(theirs) == list(_entries(before)) else ",".join(theirs) or None)
    return None


def _theirs(standing: str | None, memory: ListMemory | None) -> dict[str, None]:
    """Entries that are not ours. Where ours stand as we wrote them, they are not looked at one by one."""
    if memory is None or not standing:
        return _entries(standing)
    if standing == memory.ours:
        return {}
    if standing.endswith(f",{memory.ours}"):
        return _entries(standing[: -len(memory.ours) - 1])
    ours = set(memory.ours.split(","))
    return {entry: None for entry in _entries(standing) if entry not in ours}


def _entries(text: str | None) -> dict[str, None]:
    if not text:
        return {}
    found = dict.fromkeys(map(str.strip, text.split(",")))
    found.pop("", None)
    return found


def broker_after(
    configs: Configs, defaults: Configs, memory: BrokerMemory, lease: int, *, needed: bool = False
) -> BrokerAfter:
    """`lease`: the lowest rate that leases ask for, NO_RATE where there is none; `needed`: by moves without a lease."""
    after = dict(configs)
    leader = _rate_after(after, LEADER_RATE, defaults, memory.leader, lease, needed)
    follower = _rate_after(after, FOLLOWER_RATE, defaults, memory.follower, lease, needed)
    return BrokerAfter(after, BrokerMemory(leader, follower))


def _rate_after(
    configs: dict[str, str], name: str, defaults: Configs, memory: RateMemory | None, lease: int, needed: bool
) -> RateMemory | None:
    """Puts the rate into `configs`."""
    standing = configs.get(name)
    before = standing
    if memory is not None:
        if standing == memory.set:
            before = memory.before
        elif standing is not None and lease == memory.lease:
            return None if lease == NO_RATE else RateMemory(standing, standing, lease)
    elif lease == NO_RATE:
        return None
    if lease == NO_RATE:
        if needed and before is None and standing is not None:
            return RateMemory(standing)
        _put(configs, name, before)
        return None
    if memory is not None and standing == memory.set and lease == memory.lease:
        return memory
    stricter = rate_of(name, {} if before is None else {name: before}, defaults)
    text = str(lease if stricter is None else min(lease, int(stricter)))
    _put(configs, name, text)
    return RateMemory(text, before, lease)


def _put(configs: dict[str, str], name: str, value: str | None) -> None:
    if value is None:
        configs.pop(name, None)
    else:
        configs[name] = value


# ------------------------------------------------------------------------------------- cancelled without a lease

Cancelled = Mapping[int, Collection[int]]
"""Partitions of one topic and the replicas that their moves had."""


def without_cancelled(configs: Configs, cancelled: Cancelled) -> dict[str, str]:
    """The configs of a topic without the throttles of cancelled moves: of their own replicas, nothing else."""
    after = dict(configs)
    gone = {f"{partition}:{broker}" for partition, brokers in cancelled.items() for broker in brokers}
    for name in (LEADER_REPLICAS, FOLLOWER_REPLICAS):
        named = _entries(configs.get(name))
        if not gone.isdisjoint(named):
            _put(after, name, ",".join(entry for entry in named if entry not in gone) or None)
    return after


def brokers_named(configs: Configs) -> set[str] | None:
    """Brokers (ids as text) of which a topic's lists name replicas; None: all."""
    found: set[str] = set()
    for name in (LEADER_REPLICAS, FOLLOWER_REPLICAS):
        for entry in _entries(configs.get(name)):
            if entry == "*":
                return None
            found.add(entry.partition(":")[2])
    return found
