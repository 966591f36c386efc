"""The topic and broker configs that throttle leases need, and the way back.

topic lists     the present list without entries of ours, then one entry for each leased replica that it does not
                name; `*` names every replica and stays `*`
broker rates    the lowest of the leases on the broker and of the former rate (the broker's own, else the
                cluster's, as it is now), unless all leases on the broker lift it
no lease left   exactly the former value; but a rate without a former value stays while moves without a lease are
                throttled on the broker, since their operator relies on it

While leases exist, somebody else may change the configs:

adds entries                      they stay
removes entries of ours           they are put back once: the moves still need them. Removed again, they are left
sets another rate                 it stays until the leases on the broker change, and again after them; what was put
                                  back before is not put back once more when that rate goes
removes the rate                  it is put back once while leases exist, and not after them. Removed again, it is left

What is left stays away until it is asked for again: by a request for the rate, or by a new lease there. A rate comes
back too when the leases on the broker change.

Throttles of leases that somebody else has removed again, and that are left so (`leased_configs`).
"""

from collections.abc import Collection, Mapping
from typing import Annotated, NamedTuple

import msgspec

from kafka_reassign_rpc.core.state.throttle_leases import NO_RATE
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    NO_THROTTLE,
    Configs,
    names_all,
    rate_of,
)
from kafka_reassign_rpc.core.throttling.standing_rates import SIDES
from kafka_reassign_rpc.support.counted import first_of
from kafka_reassign_rpc.support.typed_commands import command


class ListMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """One list of a topic: its value before our first entry (None if unset), and our entries, comma-separated.

    again   those of our leases that somebody else has removed once
    left    those that were removed again, and are not put back
    unsure  it is not known whether all of ours were ever there
    """

    ours: str
    before: str | None = None
    again: str = ""
    left: str = ""
    unsure: bool = False


class RateMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """One rate of a broker: before ours, as we know it now, and the lease that it results from. If it `lifts`, ours
    holds even if it is the higher one.

    again  somebody else has removed it once, and it was put back
    left   it was removed again, and is not put back: none is set
    """

    set: str
    before: str | None = None
    lease: Annotated[int, msgspec.Meta(ge=NO_RATE, le=NO_THROTTLE)] = NO_RATE
    lifts: bool = False
    again: bool = False
    left: bool = False


class TopicMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    leader: ListMemory | None = None
    follower: ListMemory | None = None

    def __bool__(self) -> bool:
        return self != TopicMemory()

    def with_all_of(self, other: "TopicMemory") -> "TopicMemory":
        """Both, while it is not known which of the two fits the stored config."""
        return TopicMemory(_both(self.leader, other.leader), _both(self.follower, other.follower))


def _both(one: ListMemory | None, other: ListMemory | None) -> ListMemory | None:
    if one is None or other is None:
        found = one or other
        return None if found is None else ListMemory(found.ours, found.before, unsure=True)
    ours = ",".join(entries_of(f"{one.ours},{other.ours}"))
    again, left = (
        ",".join(entries_of(a).keys() & entries_of(b)) for a, b in ((one.again, other.again), (one.left, other.left))
    )
    return ListMemory(ours, one.before, again, left, unsure=True)


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
    configs: Configs,
    memory: TopicMemory,
    leaders: Collection[str],
    followers: Collection[str],
    *,
    asked: Collection[str] = (),
    is_settled: bool = True,
) -> TopicAfter:
    """`asked`: entries of both lists that are asked for again. What is missing while the configs are not settled may
    not be there yet, and does not count as removed.
    """
    after = dict(configs)
    leader = _list_after(after, LEADER_REPLICAS, memory.leader, leaders, asked, is_settled)
    follower = _list_after(after, FOLLOWER_REPLICAS, memory.follower, followers, asked, is_settled)
    return TopicAfter(after, TopicMemory(leader, follower))


