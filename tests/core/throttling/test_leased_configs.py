"""Configs during and after throttle leases (236-11): tables."""

from typing import Any

import pytest

from kafka_reassign_rpc.core.state.throttle_leases import NO_RATE, Lease, Leases
from kafka_reassign_rpc.core.throttling.leased_configs import (
    BrokerMemory,
    ListMemory,
    RateMemory,
    TopicMemory,
    broker_after,
    brokers_named,
    topic_after,
    without_cancelled,
)
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from kafka_reassign_rpc.zookeeper.own_server_znodes import decode_memory, encode_memory
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from tests.tables import for_each


def lists(leaders: str | None, followers: str | None = None) -> dict[str, str]:
    both = {LEADER_REPLICAS: leaders, FOLLOWER_REPLICAS: followers}
    return {name: text for name, text in both.items() if text is not None}


def rates(leader: str | None, follower: str | None = None) -> dict[str, str]:
    both = {LEADER_RATE: leader, FOLLOWER_RATE: follower if follower is not None else leader}
    return {name: text for name, text in both.items() if text is not None}


@for_each(
    ("before", "during"),
    [
        (None, "0:1,0:2"),
        ("", "0:1,0:2"),
        ("7:3", "7:3,0:1,0:2"),
        ("0:2, 7:3", "0:2,7:3,0:1"),
        ("0:1,0:2", "0:1,0:2"),
        ("*", "*"),
        ("*,", "*,"),
        (" ,*", " ,*"),
        ("nonsense", "nonsense,0:1,0:2"),
    ],
)
def test_236_11_a_list_has_the_leased_replicas_and_returns_to_exactly_its_former_value(
    before: str | None, during: str
) -> None:
    original = lists(before) | {"retention.ms": "1"}
    after = topic_after(original, TopicMemory(), ["0:1", "0:2"], [])
    assert after.configs == lists(during) | {"retention.ms": "1"}
    assert topic_after(after.configs, after.memory, ["0:1", "0:2"], []) == after, "nothing more to do"
    assert topic_after(after.configs, after.memory, [], []) == (original, TopicMemory())


def test_236_11_entries_that_others_add_stay_and_leased_entries_that_they_remove_are_put_back() -> None:
    _, memory = topic_after(lists("7:3"), TopicMemory(), ["0:1"], ["0:4"])
    added = topic_after(lists("0:1,8:8", "9:9,0:4"), memory, ["0:1"], ["0:4"])
    assert added.configs == lists("8:8,0:1", "9:9,0:4")
    cleared = topic_after({}, added.memory, ["0:1"], ["0:4"])
    assert cleared.configs == lists("0:1", "0:4")
    assert topic_after(added.configs, added.memory, [], []).configs == lists("8:8", "9:9")
    assert topic_after(cleared.configs, cleared.memory, [], []).configs == {}, "what they took away is not brought back"


def test_236_11_an_empty_list_that_others_delete_during_the_lease_is_not_brought_back() -> None:
    """As kafka-reassign-partitions sets one for a move that adds no replica, and deletes it with `--verify`."""
    _, memory = topic_after(lists("", ""), TopicMemory(), ["0:1"], ["0:4"])
    again = topic_after({}, memory, ["0:1"], ["0:4"])
    assert again.configs == lists("0:1", "0:4")
    assert topic_after(again.configs, again.memory, [], []) == ({}, TopicMemory())
    assert topic_after({}, memory, [], []) == ({}, TopicMemory())


def test_236_11_a_list_shrinks_as_one_partition_after_the_other_completes() -> None:
    _, memory = topic_after(lists(None, "7:3"), TopicMemory(), ["0:1", "1:1"], ["0:4", "1:5"])
    half, memory = topic_after(lists("0:1,1:1", "7:3,0:4,1:5"), memory, ["1:1"], ["1:5"])
    assert half == lists("1:1", "7:3,1:5")
    assert topic_after(half, memory, [], []) == (lists(None, "7:3"), TopicMemory())


