"""Throttle leases while operators change the same configs, with crashes at any point (236-11).

Every step checks the invariant: no throttle without a move that needs it, no leased replica without its throttle unless
others have removed that twice, and the values of others stay, during the leases and after them.
"""

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kafka_reassign_rpc.core.state.throttle_leases import NO_RATE, NOTHING, Lease, Leases
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, TopicMemory, broker_after, topic_after
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)

BROKERS = (1, 2, 3)
partitions = st.integers(0, 2)
brokers = st.sampled_from(BROKERS)
some_rates = st.sampled_from([5, 10, 20])
texts = st.none() | st.sampled_from(["3", "7", "10", "15", "100"])
entry_lists = st.lists(st.builds("{}:{}".format, partitions, brokers), max_size=4, unique=True)
leases = st.builds(
    lambda rate, order: Lease(rate, tuple(order[:1]), tuple(order[1:2])), some_rates, st.permutations(BROKERS)
)


class OperatorsAndLeases(RuleBasedStateMachine):
    """One topic and three brokers. `others`, `hand`: by config, what others have set; `removed`: how often they have
    removed what leases need, by config and entry or broker.
    """

    def __init__(self) -> None:
        super().__init__()
        self.moves: dict[int, Lease] = {}
        self.topic: dict[str, str] = {"retention.ms": "1"}
        self.of_topic = TopicMemory()
        self.rates: dict[int, dict[str, str]] = {broker: {} for broker in BROKERS}
        self.of_broker = dict.fromkeys(BROKERS, BrokerMemory())
        self.others: dict[str, set[str]] = {LEADER_REPLICAS: set(), FOLLOWER_REPLICAS: set()}
        self.hand: dict[int, dict[str, str | None]] = {
            broker: {LEADER_RATE: None, FOLLOWER_RATE: None} for broker in BROKERS
        }

        self.removed: Counter[tuple[str, str | int]] = Counter()

    def known(self) -> Leases:
        """The leases as a new controller knows them: from the move records."""
        found = Leases()
        for partition, lease in self.moves.items():
            found.put("t", partition, lease)
        return found

    @rule(partition=partitions, lease=leases | st.none())
    def move(self, partition: int, lease: Lease | None) -> None:
        """A move starts, gets another target or rate, or ends."""
        if lease is None:
            self.moves.pop(partition, None)
        else:
            self.moves[partition] = lease
        self.follow()

    @rule()
    def follow(self) -> None:
        found = self.known()
        of_topic = found.topics.get("t", NOTHING)
        self.topic, self.of_topic = topic_after(self.topic, self.of_topic, of_topic.leaders, of_topic.followers)
        for broker in BROKERS:
            self.rates[broker], self.of_broker[broker] = broker_after(
                self.rates[broker], {}, self.of_broker[broker], found.rate(broker)
            )

    @rule(name=st.sampled_from([LEADER_REPLICAS, FOLLOWER_REPLICAS]), entries=entry_lists, keep=st.booleans())
    def list_by_hand(self, name: str, entries: list[str], keep: bool) -> None:
        """An operator adds to the present list, or replaces it."""
        memory = self.of_topic.leader if name == LEADER_REPLICAS else self.of_topic.follower
        ours = set() if memory is None else set(filter(None, memory.ours.split(",")))
        left = set() if memory is None else set(filter(None, memory.left.split(",")))
        standing = [entry for entry in self.topic.get(name, "").split(",") if entry] if keep else []
        written = dict.fromkeys([*standing, *entries])
        self.topic[name] = ",".join(written)
        self.others[name] = set(written) - ours - left
        self.removed.update((name, entry) for entry in ours - set(written))
        self.follow()

    @rule(broker=brokers, name=st.sampled_from([LEADER_RATE, FOLLOWER_RATE]), text=texts)
    def rate_by_hand(self, broker: int, name: str, text: str | None) -> None:
        if self.rates[broker].get(name) == text:
            return  # it does not show who has written it
        self.hand[broker][name] = text
        if text is None:
            del self.rates[broker][name]
            self.removed[name, broker] += self.known().rate(broker) != NO_RATE
        else:
            self.rates[broker][name] = text
        self.follow()

    @invariant()
    def lists_name_the_leased_replicas_and_entries_of_others(self) -> None:
        of_topic = self.known().topics.get("t", NOTHING)
        for name, wanted in ((LEADER_REPLICAS, of_topic.leaders), (FOLLOWER_REPLICAS, of_topic.followers)):
            found = [entry for entry in self.topic.get(name, "").split(",") if entry]
            missing = (set(wanted) | self.others[name]) - set(found)
            assert set(found) <= set(wanted) | self.others[name]
            assert missing <= set(wanted)
            assert all(self.removed[name, entry] >= 2 for entry in missing)
            assert len(found) == len(set(found))
        assert self.topic["retention.ms"] == "1"

    @invariant()
    def rates_are_set_where_leases_need_them_and_others_have_set_them(self) -> None:
        found = self.known()
        for broker in BROKERS:
            for name, text in self.hand[broker].items():
                lease = found.rate(broker)
                if lease == NO_RATE:
                    assert self.rates[broker].get(name) == text, "what others have set, and nothing else"
                elif text is None and name not in self.rates[broker]:
                    assert self.removed[name, broker] >= 2
                elif text is None:
                    assert self.rates[broker][name] == str(lease)
                else:
                    assert self.rates[broker][name] in (text, str(min(int(text), lease)))

    @invariant()
    def nothing_is_remembered_without_a_lease(self) -> None:
        found = self.known()
        assert bool(self.of_topic) <= bool(found.topics)
        for broker in BROKERS:
            assert bool(self.of_broker[broker]) <= (found.rate(broker) != NO_RATE)


OperatorsAndLeases.TestCase.settings = settings(stateful_step_count=30)
TestOperatorsAndLeases = OperatorsAndLeases.TestCase
