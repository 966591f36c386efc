"""Events of throttles of leases that others change or remove, and the texts about those that are left so."""

from collections.abc import Iterable

from kafka_reassign_rpc.core.events.cluster_news import events_of_broker, events_of_topic
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.throttling.leased_configs import (
    BrokerAfter,
    BrokerMemory,
    ListMemory,
    RateMemory,
    Removed,
    TopicMemory,
    removed_of_broker,
    removed_of_topic,
    sets_again,
)
from kafka_reassign_rpc.core.throttling.replication_throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    Configs,
)
from tests.tables import for_each

RATE = RateMemory("700", lease=700)
AGAIN, LEFT = RateMemory("700", lease=700, again=True), RateMemory("700", lease=700, left=True)
BOTH = {LEADER_RATE: "700", FOLLOWER_RATE: "700"}
THROTTLE = "kafka-reassign throttle --bootstrap-server HOST:PORT"
IS_LEFT = f"somebody else has removed 700 again: moves go on without it until it is set again: {THROTTLE} 700B"


def told(events: Iterable[Event]) -> list[tuple[str, str | None, int | None, str | None]]:
    found = [*events]
    assert all((one.broker, one.topic) in ((1, None), (None, "t")) for one in found)
    return [(one.event, one.who, one.bytes, one.reason) for one in found]


def of_broker(
    current: Configs, known: tuple[RateMemory | None, ...], configs: Configs, after: tuple[RateMemory | None, ...]
) -> list[tuple[str, str | None, int | None, str | None]]:
    changed = BrokerAfter(dict(configs), BrokerMemory(*after))
    return told(events_of_broker(1, current, BrokerMemory(*known), changed))


def test_236_11_a_rate_that_a_lease_sets_and_takes_back_is_an_event_with_the_rate() -> None:
    assert of_broker({}, (), BOTH, (RATE, RATE)) == [("throttle.set", "controller", 700, None)]
    assert of_broker(BOTH, (RATE, RATE), {}, ()) == [("throttle.restored", "controller", None, "no rate")]
    former = {LEADER_RATE: "900", FOLLOWER_RATE: "900"}
    assert of_broker(BOTH, (RATE, RATE), former, ()) == [("throttle.restored", "controller", 900, None)]
    none = {LEADER_RATE: "0", FOLLOWER_RATE: "0"}
    assert of_broker(BOTH, (RATE, RATE), none, ()) == [("throttle.restored", "controller", 0, None)]
    assert of_broker(BOTH, (RATE, RATE), BOTH, (RATE, RATE)) == []


@for_each(
    "current, reason",
    [
        ({}, "to send, to receive: somebody else had deleted 700"),
        ({FOLLOWER_RATE: "700"}, "to send: somebody else had deleted 700"),
        ({LEADER_RATE: "700"}, "to receive: somebody else had deleted 700"),
        (
            {LEADER_RATE: "9"},
            "to send: somebody else had set 9 in place of 700; to receive: somebody else had deleted 700",
        ),
    ],
)
def test_236_11_a_rate_of_leases_that_is_put_back_is_an_event_with_what_was_found(
    current: Configs, reason: str
) -> None:
    assert of_broker(current, (RATE, RATE), BOTH, (AGAIN, AGAIN)) == [("throttle.set", "controller", 700, reason)]


def test_236_11_another_rate_that_stays_is_one_event_for_both_sides_or_one_for_each() -> None:
    others = {LEADER_RATE: "9", FOLLOWER_RATE: "9"}
    by = "by somebody else, instead of the 700 B/s of leases"
    assert of_broker(others, (RATE, RATE), others, (RATE, RATE)) == [("throttle.set", None, 9, by)]
    apart = {LEADER_RATE: "9", FOLLOWER_RATE: "700"}
    assert of_broker(apart, (RATE, RATE), apart, (RATE, RATE)) == [("throttle.set", None, 9, f"to send: {by}")]
    apart = {LEADER_RATE: "9", FOLLOWER_RATE: "8"}
    assert of_broker(apart, (RATE, RATE), apart, (RATE, RATE)) == [
        ("throttle.set", None, 9, f"to send: {by}"),
        ("throttle.set", None, 8, f"to receive: {by}"),
    ]
    assert of_broker(apart, (), apart, (RATE, RATE)) == [], "no lease was there"
    none = {LEADER_RATE: "0", FOLLOWER_RATE: "700"}
    assert of_broker(none, (RATE, RATE), none, (RATE, RATE)) == [("throttle.set", None, 0, f"to send: {by}")]