def test_236_11_a_star_that_others_set_during_the_lease_stays() -> None:
    after = topic_after(lists("0:1"), TopicMemory(), ["0:1", "0:2"], [])
    star = topic_after(lists("*"), after.memory, ["0:1", "0:2"], [])
    assert star == (lists("*"), TopicMemory())
    assert topic_after(star.configs, star.memory, [], []).configs == lists("*")


@for_each(
    ("before", "default", "during"),
    [
        (None, None, "100"),
        ("500", None, "100"),
        ("50", None, "50"),
        ("0", None, "0"),
        (None, "50", "50"),
        (None, "500", "100"),
        ("500", "50", "100"),
        ("garbage", None, "100"),
    ],
)
def test_236_11_a_rate_is_the_stricter_of_lease_and_former_rate_and_the_former_one_returns(
    before: str | None, default: str | None, during: str
) -> None:
    original, defaults = rates(before) | {"x": "y"}, rates(default)
    after = broker_after(original, defaults, BrokerMemory(), 100)
    assert after.configs == rates(during) | {"x": "y"}
    assert broker_after(after.configs, defaults, after.memory, 100) == after, "nothing more to do"
    assert broker_after(after.configs, defaults, after.memory, NO_RATE) == (original, BrokerMemory())


@pytest.mark.parametrize(("before", "default"), [("50", None), ("0", None), (None, "50"), ("500", "50"), (None, None)])
def test_fg_4_leases_that_lift_set_their_own_rate_and_exactly_the_former_one_returns(
    before: str | None, default: str | None
) -> None:
    original, defaults = rates(before) | {"x": "y"}, rates(default)
    after = broker_after(original, defaults, BrokerMemory(), 100, lifts=True)
    assert after.configs == rates("100") | {"x": "y"}
    assert broker_after(after.configs, defaults, after.memory, 100, lifts=True) == after, "nothing more to do"
    assert broker_after(after.configs, rates("7"), after.memory, 100, lifts=True) == after, (
        "a new default is lifted too"
    )
    assert broker_after(after.configs, defaults, after.memory, NO_RATE) == (original, BrokerMemory())
    theirs = broker_after(rates("70"), defaults, after.memory, 100, lifts=True)
    assert theirs.configs == rates("70"), "others have set it since"
    assert broker_after(theirs.configs, defaults, theirs.memory, NO_RATE).configs == rates("70"), "and keeps it"
    other = broker_after(after.configs, defaults, after.memory, 100)
    assert other == broker_after(original, defaults, BrokerMemory(), 100), "a lease that does not lift joins"
    assert broker_after(other.configs, defaults, other.memory, 100, lifts=True) == after, "and ends"


def test_fg_4_one_lease_that_does_not_lift_keeps_the_stricter_rate_of_its_brokers() -> None:
    leases = Leases()
    leases.put("a", 0, Lease(100, (1,), (2,), lifts=True))
    leases.put("a", 1, Lease(100, (2,), (3,)))
    assert [leases.lift(broker) for broker in (1, 2, 3)] == [True, False, False]
    leases.drain()
    leases.put("a", 1, None)
    assert leases.drain()[1].keys() == {2, 3}
    assert leases.lift(2)


def test_236_11_leader_and_follower_rates_are_remembered_separately() -> None:
    original = {LEADER_RATE: "7"}
    after = broker_after(original, {}, BrokerMemory(), 100)
    assert after.configs == {LEADER_RATE: "7", FOLLOWER_RATE: "100"}
    assert broker_after(after.configs, {}, after.memory, NO_RATE).configs == original


def test_236_11_the_remaining_lease_sets_the_rate() -> None:
    after = broker_after({}, {}, BrokerMemory(), 100)
    after = broker_after(after.configs, {}, after.memory, 40)
    assert after.configs == rates("40")
    after = broker_after(after.configs, {}, after.memory, 100)
    assert after.configs == rates("100")
    assert broker_after(after.configs, {}, after.memory, NO_RATE).configs == {}


