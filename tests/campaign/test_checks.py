"""Each check of a campaign finds the fault that it is for, and nothing in a cluster that is well."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.tables import for_each

from . import checks
from .facts import Facts, Held, State, Topic, View
from .history import Absence, Assigned
from .stock_coordinators import TOPIC as TRANSACTIONS
from .verdict import cluster_checks
from .watch import PATIENCE_S, Registrations, Watch

ID, OLD_ID = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"
SHOWN = f"id {ID} error 0 leader 1 epoch 4 replicas [1, 2] isr [1, 2] offline []"
WELL = Facts(
    live=frozenset({1, 2}),
    topics={"t": Topic(ID, {0: (1, 2)})},
    states={("t", 0): State(leader=1, isr=(1, 2), leader_epoch=4, controller_epoch=2, version=6)},
    views={node: View(1000, frozenset({1, 2}), {("t", 0): SHOWN}) for node in (1, 2, 1000)},
    held=(Held(1, "data-0", "t-0", ID), Held(2, "data-1", "t-0", ID)),
)
EXPECTED = {"t": 1}


def with_state(state: State) -> Facts:
    return replace(WELL, states={("t", 0): state})


def with_view(node: int, view: View) -> Facts:
    return replace(WELL, views={**WELL.views, node: view})


def shown(text: str) -> View:
    return View(1000, frozenset({1, 2}), {("t", 0): text})


def with_held(*held: Held) -> Facts:
    return replace(WELL, held=held)


FAULTS: dict[str, list[tuple[Facts, str]]] = {
    "topics": [
        (replace(WELL, topics={}), "t has 0 partitions instead of 1"),
        (replace(WELL, topics={**WELL.topics, "gone": Topic(ID, {0: (1,)})}), "gone has 1 partitions instead of 0"),
        (replace(WELL, topics={"t": Topic(ID, {0: (1,), 1: (2,)})}), "t has 2 partitions instead of 1"),
    ],
    "leaders": [
        (with_state(State(leader=-1, isr=(2,))), "[2] could lead"),
        (with_state(State(leader=3, isr=(3, 1))), "[1] could lead"),
    ],
    "moves": [(replace(WELL, topics={"t": Topic(ID, {0: (1, 2)}, frozenset({0}))}), "t-0 moves")],
    "leftover znodes": [(replace(WELL, leftovers=("/admin/reassign_partitions_queue",)), "_queue exists")],
    "in-sync replicas": [
        (with_state(State(leader=1, isr=(1,))), "t-0 has the replicas (1, 2)"),
        (with_state(State(leader=-1, isr=(1, 2))), "leader=-1"),
        (replace(WELL, states={}), "t-0 has no state"),
    ],
    "throttles": [(replace(WELL, throttles={"topics/t": {"leader.replication.throttled.replicas": "*"}}), "topics/t")],
    "defaults": [
        (replace(WELL, defaults={"log.flush.interval.ms": "-1"}), "all brokers have log.flush.interval.ms=-1")
    ],
    "coordinators": [
        (
            replace(WELL, states={(TRANSACTIONS, 0): State(leader=1, isr=(1, 2))}, unloaded=frozenset({(1, 0)})),
            "broker 1 leads __transaction_state-0, and never loads it",
        )
    ],
    "ids": [
        (replace(WELL, topics={**WELL.topics, "u": Topic(ID, {})}), f"ZooKeeper has topics t, u by the id {ID}"),
        (
            with_view(2, View(1000, frozenset({1, 2}), {("t", 0): SHOWN, ("t", 1): SHOWN, ("u", 0): SHOWN})),
            f"node 2 shows topics t, u by the id {ID}",
        ),
    ],
    "left alone": [(replace(WELL, left_alone=frozenset({"t"})), "t is left alone")],
    "metadata": [
        (with_view(2, View(3, frozenset({1, 2}), {("t", 0): SHOWN})), "the controller is, by node"),
        (with_view(2, View(1000, frozenset({1}), {("t", 0): SHOWN})), "node 2 does not show the brokers [2]"),
        (with_view(2, View(1000, frozenset({1, 2}), {})), "node 2 does not show ('t', 0)"),
        (with_view(2, View(1000, frozenset({1, 2}), {("t", 0): SHOWN, ("u", 0): SHOWN})), "which does not exist"),
        (with_view(2, shown(SHOWN.replace("epoch 4", "epoch 3"))), "shown differently"),
        (with_view(2, shown(SHOWN.replace(ID, OLD_ID))), "shown differently"),
        (replace(WELL, views=dict.fromkeys((1, 2), shown(SHOWN.replace("leader 1", "leader 2")))), "ZooKeeper has"),
    ],
    "directories": [
        (with_held(*WELL.held, Held(3, "data-0", "t-0", ID)), "broker 3 has data-0/t-0, and is no replica"),
        (with_held(*WELL.held, Held(1, "data-0", "gone-0", OLD_ID)), "gone-0, and is no replica"),
        (with_held(WELL.held[0], Held(2, "data-1", "t-0", OLD_ID)), f"now has the id {ID}"),
        (with_held(WELL.held[0]), "broker 2 has no directory t-0"),
        (with_held(*WELL.held, Held(2, "data-0", "t-0", ID)), "broker 2 has t-0 in ['data-1', 'data-0']"),
    ],
}


@for_each("name", cluster_checks({}))
def test_sv_4_each_check_finds_its_fault_and_nothing_else(name: str) -> None:
    check = cluster_checks(EXPECTED)[name]
    assert check(WELL) == []
    for facts, expected in FAULTS[name]:
        found = check(facts)
        assert any(expected in line for line in found), (found, expected)


def test_sv_4_a_deletion_is_forgotten_only_where_another_controller_was_elected_while_the_node_was_away() -> None:
    shows = with_view(2, View(1000, frozenset({1, 2}), {("t", 0): SHOWN, ("gone", 0): SHOWN}))
    deleted, away = Assigned("gone", frozenset(), 105), Absence(2, 101, 120)
    well = replace(shows, assigned=(deleted,), absences=(away,), elections=(50.0, 110.0))
    assert checks.metadata(well) == []
    for other in (
        replace(well, elections=()),
        replace(well, elections=(104.0, 121.0)),
        replace(well, absences=(replace(away, broker=1),)),
        replace(well, absences=(Absence(2, 107 + checks.UNTOLD_S, 150),), elections=(140.0,)),
        replace(well, absences=(replace(away, end=104),)),
        replace(well, assigned=(replace(deleted, name="t"),)),
        replace(well, assigned=()),
    ):
        assert checks.metadata(other) == ["node 2 shows ('gone', 0), which does not exist"]


def test_sv_4_a_partition_of_which_no_replica_in_sync_is_alive_has_no_leader_rightly() -> None:
    assert checks.leaders(with_state(State(leader=-1, isr=(3,)))) == []


def test_sv_4_a_topic_that_is_being_deleted_needs_no_leader() -> None:
    leaderless = with_state(State(leader=-1, isr=(2,)))
    assert checks.leaders(replace(leaderless, deleting=frozenset({"t"}))) == []
    assert checks.leaders(replace(leaderless, deleting=frozenset({"u"}))) != []


STRAY = Held(3, "data-0", "t-0", OLD_ID, written=100)
LEFT, ADDED = frozenset({1, 2}), frozenset({1, 2, 3})
LATER = Absence(3, 200, 210)


def strays(*absences: Absence, assigned: tuple[Assigned, ...] = (), held: Held = STRAY) -> list[str]:
    return checks.directories(replace(with_held(*WELL.held, held), absences=absences, assigned=assigned))


def test_sv_4_a_directory_that_was_dropped_while_its_broker_was_away_is_tolerated_and_no_other() -> None:
    dropped = (Assigned("t-0", ADDED, 90), Assigned("t-0", LEFT, 105))
    assert strays(Absence(3, 101, 110), assigned=dropped) == []
    assert strays(LATER, assigned=dropped) != [], "it was there when the replica was dropped, and away only later"
    assert strays(Absence(3, 50, 60), assigned=dropped) != []
    assert strays(Absence(2, 101, 110), assigned=dropped) != []
    assert strays(LATER, Absence(3, 101, 110), assigned=dropped) == []
    assert strays(Absence(3, 105 + checks.UNTOLD_S, 130), assigned=dropped) == [], "it may not have been told"
    again = (*dropped, Assigned("t-0", ADDED, 120), Assigned("t-0", LEFT, 150))
    assert strays(Absence(3, 101, 110), assigned=again) != [], "the last drop counts"
    assert strays(Absence(3, 101, 110), assigned=(*dropped, Assigned("t-0", frozenset({1}), 150))) == []
    away = (Absence(1, 0, 200),)
    assert checks.directories(replace(with_held(WELL.held[1]), absences=away)) == ["broker 1 has no directory t-0"]


def test_sv_4_a_broker_that_was_frozen_may_write_on_to_what_it_led() -> None:
    """Long after the move that took the replica away in that time, and without another absence."""
    assert strays(Absence(3, 90, 95), assigned=(Assigned("t-0", LEFT, 93),)) == []
    for other in (Assigned("t-0", LEFT, 96), Assigned("t-0", frozenset({1, 3}), 93), Assigned("t-1", LEFT, 93)):
        assert strays(Absence(3, 90, 95), assigned=(other,)) != []


def test_sv_4_a_directory_may_be_of_the_topic_before_which_a_move_took_from_an_absent_broker() -> None:
    deleted, again = Assigned("t", frozenset(), 120), Assigned("t", frozenset(), 150)
    moved = (Assigned("t-0", ADDED, 90), Assigned("t-0", LEFT, 105), deleted, again)
    assert strays(Absence(3, 101, 110), assigned=moved) == []
    assert strays(Absence(3, 130, 140), assigned=moved) != []


def test_sv_4_a_directory_of_a_deleted_topic_was_dropped_when_the_deletion_began() -> None:
    gone = replace(STRAY, name="gone-0")
    deleted = Assigned("gone", frozenset(), 105)
    assert strays(Absence(3, 101, 110), assigned=(deleted,), held=gone) == []
    assert strays(LATER, assigned=(deleted,), held=gone) != []
    moved_before = (Assigned("gone-0", LEFT, 80), deleted)
    assert strays(Absence(3, 75, 85), assigned=moved_before, held=gone) == [], "it was no replica any more"
    created_again = (deleted, Assigned("gone-0", LEFT, 205))
    assert strays(LATER, assigned=created_again, held=gone) == [], "the new topic may have had a replica there"


def test_sv_4_where_the_drop_was_not_noted_the_broker_was_away_soon_after_the_last_record() -> None:
    assert strays(Absence(3, 101, 110)) == []
    assert strays(Absence(3, 90, 110)) == []
    assert strays(Absence(3, 50, 60)) != []
    assert strays(Absence(3, 101 + checks.QUIET_S, 300)) != []
    begun = (Assigned("t-0", ADDED, 350),)
    assert strays(Absence(3, 340, 360), assigned=begun) == [], "nothing was written, and nobody told the move's end"
    assert strays(Absence(3, 360, 370), assigned=begun) != []
    assert strays(Absence(3, 330, 340), assigned=begun) != []
    killed_early = replace(STRAY, name="t-9", topic_id=None)
    assert strays(Absence(3, 101, 110), held=killed_early) == [], "before it noted the id"


def test_sv_4_an_empty_directory_that_a_disturbed_broker_began_is_tolerated_and_no_other() -> None:
    """The broker was back long before, and knew that it had to delete the replica."""
    dropped = (Assigned("t-0", ADDED, 90), Assigned("t-0", LEFT, 150))
    begun = replace(STRAY, topic_id=None, written=0.0, is_empty=True)
    assert strays(Absence(3, 80, 95), assigned=dropped, held=begun) == []
    assert strays(Absence(3, 80, 95), assigned=dropped, held=replace(begun, is_empty=False)) != []
    assert strays(Absence(2, 80, 95), assigned=dropped, held=begun) != [], "nothing disturbed its broker"
    second = replace(begun, broker=2, log_dir="data-1")
    away = (Assigned("t-0", LEFT, 50),)
    assert strays(Absence(2, 80, 95), assigned=away, held=second) != [], "it would find two logs at its next start"


def test_sv_4_an_empty_directory_of_a_replica_is_tolerated_where_the_brokers_log_tells_that_it_gave_it_up() -> None:
    begun = Held(2, "data-0", "t-0", None, is_empty=True)
    told = replace(with_held(*WELL.held, begun), given_up=frozenset({(2, "t-0")}))
    assert checks.directories(told) == []
    assert checks.directories(replace(told, given_up=frozenset({(1, "t-0"), (2, "t-1")}))) != []
    assert checks.directories(replace(told, held=(*WELL.held, replace(begun, is_empty=False)))) != []
    assert checks.directories(replace(told, held=(WELL.held[0], begun))) == ["broker 2 has no directory t-0"]


def test_sv_4_each_partition_has_as_many_replicas_as_are_drawn() -> None:
    def with_replicas(name: str, *replicas: int) -> list[str]:
        found = {name: Topic(ID, {0: replicas})}
        return checks.in_sync(replace(WELL, topics=found, states={(name, 0): State(replicas[0], replicas)}))

    for name in ("t", "__consumer_offsets"):
        assert with_replicas(name, 1, 2, 3) == []
        assert "should have 2 or 3 replicas: (1,)" in with_replicas(name, 1)[0]
        assert "should have 2 or 3 replicas" in with_replicas(name, 1, 2, 3, 4)[0]
        assert "should have 2 or 3 replicas" in with_replicas(name, 1, 1)[0]


def test_sv_4_a_directory_that_a_stock_controller_dropped_without_a_word_is_tolerated() -> None:
    facts = with_held(*WELL.held, Held(3, "data-0", "t-0", OLD_ID, written=100))
    untold = Assigned("t-0", LEFT, 105)
    assert checks.directories(replace(facts, untold=(untold,))) == []
    for other in (replace(untold, name="t-1"), replace(untold, replicas=frozenset({1, 3}))):
        assert checks.directories(replace(facts, untold=(other,))) != []
    for at, differs in ((90, False), (120, True)):
        given = replace(facts, untold=(untold,), assigned=(Assigned("t-0", ADDED, at),))
        assert bool(checks.directories(given)) is differs, "it was given to the broker again, and dropped with a word"


def test_sv_4_a_traceback_in_a_servers_log_is_found_by_its_error() -> None:
    log = "ready\nTraceback (most recent call last):\n  File x, line 1\n    y()\nValueError: bad\n12:00 INFO next\n"
    assert checks.server_logs({"a": log * 2, "b": "ready\n"}) == ["2 times in a: ValueError: bad"]


def after(watch: Watch, seconds: float, facts: Facts) -> list[str]:
    assert watch.seen(0.0, facts) == []
    return watch.seen(seconds, facts)


def test_sv_4_a_partition_without_a_leader_is_found_once_that_takes_too_long() -> None:
    leaderless = with_state(State(leader=-1, isr=(2,), leader_epoch=4))
    assert after(Watch(), PATIENCE_S - 1, leaderless) == []
    assert "no leader for" in after(Watch(), PATIENCE_S + 1, leaderless)[0]
    assert after(Watch(), PATIENCE_S + 1, WELL) == []
    assert Watch().seen(0, leaderless) == []


def test_sv_4_the_wait_for_a_leader_begins_anew_after_an_election_and_after_an_interruption() -> None:
    leaderless = with_state(State(leader=-1, isr=(2,), leader_epoch=4, controller_epoch=2, version=6))
    elected, interrupted = Watch(), Watch()
    for watch in (elected, interrupted):
        watch.seen(0, leaderless)
    elected.seen(30, WELL)
    interrupted.interrupted()
    for watch in (elected, interrupted):
        assert watch.seen(PATIENCE_S + 1, leaderless) == []


def test_sv_4_a_broker_with_a_log_dir_away_need_not_lead() -> None:
    leaderless = with_state(State(leader=-1, isr=(2,)))
    watch = Watch()
    for now in (0.0, PATIENCE_S + 1):
        assert watch.seen(now, leaderless, disturbed=frozenset({2})) == []


@pytest.mark.parametrize(
    "lower",
    [
        lambda state: replace(state, leader_epoch=3),
        lambda state: replace(state, version=5),
        lambda state: replace(state, controller_epoch=1),
    ],
)
def test_sv_4_an_epoch_that_goes_down_is_found(lower: Callable[[State], State]) -> None:
    watch = Watch()
    watch.seen(0, WELL)
    [found] = watch.seen(1, with_state(lower(WELL.states["t", 0])))
    assert "leader epoch, controller epoch, version went from ((4,), (2,), (0, 6))" in found


def test_hm_2_a_state_that_is_put_back_begins_with_version_0_and_keeps_its_epochs() -> None:
    watch = Watch()
    watch.seen(0, WELL)
    put_back = replace(WELL.states["t", 0], version=0, created=9)
    assert watch.seen(1, with_state(put_back)) == []
    for lower in (replace(put_back, leader_epoch=3), replace(put_back, controller_epoch=1)):
        assert len(watch.seen(2, with_state(lower))) == 1
        watch.seen(3, with_state(put_back))
    assert len(watch.seen(4, with_state(replace(put_back, version=-1)))) == 1


def test_sv_4_an_older_state_that_is_put_back_counts_once_it_is_taken_up() -> None:
    watch = Watch()
    watch.seen(0, WELL)
    older = replace(WELL.states["t", 0], version=0, created=9, leader_epoch=1)
    assert watch.seen(1, with_state(older), edited=("t",)) == []
    [found] = watch.seen(2, with_state(replace(older, version=1)), edited=("t",))
    assert "went from ((4,), (2,), (0, 6))" in found


def test_sv_4_the_log_of_a_replica_that_was_taken_away_in_zookeeper_is_tolerated_and_no_other() -> None:
    stray = with_held(*WELL.held, Held(3, "data-0", "t-0", ID))
    assert checks.directories(stray, {"t"}) == []
    assert checks.directories(stray, {"u"}) == ["broker 3 has data-0/t-0, and is no replica of it"]


def test_sv_4_the_epochs_of_a_topic_that_is_created_again_begin_anew() -> None:
    watch = Watch()
    watch.seen(0, WELL)
    again = replace(WELL, topics={"t": Topic(OLD_ID, {0: (1, 2)})}, states={("t", 0): State(1, (1, 2))})
    assert watch.seen(1, again) == []


def test_sv_4_topics_that_have_one_id_for_a_while_have_epochs_of_their_own() -> None:
    watch = Watch()
    watch.seen(0, WELL)
    young = State(1, (1, 2), leader_epoch=1, controller_epoch=2, version=1)
    both = replace(WELL, topics={**WELL.topics, "u": Topic(ID, {0: (1, 2)})}, states={**WELL.states, ("u", 0): young})
    assert watch.seen(1, both) == []
    assert len(watch.seen(2, replace(both, states={**WELL.states, ("u", 0): replace(young, version=0)}))) == 1


def test_sv_4_a_broker_that_registers_anew_was_away_since_it_was_last_seen() -> None:
    registrations = Registrations()
    assert registrations.absences(100, Facts(registered={1: 10.0, 2: 10.0})) == []
    assert registrations.absences(101, Facts(registered={1: 10.0, 2: 10.0})) == []
    assert registrations.absences(108, Facts(registered={2: 10.0})) == []
    assert registrations.absences(109, Facts(registered={1: 108.5, 2: 108.7})) == [
        Absence(1, 101, 108.5),
        Absence(2, 108, 108.7),
    ]