def test_236_11_a_rate_that_is_left_away_is_an_event_once_with_the_command_that_sets_it_again() -> None:
    assert of_broker({}, (AGAIN, AGAIN), {}, (LEFT, LEFT)) == [
        ("throttle.removed", "controller", 700, f"to send, to receive: {IS_LEFT}")
    ]
    half = {FOLLOWER_RATE: "700"}
    assert of_broker(half, (AGAIN, AGAIN), half, (LEFT, AGAIN)) == [
        ("throttle.removed", "controller", 700, f"to send: {IS_LEFT}")
    ]
    assert of_broker({}, (), {}, (None, LEFT)) == [("throttle.removed", "controller", 700, f"to receive: {IS_LEFT}")]
    assert of_broker({}, (LEFT, LEFT), {}, (LEFT, LEFT)) == []


def of_topic(known: TopicMemory, after: TopicMemory, rate: int = 700) -> list[str | None]:
    events = told(events_of_topic("t", known, after, rate))
    assert all(one[:3] == ("throttle.removed", "controller", None) for one in events)
    return [reason for *_, reason in events]


def test_236_11_entries_of_leases_that_are_put_back_or_left_away_are_events_with_those_that_are_new() -> None:
    ours = ListMemory("0:1,0:2,1:1", again="0:1")
    more = TopicMemory(ListMemory("0:1,0:2,1:1", again="0:1,0:2"), ListMemory("0:3", again="0:3"))
    assert of_topic(TopicMemory(ours), more) == [
        f"somebody else had removed {LEADER_REPLICAS}=0:2, {FOLLOWER_REPLICAS}=0:3: back again"
    ]
    left = TopicMemory(ListMemory("0:1,0:2,1:1", again="0:1", left="0:2"))
    is_left = f"somebody else has removed {LEADER_REPLICAS}=0:2 again: moves go on without it until it is set again"
    assert of_topic(TopicMemory(ours), left) == [f"{is_left}: {THROTTLE} 700B --topics t"]
    assert of_topic(TopicMemory(ours), left, rate=0) == [is_left]
    assert of_topic(left, left) == []
    assert of_topic(left, TopicMemory()) == []
    both = TopicMemory(ListMemory("0:1", again="0:1"), ListMemory("0:3", left="0:3"))
    assert len(of_topic(TopicMemory(), both)) == 2


def test_236_11_what_is_left_away_is_known_by_topic_and_broker_with_the_lowest_rate_of_its_leases() -> None:
    assert removed_of_topic("t", TopicMemory(ListMemory("0:1")), 5) is None
    many = ",".join(f"0:{broker}" for broker in range(7))
    left = TopicMemory(ListMemory(many, left=many), ListMemory("0:9", left="0:9"))
    found = removed_of_topic("t", left, 5)
    names = f"{LEADER_REPLICAS}=0:0,0:1,0:2,0:3,0:4 and 2 more, {FOLLOWER_REPLICAS}=0:9"
    assert found == Removed("t", None, names, 5)
    assert str(found) == f"topic t ({names})"
    assert removed_of_broker(1, BrokerMemory(RATE, RATE)) is None
    slower = RateMemory("300", lease=300, left=True)
    assert removed_of_broker(1, BrokerMemory(LEFT, slower)) == Removed(None, 1, "to send, to receive", 300)
    assert str(removed_of_broker(1, BrokerMemory(RATE, slower))) == "broker 1 (to receive)"


@for_each("rate, again", [(-1, ""), (0, ""), (1, f"{THROTTLE} 1B")])
def test_236_11_no_command_sets_a_rate_of_0_again(rate: int, again: str) -> None:
    assert sets_again(rate) == again