def test_236_11_a_rate_that_others_set_stays_during_and_after_the_lease() -> None:
    after = broker_after(rates("500"), {}, BrokerMemory(), 100)
    theirs = broker_after(rates("300"), {}, after.memory, 100)
    assert theirs.configs == rates("300")
    assert broker_after(theirs.configs, {}, theirs.memory, 100) == theirs, "not fought over"
    assert broker_after(theirs.configs, {}, theirs.memory, 80).configs == rates("80"), "until the leases are others"
    assert broker_after(theirs.configs, {}, theirs.memory, NO_RATE) == (rates("300"), BrokerMemory())


def test_236_11_a_cluster_limit_that_is_lowered_and_raised_during_a_lease_counts_while_it_is_in_force() -> None:
    after = broker_after({}, rates("500"), BrokerMemory(), 100)
    assert after.configs == rates("100")
    lowered = broker_after(after.configs, rates("50"), after.memory, 100)
    assert lowered.configs == rates("50")
    assert broker_after(lowered.configs, rates("50"), lowered.memory, 100) == lowered, "nothing more to do"
    raised = broker_after(lowered.configs, rates("500"), lowered.memory, 100)
    assert raised == after
    assert broker_after(lowered.configs, rates("50"), lowered.memory, NO_RATE) == ({}, BrokerMemory())
    theirs = broker_after(rates("300"), rates("500"), after.memory, 100)
    assert broker_after(theirs.configs, rates("50"), theirs.memory, 100) == theirs, "the broker's own limit counts"


def test_236_11_a_rate_that_others_remove_is_put_back_only_while_a_lease_needs_it() -> None:
    after = broker_after(rates("500"), {}, BrokerMemory(), 100)
    again = broker_after({}, {}, after.memory, 100)
    assert again.configs == rates("100")
    assert broker_after(again.configs, {}, again.memory, NO_RATE).configs == {}
    assert broker_after({}, {}, after.memory, NO_RATE) == ({}, BrokerMemory())


def test_kr_6_a_rate_that_others_remove_again_is_left_until_it_is_asked_for_or_the_leases_change() -> None:
    after = broker_after({}, {}, BrokerMemory(), 100)
    again = broker_after({}, {}, after.memory, 100)
    assert again.configs == rates("100")
    assert broker_after(again.configs, {}, again.memory, 100) == again, "nothing more to do"
    left = broker_after({}, {}, again.memory, 100)
    assert left.configs == {}
    assert (left.memory.leader, left.memory.follower) == (RateMemory("100", None, 100, again=True, left=True),) * 2
    assert broker_after({}, {}, left.memory, 100) == left, "it is not fought over"
    assert broker_after({}, {}, left.memory, 100, is_settled=False) == left
    assert broker_after({}, {}, left.memory, 100, asked=True) == after
    assert broker_after({}, {}, left.memory, 40).configs == rates("40")
    assert broker_after({}, {}, left.memory, NO_RATE) == ({}, BrokerMemory())
    assert broker_after(rates("7"), {}, left.memory, 100).configs == rates("7"), "others have set another one"
    late = broker_after(rates("100"), {}, left.memory, 100)
    assert late == again, "a broker had answered with what was"
    assert broker_after(late.configs, {}, late.memory, NO_RATE) == ({}, BrokerMemory())


def test_kr_6_a_rate_was_put_back_once_even_where_others_set_their_own_in_between() -> None:
    first = broker_after({}, {}, BrokerMemory(), 100)
    back = broker_after({}, {}, first.memory, 100)
    assert back.configs == rates("100")
    theirs = broker_after(rates("7"), {}, back.memory, 100)
    assert theirs.configs == rates("7")
    left = broker_after({}, {}, theirs.memory, 100)
    assert left.configs == {}, "it was put back once"
    theirs = broker_after(rates("8"), {}, left.memory, 100)
    assert broker_after({}, {}, theirs.memory, 100).configs == {}, "nor after it was left"
    assert broker_after({}, {}, theirs.memory, 100, asked=True) == first
    assert broker_after({}, {}, theirs.memory, 40).configs == rates("40")
    at_first = broker_after(rates("7"), {}, first.memory, 100)
    assert broker_after({}, {}, at_first.memory, 100).configs == rates("100"), "it has not been put back before"


