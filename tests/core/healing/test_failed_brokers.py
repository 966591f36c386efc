"""Which failed brokers are repaired, and when: the rules of KIP-46, with a simulated clock."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kafka_reassign_rpc.core.healing import repair_targets
from kafka_reassign_rpc.core.healing.failed_brokers import (
    PREPARE_MS,
    Diagnosis,
    FailureWatch,
    LostReplicas,
    diagnose,
    is_alerted,
    promised_times,
    rack_problems,
)
from kafka_reassign_rpc.core.settings import healing_settings
from kafka_reassign_rpc.core.settings.healing_settings import GRACE_MS, HealingSettings, HealingThrottle
from kafka_reassign_rpc.core.settings.reassignment_settings import ReassignmentSettings
from kafka_reassign_rpc.core.settings.settings_in_force import derived
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, QUEUE, MoveRecord, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from tests.tables import for_each

HALF_AN_HOUR = 30 * 60_000
ON = HealingSettings(interval_ms=HALF_AN_HOUR)
SIX = (1, 2, 3, 4, 5, 6)


def gone(
    *lost: int, since: int = 0, now: int = 0, missed: int | None = None, live: tuple[int, ...] = SIX
) -> FailureWatch:
    """Of six brokers these are gone and have replicas.

    since   times of the recorded failures
    missed  since when this controller has missed them
    """
    return FailureWatch(
        failed=dict.fromkeys(lost, since),
        lost=dict.fromkeys(lost, 100),
        live=[broker for broker in live if broker not in lost],
        missed=dict.fromkeys(lost, since if missed is None else missed),
        now_ms=now,
    )


def test_46_1_an_absent_broker_with_replicas_is_recorded_with_the_time() -> None:
    watch = replace(gone(3, now=1000, missed=400), failed={})
    assert diagnose(watch, ON).record == {3: 400}, "when this controller missed it first"
    assert diagnose(watch, HealingSettings()).record == {3: 400}, "also while healing is off"


def test_46_1_a_known_failure_keeps_its_first_time() -> None:
    assert diagnose(gone(3, since=1000, now=5000), ON).record == {}


def test_46_1_the_failure_of_a_broker_that_is_back_or_has_no_replicas_is_forgotten() -> None:
    back = FailureWatch(failed={3: 0, 4: 0, 9: 0}, lost={4: 1}, live=(1, 2, 3), missed={4: 0}, now_ms=1000)
    assert diagnose(back, ON).forget == {3, 9}


def test_46_2_healing_is_off_by_default() -> None:
    assert HealingSettings().interval_ms == -1
    found = diagnose(gone(3, now=10 * HALF_AN_HOUR), HealingSettings())
    assert (found.heal, found.alerts, found.due_ms) == ((), (), None)


def test_46_2_a_broker_is_healed_after_the_interval_and_not_before() -> None:
    early = diagnose(gone(3, now=HALF_AN_HOUR - 1), ON)
    assert early.heal == ()
    assert early.due_ms == HALF_AN_HOUR
    assert diagnose(gone(3, now=HALF_AN_HOUR), ON).heal == (3,)


def test_46_2_there_is_an_alert_before_anything_moves() -> None:
    assert diagnose(gone(3, now=HALF_AN_HOUR // 2 - 1), ON).alerts == ()
    assert diagnose(gone(3, now=HALF_AN_HOUR // 2), ON).alerts == (3,)
    assert diagnose(gone(3, now=60_000), replace(ON, alert_interval_ms=60_000)).alerts == (3,)
    late = diagnose(gone(3, now=HALF_AN_HOUR), replace(ON, alert_interval_ms=2 * HALF_AN_HOUR))
    assert (late.alerts, late.heal) == ((3,), (3,)), "however late the alert was to be"


def test_46_2_an_alert_interval_of_its_own_raises_alerts_even_with_self_healing_off() -> None:
    alerting = HealingSettings(alert_interval_ms=60_000)
    assert diagnose(gone(3, now=59_999), alerting).due_ms == 60_000
    found = diagnose(gone(3, now=60_000), alerting)
    assert (found.alerts, found.heal, found.heal_at, found.due_ms) == ((3,), (), {3: None}, None)


def test_46_3_the_next_repair_may_be_planned_shortly_before_it_is_due() -> None:
    watch = gone(3, 4, now=HALF_AN_HOUR - PREPARE_MS)
    assert diagnose(watch, ON).prepare == (3, 4)
    assert diagnose(replace(watch, failed={3: 0, 4: 1}), ON).prepare == (3,)
    assert diagnose(replace(watch, failed={3: 0, 4: 1}, now_ms=HALF_AN_HOUR), ON).prepare == (4,)
    assert diagnose(watch, replace(ON, max_brokers=1)).prepare == ()
    before = diagnose(replace(watch, now_ms=watch.now_ms - 1), ON)
    assert (before.prepare, before.due_ms) == ((), watch.now_ms), "it is looked at then"
    short = replace(ON, interval_ms=PREPARE_MS)
    assert diagnose(gone(3, now=PREPARE_MS // 2 - 1), short).prepare == ()
    assert diagnose(gone(3, now=PREPARE_MS // 2), short).prepare == (3,), "half an interval before it"


def test_46_4_a_new_controller_gives_brokers_time_to_come_back_however_old_the_failure_is() -> None:
    just_elected = 10 * HALF_AN_HOUR
    found = diagnose(gone(3, since=0, missed=just_elected, now=just_elected), ON)
    assert found.heal == ()
    assert found.due_ms == just_elected + GRACE_MS
    assert diagnose(gone(3, since=0, missed=just_elected, now=just_elected + GRACE_MS), ON).heal == (3,)


def test_46_4_a_failure_noted_by_a_clock_that_was_ahead_counts_from_now() -> None:
    assert diagnose(gone(3, since=HALF_AN_HOUR * 9, missed=0, now=5000), ON).due_ms == 5000 + HALF_AN_HOUR // 2


def test_46_6_too_many_failed_brokers_are_not_repaired_and_the_reason_is_shown() -> None:
    found = diagnose(gone(2, 3, 4, now=HALF_AN_HOUR), ON)
    assert found.heal == ()
    assert found.held_back == "3 of 6 brokers are gone, more than self.healing.max.failed.percentage=40: 2, 3, 4"
    assert diagnose(gone(2, 3, now=HALF_AN_HOUR), ON).heal == (2, 3)
    few = replace(ON, max_brokers=1)
    assert diagnose(gone(2, 3, now=HALF_AN_HOUR), few).held_back == (
        "2 brokers are gone, more than self.healing.max.failed.brokers=1: 2, 3"
    )


def test_46_6_after_too_many_brokers_were_gone_the_others_get_time_to_come_back_too() -> None:
    held = diagnose(gone(2, 3, 4, now=HALF_AN_HOUR), ON)
    assert (held.held_back is not None, held.braked_ms) == (True, HALF_AN_HOUR)
    lifted = replace(gone(2, 3, now=HALF_AN_HOUR + 1), braked_ms=held.braked_ms)
    found = diagnose(lifted, ON)
    assert (found.heal, found.held_back, found.prepare) == ((), None, (2, 3))
    assert (found.due_ms, found.braked_ms) == (HALF_AN_HOUR + GRACE_MS, HALF_AN_HOUR)
    assert found.heal_at == dict.fromkeys((2, 3), HALF_AN_HOUR + GRACE_MS)
    assert diagnose(replace(lifted, now_ms=HALF_AN_HOUR + GRACE_MS), ON).heal == (2, 3)
    assert diagnose(replace(lifted, ordered=frozenset({3})), ON).heal == (3,), "an operator knows better"
    assert diagnose(gone(3, now=HALF_AN_HOUR), replace(ON, paused=True)).braked_ms is None, "a pause is no outage"


def test_46_6_an_outage_of_zookeeper_that_ends_all_sessions_starts_no_repair() -> None:
    found = diagnose(gone(*SIX, now=HALF_AN_HOUR), replace(ON, max_percentage=100, max_brokers=100))
    assert found.heal == ()
    assert found.held_back == "no broker is there to take replicas"


def test_46_6_a_pause_holds_back_all_repairs_even_ordered_ones() -> None:
    paused = replace(ON, paused=True)
    watch = replace(gone(3, now=5), ordered=frozenset({3}))
    assert diagnose(watch, paused).held_back == "healing is paused (self.healing.paused=true)"
    assert diagnose(gone(3, now=5), paused).held_back is None, "nothing is held back yet"
    assert diagnose(replace(gone(now=5), waiting=1), paused).held_back == "healing is paused (self.healing.paused=true)"


def test_an_operators_order_skips_the_interval_even_with_self_healing_off() -> None:
    watch = replace(gone(3, 4, now=5), ordered=frozenset({3}))
    assert diagnose(watch, ON).heal == (3,)
    assert diagnose(watch, HealingSettings()).heal == (3,)


def test_dh_1_a_broker_loses_its_replicas_unless_a_move_in_flight_or_a_waiting_repair_takes_them_away() -> None:
    here = (Endpoint("PLAINTEXT", "PLAINTEXT", "h", 1),)
    losses = LostReplicas(Cluster(brokers={1: Broker(1, 1, here), 2: Broker(2, 2, here)}))
    losses.count(Partition(replicas=(1, 3)))
    losses.count(Partition(replicas=(1, 2, 3), adding=(2,), removing=(3,)))
    losses.count(Partition(replicas=(1, 3)), WaitingMove(MoveTerms((1, 2), HEAL)))
    losses.count(Partition(replicas=(3, 4)))
    losses.count(Partition(replicas=(1, 6)), WaitingMove(MoveTerms((1, 2), QUEUE)))
    losses.count(Partition(replicas=(1, 2, 5), adding=(2,), removing=(5,)))
    assert losses.replicas == {3: 2, 4: 1, 5: 0, 6: 1}
    assert losses.leaving == {3, 5}
    assert losses.repaired == {3: 1}, "by the waiting repair"
    losses.count(Partition(replicas=(1, 2)), WaitingMove(MoveTerms((1, 7), QUEUE)))
    losses.count(Partition(replicas=(1, 8, 2), adding=(8,)))
    assert losses.awaited == {7: 1, 8: 1}
    assert losses.brokers == {3, 4, 6}, "the brake does not count who has lost nothing"


def test_dh_3_an_offline_replica_on_a_registered_broker_is_shown_whatever_takes_or_brings_it() -> None:
    here = (Endpoint("PLAINTEXT", "PLAINTEXT", "h", 1),)
    for partition, queued in (
        (Partition(replicas=(1, 2), offline=(2,)), WaitingMove(MoveTerms((1, 3), HEAL))),
        (Partition(replicas=(1, 2, 3), adding=(2,), removing=(3,), offline=(2,)), None),
        (Partition(replicas=(1, 3, 2), adding=(3,), removing=(2,), offline=(2,)), None),
    ):
        losses = LostReplicas(Cluster(brokers={one: Broker(one, one, here) for one in (1, 2, 3)}))
        losses.count(partition, queued)
        assert losses.replicas == {2: 0}
        assert losses.repaired == {}
        assert losses.awaited == {}


def test_dh_1_a_lost_broker_whose_replicas_all_leave_by_moves_in_flight_is_shown_and_has_nothing_to_heal() -> None:
    leaving = replace(gone(3, 4, since=7, now=HALF_AN_HOUR), lost={3: 0, 4: 1}, ordered=frozenset({3}))
    found = diagnose(leaving, ON)
    assert (found.forget, found.heal, found.heal_at[3], found.alerts) == (frozenset(), (), None, (3, 4))
    assert diagnose(replace(leaving, failed={}, missed={3: 5}), ON).record[3] == 5
    cancelled = replace(leaving, lost={3: 9}, ordered=frozenset(), now_ms=7 + HALF_AN_HOUR)
    assert diagnose(cancelled, ON).heal == (3,), "its clock runs from the loss"


def test_46_1_a_broker_that_only_a_move_names_has_lost_nothing_unless_the_move_is_a_repair() -> None:
    cluster = on_racks(b1="a", b2="b")

    def lost(partition: Partition) -> dict[int, int]:
        losses = LostReplicas(cluster)
        losses.count(partition)
        return losses.replicas

    grows = Partition(replicas=(1, 2, 9), adding=(9,))
    by_client = MoveRecord(MoveTerms((1, 2, 9)), (1, 2))
    assert lost(grows) == {}, "a stock controller's move"
    assert lost(replace(grows, move=by_client)) == {}
    assert lost(replace(grows, move=replace(by_client, terms=replace(by_client.terms, route=HEAL)))) == {9: 1}
    replaces = Partition(replicas=(1, 9, 3), adding=(9,), removing=(3,), move=MoveRecord(MoveTerms((1, 9)), (3, 1)))
    assert lost(replaces) == {3: 1}, "the move cannot take it away"
    assert repair_targets.wanted_replicas(cluster, replaces, None) == (3, 1), "in their original order"


def test_dynamic_configs_override_the_servers_settings_and_invalid_ones_are_reported_and_ignored() -> None:
    configs = {
        healing_settings.INTERVAL: "60000",
        healing_settings.MAX_PERCENTAGE: "101",
        healing_settings.THROTTLE: "fast",
        healing_settings.PAUSED: "TRUE",
        "self.healing.cancel.on.return": "perhaps",
    }
    found = derived((configs,), ReassignmentSettings(healing=HealingSettings(max_percentage=25)))
    assert found.healing == HealingSettings(interval_ms=60_000, max_percentage=25, paused=True)
    assert [problem.partition("=")[0] for problem in found.healing_problems] == [
        healing_settings.MAX_PERCENTAGE,
        healing_settings.THROTTLE,
        "self.healing.cancel.on.return",
    ]


@dataclass
class Life:
    """A cluster of six brokers. Brokers and controllers come and go; time only grows."""

    now: int = 0
    failed: dict[int, int] = field(default_factory=dict)
    down_since: dict[int, int] = field(default_factory=dict)
    missed: dict[int, int] = field(default_factory=dict)

    def look(self) -> Diagnosis:
        for broker in self.down_since:
            self.missed.setdefault(broker, self.now)
        self.missed = {broker: at for broker, at in self.missed.items() if broker in self.down_since}
        found = diagnose(
            FailureWatch(
                failed=self.failed,
                lost=dict.fromkeys(self.down_since, 1),
                live=[broker for broker in SIX if broker not in self.down_since],
                missed=self.missed,
                now_ms=self.now,
            ),
            ON,
        )
        self.failed = {b: at for b, at in (self.failed | dict(found.record)).items() if b not in found.forget}
        return found


@given(st.lists(st.tuples(st.sampled_from(SIX), st.sampled_from(["down", "up", "controller"]), st.integers(0, 10**7))))
def test_46_2_only_a_broker_that_was_gone_for_the_whole_interval_is_repaired(
    steps: list[tuple[int, str, int]],
) -> None:
    life = Life()
    for broker, what, passes in steps:
        life.now += passes
        if what == "down":
            life.down_since.setdefault(broker, life.now)
        elif what == "up":
            life.down_since.pop(broker, None)
        else:
            life.missed.clear()
        found = life.look()
        for healed in found.heal:
            assert life.now - life.down_since[healed] >= HALF_AN_HOUR
            assert 100 * len(life.down_since) <= 40 * len(SIX)
        assert life.failed.keys() == life.down_since.keys()
        assert found.due_ms is None or found.due_ms > life.now


def on_racks(**racks: str) -> Cluster:
    """Live brokers with their racks: b1="a" is broker 1 on rack a."""
    here = (Endpoint("PLAINTEXT", "PLAINTEXT", "h", 1),)
    return Cluster(brokers={int(name[1:]): Broker(int(name[1:]), 1, here, rack) for name, rack in racks.items()})


def test_46_7_returned_brokers_keep_their_replicas_in_the_rest_of_a_repair() -> None:
    cluster = on_racks(b1="a", b2="b", b3="c", b5="b", b6="c")
    lies = Partition(replicas=(3, 4, 1))
    assert repair_targets.still_needed(cluster, lies, (6, 5, 1)) == (3, 5, 1)
    assert repair_targets.still_needed(cluster, lies, (5, 6, 1)) == (5, 6, 1), "not at the price of a rack"
    assert repair_targets.still_needed(cluster, lies, (2, 3, 1)) == (2, 3, 1), "nor of a replica"
    assert repair_targets.still_needed(cluster, Partition(replicas=(2, 3, 1)), (2, 6, 1)) is None
    assert repair_targets.still_needed(cluster, Partition(replicas=(4, 1)), (5, 1)) == (5, 1)
    assert repair_targets.still_needed(cluster, None, (5, 1)) is None


def test_46_3_an_incomplete_repair_is_tried_again_later_or_at_once_on_an_operators_order() -> None:
    watch = replace(gone(3, now=HALF_AN_HOUR), not_before={3: HALF_AN_HOUR + 5})
    assert (diagnose(watch, ON).heal, diagnose(watch, ON).due_ms) == ((), HALF_AN_HOUR + 5)
    assert diagnose(replace(watch, now_ms=HALF_AN_HOUR + 5), ON).heal == (3,)
    ordered = diagnose(replace(watch, ordered=frozenset({3})), ON)
    assert (ordered.heal, ordered.alerts) == ((3,), (3,)), "an order does not take an alert back"


def test_46_5_the_throttle_is_a_number_of_bytes_or_a_share_also_as_a_dynamic_config() -> None:
    for text, throttle in (
        ("70", HealingThrottle(70)),
        (" 40% ", HealingThrottle(percent=40)),
        ("-1", HealingThrottle()),
    ):
        own = ReassignmentSettings(healing=replace(ON, throttle=HealingThrottle(5)))
        found = derived(({healing_settings.THROTTLE: text},), own)
        assert (found.healing, found.healing_problems) == (replace(ON, throttle=throttle), [])


def test_46_digits_of_other_scripts_are_invalid() -> None:
    for text in ("²", "٣", "1_000", "+5", "1e3", "", "--1", "-2", str(10**14 + 1), str(2**63)):
        found = derived(({healing_settings.INTERVAL: text},), ReassignmentSettings(healing=ON))
        assert (found.healing, len(found.healing_problems)) == (ON, 1), text


def test_hm_1_no_repair_starts_while_the_settings_of_the_servers_cannot_be_read() -> None:
    """They may say that healing is paused."""
    problem = "the settings of the servers cannot be read"
    cluster = Cluster(settings_problem=problem, broker_configs={"<default>": {healing_settings.INTERVAL: "5"}})
    found = cluster.soft.in_force
    assert (found.healing_problems, found.disabled_by) == ([problem], problem)
    assert found.healing.interval_ms == 5
    assert diagnose(gone(3, now=10 * HALF_AN_HOUR), found.healing).held_back == problem


def test_46_one_broker_without_a_rack_is_one_broker() -> None:
    cluster = Cluster(brokers={1: Broker(1, 1, (), "a"), 2: Broker(2, 2, ())})
    [problem] = rack_problems(cluster, ON)
    assert problem.startswith("broker 2 has no rack, others do: ")


def test_46_racks_are_a_problem_only_where_some_brokers_have_one_and_repairs_are_on() -> None:
    with_rack, without = Broker(1, 1, (), "a"), Broker(2, 2, ())
    assert rack_problems(Cluster(brokers={1: with_rack}), ON) == []
    assert rack_problems(Cluster(brokers={2: without}), ON) == []
    both = Cluster(brokers={1: with_rack, 2: without})
    assert rack_problems(both, HealingSettings()) == []
    assert len(rack_problems(both, HealingSettings(interval_ms=0))) == 1


@for_each(
    "since, after, alerted",
    [
        (5, -1, False),
        (None, -1, False),
        (None, 10, True),
        (1000, 0, True),
        (990, 10, True),
        (991, 10, False),
    ],
)
def test_46_1_a_broker_that_is_gone_without_a_failure_of_its_own_alerts_after_the_interval_too(
    since: int | None, after: int, *, alerted: bool
) -> None:
    assert is_alerted(since, 1000, HealingSettings(alert_interval_ms=after)) is alerted


def test_46_1_no_time_of_a_repair_is_promised_while_something_keeps_it_from_starting() -> None:
    found = diagnose(gone(3, now=1000), ON)
    assert found.heal_at == {3: HALF_AN_HOUR}
    assert promised_times(found, ON, None) == {3: HALF_AN_HOUR}
    assert promised_times(found, replace(ON, paused=True), None) == {}
    assert promised_times(found, ON, "reassignments are disabled") == {}
    assert promised_times(replace(found, held_back="too many are gone"), ON, None) == {}