def _list_after(
    configs: dict[str, str],
    name: str,
    memory: ListMemory | None,
    wanted: Collection[str],
    asked: Collection[str],
    is_settled: bool,
) -> ListMemory | None:
    """Changes `configs`; returns what to remember."""
    current = configs.get(name)
    if current is not None and names_all(current):
        return memory if memory is not None and wanted and (memory.again or memory.left) else None
    if memory is None and not wanted:
        return None
    theirs = _theirs(current, memory)
    again, left = _removed(current, memory, wanted, asked, is_settled) if memory is not None else ("", "")
    without = theirs.keys() | entries_of(left)
    added = [entry for entry in wanted if entry not in without] if without else wanted
    # A list that somebody else has deleted is not brought back, not even an empty one.
    before = current if memory is None or current is None else memory.before
    if added or left:
        _put(configs, name, ",".join([*theirs, *added]) or None)
        return ListMemory(",".join(added), before, again, left)
    _put(configs, name, before if list(theirs) == list(entries_of(before)) else ",".join(theirs) or None)
    return None


def _removed(
    current: str | None, memory: ListMemory, wanted: Collection[str], asked: Collection[str], is_settled: bool
) -> tuple[str, str]:
    """`again` and `left` of what is remembered next."""
    is_whole = current is not None and (current == memory.ours or current.endswith(f",{memory.ours}"))
    if is_whole and not memory.again and not memory.left:
        return "", ""
    needed = [entry for entry in wanted if entry not in asked]
    found, again, left = entries_of(current), entries_of(memory.again), entries_of(memory.left)
    counts = is_settled and not memory.unsure
    ours = entries_of(memory.ours) if counts else {}
    missing = {entry for entry in ours if entry not in found}
    stay_away = [entry for entry in needed if entry not in found and (entry in left or entry in missing & again.keys())]
    return ",".join(e for e in needed if e in again or e in missing), ",".join(stay_away)


def _theirs(current: str | None, memory: ListMemory | None) -> dict[str, None]:
    """Entries that are not ours. This is fast if the list still ends with exactly our entries."""
    if memory is None or not current:
        return entries_of(current)
    if current == memory.ours:
        return {}
    if memory.ours and not memory.left and current.endswith(f",{memory.ours}"):
        return entries_of(current[: -len(memory.ours) - 1])
    ours = entries_of(f"{memory.ours},{memory.left}")
    return {entry: None for entry in entries_of(current) if entry not in ours}


def entries_of(text: str | None) -> dict[str, None]:
    if not text:
        return {}
    found = dict.fromkeys(map(str.strip, text.split(",")))
    found.pop("", None)
    return found


def broker_after(
    configs: Configs,
    defaults: Configs,
    memory: BrokerMemory,
    lease: int,
    *,
    lifts: bool = False,
    needed: bool = False,
    asked: bool = False,
    is_settled: bool = True,
) -> BrokerAfter:
    """`lease`: the lowest rate of the broker's leases, or NO_RATE; if it `lifts`, it replaces a stricter rate.
    `needed`: moves without a lease need the present rate. `asked`, `is_settled`: as for topics.
    """
    after = dict(configs)
    how = _How(lease, lifts, needed, asked, is_settled)
    leader = _rate_after(after, LEADER_RATE, defaults, memory.leader, how)
    follower = _rate_after(after, FOLLOWER_RATE, defaults, memory.follower, how)
    return BrokerAfter(after, BrokerMemory(leader, follower))


class _How(NamedTuple):
    lease: int
    lifts: bool
    needed: bool
    asked: bool
    is_settled: bool


