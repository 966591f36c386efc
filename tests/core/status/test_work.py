"""All the work, and when it is done, by cases that were worked out by hand."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.healing.self_healing_status import HealingStatus
from kafka_reassign_rpc.core.reassignment.progress import ProgressTracker
from kafka_reassign_rpc.core.reassignment.sampled_log_dirs import SampledLogDir
from kafka_reassign_rpc.core.restrictions import TAKES_NOTHING
from kafka_reassign_rpc.core.settings.healing_settings import PAUSED
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import QueuePart, WaitingMove
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.status.documents import Status, Work
from kafka_reassign_rpc.core.status.moves import MoveFilter
from kafka_reassign_rpc.core.status.summary import status_of
from kafka_reassign_rpc.core.status.views import TermView
from kafka_reassign_rpc.core.throttling.leased_configs import Removed
from kafka_reassign_rpc.core.throttling.replication_throttles import LEADER_RATE
from tests.core.build import broker, write
from tests.status_page.test_documents import listed
from tests.status_page.views import at_rest, cluster_of, move, run, sample, server_of, term_of

PLAN = "plan 7"


class Case:
    """Moves of topic t to broker 2, 1000 bytes each, and moves of w that wait to copy 500 bytes to broker 2."""

    def __init__(self, moving: Mapping[int, Partition], waiting: int = 0, route: str = "rpc") -> None:
        self.cluster: Cluster = cluster_of({"t": moving, "w": {one: at_rest(1) for one in range(waiting)}})
        entries = {("w", one): WaitingMove(MoveTerms((2,), route, PLAN)) for one in range(waiting)}
        if waiting:
            run(self.cluster.queue.put(QueuePart("/q", "/q", entries)))
        self.tracker = ProgressTracker(60.0)
        self.waiting = waiting

    def look(self, now: float, copied: Mapping[int, int]) -> None:
        """A sample: the bytes on broker 2, by partition of t."""
        self.cluster.soft.sizes.update({TopicPartition("w", one): 500 for one in range(self.waiting)})
        leader = dict.fromkeys(self.cluster.topics["t"].partitions, 1000)
        sample(self.tracker, self.cluster, now, {1: {"t": leader}, 2: {"t": copied}})

    def end(self, index: int, event: str = catalogue.MOVE_COMPLETED) -> None:
        """The move of this partition of t has ended."""
        record = self.cluster.topics["t"].partitions[index].move
        assert record is not None
        self.cluster.topics["t"].partitions[index] = at_rest(2)
        self.cluster.moving["t"].discard(index)
        if not self.cluster.moving["t"]:
            del self.cluster.moving["t"]
        end = Event(event, "t", index, record.id, record.terms.route, reason=record.terms.reason or None)
        assert list(self.tracker.ended([end], self.cluster))

    def status(self, **changes: Any) -> Status:
        term: TermView = term_of(self.cluster, self.tracker)._replace(**changes)
        return status_of(server_of(term), at=1, version="1", full=True)

    def work(self, **changes: Any) -> Work:
        found = self.status(**changes).work
        assert found is not None
        return found


def two_moves() -> dict[int, Partition]:
    return {one: move((1,), (2,), reason=PLAN) for one in (0, 1)}


def test_sv_11_what_moves_have_copied_is_unknown_after_a_failover_until_it_was_measured() -> None:
    """The broker that gets the replicas is dead: its sizes are not reported."""
    case = Case(two_moves())
    sample(case.tracker, case.cluster, 0.0, {1: {"t": {0: 1000, 1: 1000}}})
    status, work = case.status(), case.work()
    assert status.totals is not None
    assert (status.totals.bytes_left, status.totals.moves_without_size) == (None, 2)
    assert (work.bytes_total, work.bytes_copied, work.bytes_left, work.share) == (None, None, None, None)
    assert (work.done_ms, work.no_estimate) == (None, "the bytes of 2 moves are not known")
    case.look(5.0, {0: 100, 1: 300})
    assert (case.work().bytes_left, case.work().share) == (1600, 0.2)


def test_sv_11_waiting_moves_are_part_of_the_work_and_of_the_time_until_all_is_done() -> None:
    case = Case(two_moves(), waiting=4)
    case.look(0.0, {0: 0, 1: 0})
    case.look(10.0, {0: 100, 1: 100})
    status, work = case.status(), case.work()
    assert (work.moves, work.ended, work.bytes_total, work.bytes_left) == (6, 0, 4000, 3800)
    assert status.totals is not None
    assert (status.totals.bytes_left, status.totals.remaining_ms) == (1800, 90_000), "of those in flight, as before"
    assert work.done_ms == 190_000, "3800 bytes at 20 a second"
    assert (work.no_estimate, work.share) == (None, 0.05)


def test_sv_11_brokers_that_copy_nothing_yet_are_waited_for_at_the_rate_of_all() -> None:
    case = Case({0: move((1,), (2,))})
    case.cluster.topics["t"].partitions[1] = at_rest(3)
    run(case.cluster.queue.put(QueuePart("/q", "/q", {("t", 1): WaitingMove(MoveTerms((4,), "queue"))})))
    case.cluster.soft.sizes[TopicPartition("t", 1)] = 600
    for now, copied in ((0.0, 0), (10.0, 100)):
        sample(case.tracker, case.cluster, now, {1: {"t": {0: 1000}}, 2: {"t": {0: copied}}, 3: {"t": {1: 600}}})
    assert case.work().done_ms == 150_000, "900 bytes and 600 bytes, one after the other at 10 a second"


def test_sv_11_the_share_does_not_go_back_as_moves_end_and_the_group_keeps_their_bytes() -> None:
    case = Case(two_moves(), waiting=1)
    case.look(0.0, {0: 600, 1: 200})
    shares = [case.work().share]
    case.look(5.0, {0: 1000, 1: 400})
    shares.append(case.work().share)
    case.end(0)
    shares.append(case.work().share)
    assert case.status().totals.bytes_total == 1000, "it is no longer in that sum"  # type: ignore[union-attr]
    assert (case.work().ended, case.work().bytes_total, case.work().bytes_left) == (1, 2500, 1100)
    case.look(10.0, {1: 500})
    shares.append(case.work().share)
    assert shares == [0.32, 0.56, 0.56, 0.6]
    [group] = case.status().groups or ()
    assert (group.route, group.reason, group.ended, group.in_flight, group.waiting) == ("rpc", PLAN, 1, 1, 1)
    assert (group.bytes_total, group.bytes_copied, group.share) == (2500, 1500, 0.6)
    case.end(1, catalogue.MOVE_CANCELLED)
    assert (case.work().bytes_total, case.work().bytes_copied) == (2000, 1500), "what was copied of it stays in the sum"


def test_sv_11_once_nothing_is_left_the_next_work_begins_at_0() -> None:
    case = Case(two_moves())
    case.look(0.0, {0: 1000, 1: 1000})
    case.end(0)
    case.end(1)
    assert (case.work().ended, case.work().share, case.work().done_ms) == (2, 1.0, 0)
    case.look(5.0, {})
    assert (case.work().moves, case.work().bytes_total, case.work().done_ms) == (0, 0, 0)
    assert case.tracker.is_idle


def test_fg_2_a_replica_that_is_placed_elsewhere_before_there_is_a_log_copies_nothing() -> None:
    case = Case(two_moves())
    case.cluster.topics["t"].partitions[2] = at_rest(2)
    names = (catalogue.MOVE_STARTED, catalogue.MOVE_COMPLETED)
    list(case.tracker.ended([Event(name, "t", 2, target=(2,), original=(3,)) for name in names], case.cluster))
    case.look(0.0, {0: 250, 1: 250})
    assert (case.work().ended, case.work().bytes_total, case.work().share) == (1, 2000, 0.25)


def test_fg_2_what_ended_before_it_was_measured_makes_the_total_unknown_and_not_small() -> None:
    case = Case(two_moves())
    case.end(0)
    case.look(0.0, {1: 250})
    work = case.work()
    assert (work.ended, work.moves_without_size, work.bytes_total, work.bytes_copied, work.share) == (
        1, 1, None, None, None,
    )  # fmt: skip
    assert work.bytes_left == 750, "what is left is known"
    [group] = case.status().groups or ()
    assert (group.ended, group.bytes_total, group.share) == (1, None, None)
    case.end(1)
    assert (case.work().bytes_total, case.work().bytes_left, case.work().done_ms) == (None, 0, 0)


def test_fg_2_bytes_of_a_former_move_are_no_part_of_what_begins_before_the_next_sample() -> None:
    """A cancelled move had copied 1 byte; the next moves are over, or under way, before a sample sees that."""
    case = Case({0: move((1,), (2,))})
    case.look(0.0, {0: 1})
    case.end(0, catalogue.MOVE_CANCELLED)
    assert case.work().bytes_total == 1
    case.cluster.topics["t"].partitions[0] = move((1,), (2,))
    case.cluster.moving["t"] = {0}
    list(case.tracker.ended([Event(catalogue.MOVE_STARTED, "t", 0, 78, "rpc")], case.cluster))
    assert (case.work().ended, case.work().bytes_total) == (0, None)
    case.look(5.0, {0: 200})
    assert (case.work().ended, case.work().bytes_total, case.work().bytes_copied) == (0, 1000, 200)


def test_fg_2_a_move_that_copies_nothing_needs_no_measure() -> None:
    case = Case(two_moves())
    case.look(0.0, {0: 0, 1: 0})
    end = Event(catalogue.MOVE_COMPLETED, "u", 0, 5, "rpc", target=(2, 1), original=(1, 2))
    list(case.tracker.ended([end], case.cluster))
    assert (case.work().ended, case.work().bytes_total) == (1, 2000)


def test_sv_11_a_move_that_ends_while_a_sample_is_taken_is_counted_once() -> None:
    case = Case({one: move((1,), (2,)) for one in range(2)})
    case.look(0.0, dict.fromkeys(range(2), 500))
    steps = case.tracker.update(5.0, case.cluster, {}, [], {})
    next(steps)  # it has seen the first one
    case.end(0)
    run(steps)
    assert (case.work().ended, case.status().totals.in_flight) == (1, 1)  # type: ignore[union-attr]
    assert (case.tracker.sums.all.moves, case.tracker.sums.all.total) == (1, 1000)


def test_sv_11_a_move_that_ends_while_a_sample_is_taken_leaves_the_sums_with_what_it_counted_there() -> None:
    case = Case(two_moves())
    case.look(0.0, {0: 300, 1: 500})
    answers = {one: [SampledLogDir("/d", sizes={"t": {0: 1000, 1: 1000}})] for one in (1, 2)}
    next(case.tracker.update(5.0, case.cluster, answers, [], {}))
    case.end(0, catalogue.MOVE_CANCELLED)
    [group] = case.status().groups or ()
    assert (case.tracker.sums.all.total, case.tracker.sums.all.copied) == (1000, 500)
    assert (group.in_flight, group.bytes_total, group.bytes_copied) == (1, 2000, 1500)


def test_sv_11_a_move_that_begins_and_ends_between_two_samples_is_no_longer_among_those_that_wait() -> None:
    case = Case({0: move((1,), (2,))}, waiting=2)
    case.look(0.0, {0: 200})
    before = case.work()
    run(case.cluster.queue.put(QueuePart("/q", "/q", {("w", 1): WaitingMove(MoveTerms((2,), "rpc", PLAN))})))
    asked = Event(catalogue.MOVE_STARTED, "w", 0, 90, "rpc", reason=PLAN, target=(2,), original=(1,))
    end = replace(asked, event=catalogue.MOVE_COMPLETED, copied=500)
    assert len(list(case.tracker.ended([asked, end], case.cluster))) == 2
    work = case.work()
    assert (before.moves, before.bytes_total, before.bytes_left) == (3, 2000, 1800)
    assert (work.moves, work.ended, work.bytes_total, work.bytes_left) == (3, 1, 2000, 1300)


def test_sv_11_the_end_of_a_move_takes_no_other_move_of_its_partition_out_of_the_sums() -> None:
    """The end is reported after a sample that has seen the next move."""
    case = Case({0: move((1,), (2,))})
    case.look(0.0, {0: 500})
    first = case.cluster.topics["t"].partitions[0].move
    assert first is not None
    second = move((2,), (3,), leader=2)
    assert second.move is not None
    case.cluster.topics["t"].partitions[0] = replace(second, move=replace(second.move, id=78))
    sample(case.tracker, case.cluster, 5.0, {2: {"t": {0: 1000}}, 3: {"t": {0: 300}}})
    assert list(case.tracker.ended([Event(catalogue.MOVE_COMPLETED, "t", 0, first.id, "rpc")], case.cluster))
    assert (case.work().moves, case.work().ended, case.work().bytes_total, case.work().bytes_left) == (2, 1, 2000, 700)


def test_sv_11_a_move_that_ends_and_is_followed_by_another_while_a_sample_is_taken_is_counted_once() -> None:
    case = Case({one: move((1,), (2,)) for one in range(2)})
    case.look(0.0, dict.fromkeys(range(2), 500))
    steps = case.tracker.update(5.0, case.cluster, {}, [], {})
    next(steps)  # it has seen the first one
    case.end(0)
    second = move((2,), (3,), leader=2)
    assert second.move is not None
    case.cluster.topics["t"].partitions[0] = replace(second, move=replace(second.move, id=78))
    case.cluster.moving["t"].add(0)
    run(steps)
    assert (case.tracker.sums.all.moves, case.tracker.sums.all.ended) == (1, 1)


def test_sv_11_a_move_that_has_begun_since_the_sample_is_not_done_when_the_one_before_it_was() -> None:
    """One move at a time: the first lacks 10 bytes at 50 a second, and the next has 500 to copy."""
    case = Case({0: move((1,), (2,))}, waiting=1)
    case.look(0.0, {0: 490})
    case.look(10.0, {0: 990})
    case.end(0)
    [name] = case.cluster.queue.topics["w"]
    run(case.cluster.queue.put(QueuePart("/q", "/q", {})))
    case.cluster.topics["w"].partitions[name] = move((1,), (2,))
    case.cluster.moving["w"] = {name}
    assert (case.status().totals.waiting, case.work().bytes_left) == ({}, 500)  # type: ignore[union-attr]
    assert case.work().done_ms == 10_200, "as all that was left at the sample"


def by_alice(name: str) -> dict[str, Requester]:
    return {name: Requester("User:alice from 10.0.0.7", "User:alice", address="10.0.0.7")}


def test_sv_11_the_client_that_has_disabled_reassignments_is_named_in_full_only() -> None:
    case = Case(two_moves())
    write(case.cluster, settings={ENABLED: "false"}, settings_by=by_alice(ENABLED))
    [problem] = [one for one in case.status().problems if one.kind == "disabled"]
    assert problem.text.startswith(f"Reassignments are disabled by User:alice from 10.0.0.7: {ENABLED}=false")
    assert case.status().disabled_who == "User:alice from 10.0.0.7"
    counts = status_of(server_of(term_of(case.cluster)), at=1, version="1", full=False)
    assert counts.disabled_who is None
    assert b"alice" not in msgspec.json.encode(counts)
    write(case.cluster, disabled_by_znode=True)
    [problem] = [one for one in case.status().problems if one.kind == "disabled"]
    assert problem.text.startswith("Reassignments are disabled: /admin/reassign_cancel exists")
    assert case.status().disabled_who == "znode /admin/reassign_cancel"


def test_sv_11_a_cluster_that_takes_nothing_is_a_problem_whose_words_are_shown_in_full_only() -> None:
    case = Case(two_moves())
    case.cluster.soft.takes_nothing = why = f"{TAKES_NOTHING}, OOPS: ask User:alice"
    status = case.status()
    [problem] = [one for one in status.problems if one.kind == "disabled"]
    assert problem.text == f"Reassignments are disabled: {why}. Moves in flight go on"
    assert (status.enabled, status.disabled_by, status.disabled_who) == (False, why, None)
    counts = status_of(server_of(term_of(case.cluster)), at=1, version="1", full=False)
    assert (counts.enabled, counts.disabled_by) == (False, TAKES_NOTHING)
    assert b"alice" not in msgspec.json.encode(counts)


def test_sv_11_a_pause_of_healing_is_one_problem_with_who() -> None:
    case = Case(two_moves())
    write(case.cluster, settings={PAUSED: "true"}, settings_by=by_alice(PAUSED))
    healing = HealingStatus(60_000, True, f"healing is paused ({PAUSED}=true)", [], 1, 0)
    status = case.status(healing=healing)
    [problem] = [one for one in status.problems if one.kind.startswith("healing")]
    assert problem.kind == "healing_paused"
    assert problem.text.startswith("Self-healing is paused by User:alice from 10.0.0.7: no broker is healed")
    assert status.healing is not None
    assert status.healing.paused_who == "User:alice from 10.0.0.7"


def test_sv_11_configs_of_brokers_with_odd_names_do_not_hide_the_status() -> None:
    case = Case({0: at_rest(1)})
    for name in ("3", "²", "9" * 5000, "<default>"):
        case.cluster.broker_configs[name] = {LEADER_RATE: "5"}
    texts = [one.text for one in case.status().problems if one.kind == "needless_throttles"]
    verify = "kafka-reassign --bootstrap-server HOST:PORT --verify --reassignment-json-file FILE"
    cure = f"With the file of the moves this clears it: {verify}"
    assert texts == [f"Nothing moves, and broker 3 is throttled by a config that no move needs. {cure}"]


def test_kr_6_throttles_that_others_have_removed_again_are_a_problem_with_the_command_that_sets_them_again() -> None:
    case = Case(two_moves())
    of_topic, of_broker = Removed("secret", None, "0:1", 100), Removed(None, 3, "to send", 100)

    def text(*removed: Removed, full: bool = True) -> str:
        term = term_of(case.cluster, case.tracker)._replace(removed=removed)
        found = status_of(server_of(term), at=0, version="", full=full).problems
        [problem] = [one for one in found if one.kind == "removed_throttles"]
        return problem.text

    begin, end = "Moves go on without throttles that somebody else has removed again: ", ". This sets them again: "
    throttle = "kafka-reassign throttle --bootstrap-server HOST:PORT"
    assert text(of_topic, of_broker) == f"{begin}topic secret (0:1); broker 3 (to send){end}{throttle} 100B"
    assert text(of_topic, of_broker, full=False) == f"{begin}broker 3 (to send); 1 topic{end}{throttle} 100B"
    assert text(of_topic, of_broker._replace(rate=5)).endswith(f"{end}{throttle} 5B")


def test_sv_11_a_move_that_has_copied_all_says_which_replica_it_waits_for() -> None:
    case = Case({0: move((1,), (2,))})
    case.look(0.0, {0: 0})
    case.look(5.0, {0: 1000})
    [one] = listed(term_of(case.cluster, case.tracker), MoveFilter()).moves
    assert (one.share, one.waits_for, one.remaining_ms) == (1.0, "replica 2 to join the ISR", None)
    assert case.work().no_estimate == "all is copied, and replicas still have to join the ISR"
    partition = case.cluster.topics["t"].partitions[0]
    case.cluster.topics["t"].partitions[0] = replace(partition, isr=(1, 2))
    [one] = listed(term_of(case.cluster, case.tracker), MoveFilter()).moves
    assert (one.waits_for, one.remaining_ms) == (None, 0)


def test_sv_11_where_sizes_do_not_show_what_is_left_the_rate_is_shown_and_the_rest_is_null() -> None:
    case = Case({0: move((1,), (2,))})
    case.cluster.topic_configs["t"] = {"cleanup.policy": "compact"}
    for now, held in ((0.0, 900), (10.0, 1000), (20.0, 1100)):
        case.look(now, {0: held})
        [one] = listed(term_of(case.cluster, case.tracker), MoveFilter()).moves
        assert (one.bytes_total, one.bytes_copied, one.share, one.remaining_ms, one.copied) == (
            1000,
            None,
            None,
            None,
            {},
        )
        assert (one.stalled, one.waits_for) == (None, None)
        assert (case.work().share, case.work().bytes_left) == (None, None)
    assert one.rate == 10
    assert case.work().no_estimate == "the bytes of 1 move are not known"
    case.end(0)
    assert case.work().bytes_copied == 1000, "what has ended was copied whole"


def test_sv_11_an_estimate_that_cannot_be_made_has_its_reason() -> None:
    case = Case(two_moves(), waiting=1)
    assert case.work().no_estimate == "no broker has reported yet how much is copied"
    case.look(0.0, {0: 10, 1: 10})
    assert case.work().no_estimate == "how fast the moves copy is not known yet"
    case.look(10.0, {0: 10, 1: 10})
    assert case.work().no_estimate == "nothing is being copied"
    case.look(70.0, {0: 10, 1: 10})
    assert case.work().no_estimate == "2 moves are stalled"
    write(case.cluster, disabled_by_znode=True)
    assert case.work().no_estimate == "1 waiting move does not start while reassignments are disabled"


@pytest.mark.parametrize(("paused", "held_back", "word"), [(True, None, "paused"), (False, "brake", "held back")])
def test_sv_11_repairs_that_are_paused_or_held_back_have_no_estimate(
    paused: bool, held_back: str | None, word: str
) -> None:
    case = Case({0: move((1,), (2,))}, waiting=1, route=HEAL)
    case.look(0.0, {0: 0})
    case.look(10.0, {0: 100})
    assert case.work().done_ms == 140_000
    healing = HealingStatus(60_000, paused, held_back, [], 1, 0)
    assert case.work(healing=healing).no_estimate == f"repairs wait while self-healing is {word}"


def test_sv_11_a_move_to_a_dead_broker_has_no_estimate_whether_it_waits_or_is_in_flight() -> None:
    case = Case({0: move((1,), (2,))}, waiting=2)
    case.look(0.0, {0: 0})
    case.look(10.0, {0: 100})
    assert case.work().done_ms is not None
    del case.cluster.brokers[2]
    assert (case.work().done_ms, case.work().no_estimate) == (None, "3 moves wait for broker 2, which is dead")
    sample(case.tracker, case.cluster, 15.0, {1: {"t": {0: 1000}}})
    [one] = [found for found in listed(term_of(case.cluster, case.tracker), MoveFilter()).moves if found.topic == "t"]
    assert (one.waits_for, one.remaining_ms) == ("broker 2, which is dead", None)
    case.cluster.brokers[2] = broker(2)
    assert case.work().no_estimate != "3 moves wait for broker 2, which is dead"


def test_sv_11_a_move_that_only_removes_replicas_does_not_say_that_replicas_have_to_join() -> None:
    """Broker 2, which stays, has fallen out of the ISR."""
    case = Case({0: replace(move((1, 2, 3), (1, 2)), isr=(1, 3))})
    case.look(0.0, {})
    case.look(5.0, {})
    assert case.work().no_estimate == "1 move only removes replicas: those that stay are not all in the ISR"
    [one] = listed(term_of(case.cluster, case.tracker), MoveFilter()).moves
    assert one.waits_for == "replica 2 to be in the ISR again"