def test_kr_6_entries_were_put_back_once_even_where_others_throttled_every_replica_in_between() -> None:
    memory = topic_after({}, TopicMemory(), ["0:1"], ["0:4"]).memory
    back = topic_after({}, memory, ["0:1"], ["0:4"])
    assert back.configs == lists("0:1", "0:4")
    every = topic_after(lists("*", "*"), back.memory, ["0:1"], ["0:4"])
    assert every.configs == lists("*", "*")
    assert topic_after({}, every.memory, ["0:1"], ["0:4"]).configs == {}, "they were put back once"
    assert topic_after(every.configs, every.memory, [], []) == (lists("*", "*"), TopicMemory())
    at_first = topic_after(lists("*", "*"), memory, ["0:1"], ["0:4"])
    assert topic_after({}, at_first.memory, ["0:1"], ["0:4"]).configs == lists("0:1", "0:4")


def test_kr_6_one_side_that_others_remove_again_is_left_and_the_other_one_stays() -> None:
    after = broker_after({}, {}, BrokerMemory(), 100)
    for _ in range(2):
        one = {FOLLOWER_RATE: "100"}
        after = broker_after(one, {}, after.memory, 100)
    assert after.configs == {FOLLOWER_RATE: "100"}
    assert broker_after(after.configs, {}, after.memory, NO_RATE) == ({}, BrokerMemory())


def test_kr_6_entries_that_others_remove_again_are_left_and_those_of_other_leases_are_not() -> None:
    _, memory = topic_after({}, TopicMemory(), ["0:1", "1:1"], ["0:4"])
    half = topic_after(lists("1:1", "0:4"), memory, ["0:1", "1:1"], ["0:4"])
    assert half.configs == lists("0:1,1:1", "0:4")
    assert half.memory.leader == ListMemory("0:1,1:1", None, "0:1")
    both = topic_after({}, half.memory, ["0:1", "1:1"], ["0:4"])
    assert both.configs == lists("1:1", "0:4"), "each comes back once"
    left = topic_after({}, both.memory, ["0:1", "1:1"], ["0:4"])
    assert left.configs == {}
    assert left.memory == TopicMemory(ListMemory("", None, "0:1,1:1", "0:1,1:1"), ListMemory("", None, "0:4", "0:4"))
    assert topic_after({}, left.memory, ["0:1", "1:1"], ["0:4"]) == left, "they are not fought over"
    more = topic_after({}, left.memory, ["0:1", "1:1", "2:1"], ["0:4"])
    assert more.configs == lists("2:1"), "another lease has its own"
    asked = topic_after(more.configs, more.memory, ["0:1", "1:1", "2:1"], ["0:4"], asked=["0:1", "0:4"])
    assert asked.configs == lists("0:1,2:1", "0:4")
    assert asked.memory.leader == ListMemory("0:1,2:1", None, "1:1", "1:1")
    assert topic_after(asked.configs, asked.memory, [], []) == ({}, TopicMemory())
    late = topic_after(lists("7:7,0:1,1:1", "0:4"), left.memory, ["0:1", "1:1"], ["0:4"])
    assert late.configs == lists("7:7,0:1,1:1", "0:4"), "a broker had answered with what was"
    assert topic_after(late.configs, late.memory, [], []).configs == lists("7:7")
    assert topic_after(lists("7:7"), left.memory, [], []) == (lists("7:7"), TopicMemory())


def test_kr_6_what_is_missing_while_configs_are_not_settled_is_put_back_and_does_not_count_as_removed() -> None:
    of_topic, of_broker = topic_after({}, TopicMemory(), ["0:1"], []), broker_after({}, {}, BrokerMemory(), 100)
    for _ in range(3):
        assert topic_after({}, of_topic.memory, ["0:1"], [], is_settled=False) == of_topic
        assert broker_after({}, {}, of_broker.memory, 100, is_settled=False) == of_broker
    known = TopicMemory(ListMemory("0:1", None, "0:1"))
    either = known.with_all_of(TopicMemory(ListMemory("0:1,1:1")))
    assert topic_after({}, either, ["0:1", "1:1"], []).configs == lists("0:1,1:1"), "maybe they never were there"