def _rate_after(
    configs: dict[str, str], name: str, defaults: Configs, memory: RateMemory | None, how: _How
) -> RateMemory | None:
    """Changes `configs`; returns what to remember."""
    lease, lifts, needed, asked, is_settled = how
    current = configs.get(name)
    before = current
    is_same_lease = memory is not None and (lease, lifts) == (memory.lease, memory.lifts)
    again = False
    if memory is not None and is_same_lease and lease != NO_RATE and not asked:
        is_gone = current is None and (memory.left or is_settled)
        if is_gone and memory.again:
            return RateMemory(memory.set, None, lease, lifts, again=True, left=True)
        again = memory.again or is_gone
    if memory is not None:
        if current == memory.set:
            before = memory.before
        elif current is not None and is_same_lease:
            return None if lease == NO_RATE else RateMemory(current, current, lease, lifts, again)
    elif lease == NO_RATE:
        return None
    if lease == NO_RATE:
        if needed and before is None and current is not None:
            return RateMemory(current)
        _put(configs, name, before)
        return None
    if memory is not None and current == memory.set == memory.before and is_same_lease:
        return memory  # somebody else has set it: it stays
    stricter = None if lifts else rate_of(name, {} if before is None else {name: before}, defaults)
    text = str(lease if stricter is None else min(lease, int(stricter)))
    _put(configs, name, text)
    return RateMemory(text, before, lease, lifts, again)


def _put(configs: dict[str, str], name: str, value: str | None) -> None:
    if value is None:
        configs.pop(name, None)
    else:
        configs[name] = value


# ------------------------------------------------------------------------------------- cancelled without a lease

Cancelled = Mapping[int, Collection[int]]
"""Partition with a cancelled move -> the replicas of the move, in one topic."""


def without_cancelled(configs: Configs, cancelled: Cancelled) -> dict[str, str]:
    after = dict(configs)
    gone = {f"{partition}:{broker}" for partition, brokers in cancelled.items() for broker in brokers}
    for name in (LEADER_REPLICAS, FOLLOWER_REPLICAS):
        named = entries_of(configs.get(name))
        if not gone.isdisjoint(named):
            _put(after, name, ",".join(entry for entry in named if entry not in gone) or None)
    return after


def brokers_named(configs: Configs) -> set[str] | None:
    """Ids (as text) of brokers whose replicas a topic's lists name, None: all."""
    found: set[str] = set()
    for name in (LEADER_REPLICAS, FOLLOWER_REPLICAS):
        for entry in entries_of(configs.get(name)):
            if entry == "*":
                return None
            found.add(entry.partition(":")[2])
    return found


NAMED = 5
"""Entries of a list that a text names."""


class Removed(NamedTuple):
    """`topic`: None for a broker's; `rate`: bytes/s of its leases."""

    topic: str | None
    broker: int | None
    what: str
    rate: int

    def __str__(self) -> str:
        return f"topic {self.topic} ({self.what})" if self.topic is not None else f"broker {self.broker} ({self.what})"


def sets_again(rate: int, topic: str | None = None) -> str:
    """The command; "" where no rate is known: one of 0 would end the leases."""
    if rate <= 0:
        return ""
    return command("kafka-reassign throttle", f"{rate}B", *(() if topic is None else ("--topics", topic)))


def removed_of_topic(topic: str, memory: TopicMemory, rate: int) -> Removed | None:
    left = {name: one.left for name, one in lists_of(memory) if one is not None and one.left}
    return Removed(topic, None, named(left), rate) if left else None


def removed_of_broker(broker: int, memory: BrokerMemory) -> Removed | None:
    sides = (LEADER_RATE, memory.leader), (FOLLOWER_RATE, memory.follower)
    left = {name: one.lease for name, one in sides if one is not None and one.left}
    if not left:
        return None
    return Removed(None, broker, ", ".join(SIDES[name] for name in left), min(left.values()))


def lists_of(memory: TopicMemory) -> tuple[tuple[str, ListMemory | None], ...]:
    return (LEADER_REPLICAS, memory.leader), (FOLLOWER_REPLICAS, memory.follower)


def named(lists: dict[str, str]) -> str:
    texts = {name: list(entries_of(text)) for name, text in lists.items()}
    return ", ".join(f"{name}={first_of(some, NAMED, between=',')}" for name, some in texts.items() if some)
