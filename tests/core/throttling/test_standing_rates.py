"""Which limit holds on a broker while a lease does, by what stands there: the lower one, for a reason that is named."""

from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE, LEADER_RATE, RateInForce
from kafka_reassign_rpc.core.throttling.standing_rates import (
    StandingRates,
    lease_lines,
    limit_texts,
    stricter_document,
)

LEASE = 1000
OWN, OF_ALL, OF_OTHERS = RateInForce(300, "config"), RateInForce(500, "default"), RateInForce(200, "lease")
LOOSER = RateInForce(LEASE, "config")
STANDING = StandingRates(
    {
        1: {LEADER_RATE: OF_ALL, FOLLOWER_RATE: OF_ALL},
        2: {LEADER_RATE: OF_ALL, FOLLOWER_RATE: OF_ALL},
        3: {LEADER_RATE: OWN, FOLLOWER_RATE: None},
        4: {LEADER_RATE: LOOSER, FOLLOWER_RATE: None},
        5: {LEADER_RATE: OF_OTHERS, FOLLOWER_RATE: OWN},
    },
    {6: "it does not answer"},
    {5: 200},
)
BROKERS = range(1, 7)
FREE = "while the reassignments need it: the controller takes it away then"


def test_fg_4_only_a_lower_rate_is_stricter_and_a_lease_that_lifts_leaves_it_where_other_moves_have_a_lease() -> None:
    assert STANDING.stricter(LEASE).keys() == {1, 2, 3, 5}
    assert STANDING.stricter(300).keys() == {5}, "the same rate is not stricter"
    assert STANDING.held(LEASE) == STANDING.stricter(LEASE)
    assert STANDING.held(LEASE, lifts=True) == {5: {LEADER_RATE: OF_OTHERS, FOLLOWER_RATE: OWN}}


def test_fg_4_the_rate_of_a_side_is_the_lower_one_and_the_lease_where_nothing_stricter_is_known() -> None:
    assert STANDING.lowest(3, LEADER_RATE, LEASE) == 300
    assert STANDING.lowest(3, LEADER_RATE, LEASE, lifts=True) == LEASE
    assert STANDING.lowest(3, FOLLOWER_RATE, LEASE) == LEASE
    assert STANDING.lowest(4, LEADER_RATE, LEASE) == LEASE
    assert STANDING.lowest(6, LEADER_RATE, LEASE) == LEASE
    assert STANDING.lowest(5, LEADER_RATE, LEASE, lifts=True) == 200


def test_fg_4_each_limit_has_one_line_with_its_brokers_who_set_it_and_how_to_lift_it() -> None:
    assert [*lease_lines(LEASE, STANDING, BROKERS)] == [
        f"The inter-broker throttle limit is 1000 B/s on broker 4 {FREE}",
        "On brokers 1,2 it stays 500 B/s: the dynamic config of all brokers is stricter, and a lease relaxes no limit. "
        "To lift it for them: --lift-stricter",
        "On broker 3 it stays 300 B/s to send: its own dynamic config is stricter, and a lease relaxes no limit. "
        "To lift it for them: --lift-stricter",
        "On broker 5 it stays 200 B/s to send and 300 B/s to receive: its own dynamic config and the lease of other "
        "moves are stricter, and a lease relaxes no limit. To lift it for them: --lift-stricter",
        "Which limit holds on broker 6 is not known, at most 1000 B/s: it does not answer",
    ]


def test_fg_4_a_lease_that_lifts_says_what_it_lifts_and_offers_nothing_more() -> None:
    assert [*lease_lines(LEASE, STANDING, BROKERS, lifts=True)] == [
        f"The inter-broker throttle limit is 1000 B/s on brokers 1,2,3,4 {FREE}",
        "Lifted until then: 500 B/s on brokers 1,2 (the dynamic config of all brokers)",
        "Lifted until then: 300 B/s to send on broker 3 (its own dynamic config)",
        "On broker 5 it stays 200 B/s to send and 300 B/s to receive: its own dynamic config and the lease of other "
        "moves are stricter, and a lease relaxes no limit",
        "Which limit holds on broker 6 is not known, at most 1000 B/s: it does not answer",
    ]


def test_fg_4_nothing_can_lift_the_lease_of_other_moves_and_where_nothing_is_stricter_there_is_one_line() -> None:
    others = StandingRates({1: {LEADER_RATE: OF_OTHERS, FOLLOWER_RATE: OF_OTHERS}}, {}, {1: 200})
    assert [*lease_lines(LEASE, others, [1])] == [
        "On broker 1 it stays 200 B/s: the lease of other moves is stricter, and a lease relaxes no limit"
    ]
    [line] = lease_lines(LEASE, StandingRates({}, {}), [1, 2])
    assert line == f"The inter-broker throttle limit is 1000 B/s {FREE}"
    assert [*limit_texts({})] == []


def test_fg_4_programs_get_each_side_with_a_stricter_rate_and_null_where_it_is_unknown() -> None:
    assert stricter_document(LEASE, STANDING, lifts=True) == [
        {"broker": 5, "side": "send", "rate": 200, "by": "lease"},
        {"broker": 5, "side": "receive", "rate": 300, "by": "config"},
        {"broker": 6, "side": None, "rate": None, "by": None},
    ]