def test_236_11_a_rate_without_a_former_value_stays_while_moves_without_a_lease_need_it() -> None:
    after = broker_after({}, {}, BrokerMemory(), 100)
    kept = broker_after(after.configs, {}, after.memory, NO_RATE, needed=True)
    assert kept.configs == rates("100")
    assert broker_after(kept.configs, {}, kept.memory, NO_RATE, needed=True) == kept
    assert broker_after(kept.configs, {}, kept.memory, NO_RATE) == ({}, BrokerMemory())
    assert broker_after(kept.configs, {}, kept.memory, 30).configs == rates("30")
    assert broker_after({}, {}, kept.memory, NO_RATE, needed=True) == ({}, BrokerMemory()), "taken away: theirs to do"
    before = broker_after(rates("500"), {}, BrokerMemory(), 100)
    assert broker_after(before.configs, {}, before.memory, NO_RATE, needed=True).configs == rates("500")


def test_236_11_a_cancelled_move_removes_only_its_own_replicas_from_the_lists() -> None:
    configs = lists("0:1,0:2,1:1,0:9", "0:3,1:3") | {"retention.ms": "1"}
    assert without_cancelled(configs, {0: (3, 1, 2)}) == lists("1:1,0:9", "1:3") | {"retention.ms": "1"}
    assert without_cancelled(lists("0:1", "0:3"), {0: (1, 3)}) == {}
    for original in (lists("*", "*"), lists("5:1"), lists(" 1:1 , 2:2 "), {}):
        assert without_cancelled(original, {0: (1, 2, 3)}) == original


def test_236_11_the_lists_of_a_topic_give_the_brokers_that_they_name() -> None:
    assert brokers_named(lists("0:1,1:2", "0:3")) == {"1", "2", "3"}
    assert brokers_named(lists("0:1", "*")) is None
    assert brokers_named({}) == set()


def test_236_11_leases_are_counted_by_topic_and_broker() -> None:
    leases = Leases()
    leases.put("a", 0, Lease(100, (1, 2), (3,)))
    leases.put("a", 1, Lease(100, (2,), (3,)))
    leases.put("b", 0, Lease(40, (3,), (4,)))
    assert (leases.rate(1), leases.rate(3), leases.rate(4), leases.rate(5)) == (100, 40, 40, NO_RATE)
    assert list(leases.topics["a"].leaders) == ["0:1", "0:2", "1:2"]
    assert list(leases.topics["a"].followers) == ["0:3", "1:3"]
    assert leases.drain() == ({}, {}), "none has ended"

    leases.put("a", 0, None)
    assert leases.drain() == ({"a": None}, {1: None}), "the rate of 2 and 3 is that of others"
    leases.remove("b")
    assert leases.rate(3) == 100
    leases.put("a", 1, Lease(50, (2,), (3,)))
    assert leases.drain() == ({"b": None, "a": None}, {3: None, 4: None, 2: None})
    assert list(leases.topics["a"].followers) == ["1:3"]
    leases.put("a", 1, None)
    assert (leases.topics, list(leases.brokers)) == ({}, [])


@pytest.mark.parametrize(
    "memory",
    [
        TopicMemory(ListMemory("0:1", "7:7"), ListMemory("0:2")),
        TopicMemory(None, ListMemory("0:2", "")),
        TopicMemory(ListMemory("", None, "0:1,0:2", "0:2"), ListMemory("0:2", unsure=True)),
        BrokerMemory(RateMemory("100", "500", 100), RateMemory("100")),
        BrokerMemory(RateMemory("100", None, 100, again=True, left=True)),
        BrokerMemory(RateMemory("0", "", 2**63 - 1)),
    ],
)
def test_236_11_a_memory_survives_its_znode(memory: Any) -> None:
    data = encode_memory(memory)
    assert decode_memory(data, "/x", type(memory)) == memory
    assert decode_memory(data[:-1] + b',"later":1}', "/x", type(memory)) == memory


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"version":2}', b'{"version":1,"leader":7}', b'{"version":1,"leader":{"ours":1}}']
)
def test_236_11_an_invalid_memory_znode_is_reported(data: bytes) -> None:
    with pytest.raises(BadZnode):
        decode_memory(data, "/x", TopicMemory)
