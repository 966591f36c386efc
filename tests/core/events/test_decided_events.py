"""Events of decisions: their names, requesters and ids."""

from collections import deque

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.events.cluster_news import ClusterNews
from kafka_reassign_rpc.core.events.decided_events import (
    LONGEST_ERROR,
    REFUSALS,
    AssignmentDecision,
    Event,
    Refusals,
    durable_notes,
    events_of,
)
from kafka_reassign_rpc.core.failover import fail_over
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment, KafkaError, NoReassignmentInProgress
from kafka_reassign_rpc.core.queue import queue_admission
from kafka_reassign_rpc.core.round.round_view import PartitionChange, RoundView, TopicDeletionStarted
from kafka_reassign_rpc.core.state import requesters
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, RPC, MoveRecord, MoveTerms, Partition
from kafka_reassign_rpc.core.state.queue_entries import BatchEntry, BatchZnode, QueuePart, WaitingMove
from kafka_reassign_rpc.core.state.requesters import Requester
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.replay import Durable, ReplayedChanges, replay
from kafka_reassign_rpc.core.writers.topic_writes import put_partition
from kafka_reassign_rpc.zookeeper.znode_decoder import decode_requester, encode_requester
from tests.core.build import TOPIC, broker, cluster, decided, moving, not_moving, view, write

ALICE = requesters.client("User:alice", "admin-1", "10.0.0.7")
BOB, CAROL, DAVE = map(Requester, ("bob", "carol", "dave"))


def seen(made: list[Event]) -> list[tuple[str, str | None, int | None]]:
    return [(event.event, event.who, event.id) for event in made]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (not_moving(1, 2), moving((1, 2), (3, 2)), [("move.started", ALICE.who, 400)]),
        (
            not_moving(1, 2),
            not_moving(2, 1),
            [("move.started", ALICE.who, None), ("move.completed", ALICE.who, None)],
        ),
        (moving((1, 2), (3, 2)), moving((1, 2), (4, 2)), [("move.retargeted", ALICE.who, 400)]),
        (moving((1, 2), (3, 2)), not_moving(3, 2), [("move.completed", None, 400)]),
        (moving((1, 2), (3, 2)), not_moving(1, 2), [("move.cancelled", ALICE.who, 400)]),
        (
            moving((1, 2), (3, 2)),
            not_moving(2),
            [("move.retargeted", ALICE.who, 400), ("move.completed", ALICE.who, 400)],
        ),
        (moving((1, 2), (3, 2), recorded=False), not_moving(2, 1), [("move.cancelled", ALICE.who, None)]),
    ],
)
def test_sv_7_the_partition_before_and_after_a_decision_gives_the_event_its_name(
    before: Partition, after: Partition, expected: list[tuple[str, str | None, int | None]]
) -> None:
    assert seen(list(events_of(deque([AssignmentDecision(TOPIC, 0, before, after, ALICE)]), {}))) == expected


def test_fg_5_the_end_of_a_move_names_who_had_asked_for_it_and_who_has_ended_it() -> None:
    """However many controllers there were in between: the record of the move has it."""
    asked = moving((1, 2), (3, 4))
    assert asked.move is not None
    asked = replace(asked, move=replace(asked.move, terms=replace(asked.move.terms, by=ALICE)))

    def told(after: Partition, by: Requester) -> list[tuple[str, str | None, str | None]]:
        found = events_of(deque([AssignmentDecision(TOPIC, 0, asked, after, by)]), {})
        return [(event.event, event.principal or event.who, event.requested_by) for event in found]

    assert told(not_moving(3, 4), requesters.CONTROLLER) == [("move.completed", "User:alice", None)]
    assert told(not_moving(1, 2), BOB) == [("move.cancelled", "bob", ALICE.who)]
    assert told(not_moving(1, 2), ALICE) == [("move.cancelled", "User:alice", None)]
    assert told(moving((1, 2), (5, 6)), BOB) == [("move.retargeted", "bob", ALICE.who)]
    assert told(not_moving(2), BOB) == [("move.retargeted", "bob", ALICE.who), ("move.completed", "bob", None)]

    assert asked.move is not None
    healed = replace(asked, move=replace(asked.move, terms=replace(asked.move.terms, by=None, route=HEAL)))
    [event] = events_of(deque([AssignmentDecision(TOPIC, 0, healed, not_moving(3, 4), requesters.CONTROLLER)]), {})
    assert event.who == "controller"

    long = requesters.client("User:CN=" + "x" * 1000, "admin", "10.0.0.7")
    stored = decode_requester(bytes(encode_requester(long)))
    asked = replace(asked, move=replace(asked.move, terms=replace(asked.move.terms, by=stored)))
    assert told(not_moving(1, 2), long) == [("move.cancelled", long.principal, None)], "he is the same after a failover"
    twin = long._replace(address="10.0.0.8")
    assert told(not_moving(1, 2), twin)[0][2] is not None


def test_fg_5_a_move_remembers_who_has_given_its_target_even_if_it_has_waited() -> None:
    here = view(not_moving(1, 2))
    for target, by in (((3, 2), ALICE), ((4, 2), BOB)):
        decide(here, target, by)
        found = here.get(TOPIC, 0)
        assert found is not None
        assert found.move is not None
        assert found.move.terms.by == by
    decide(here, None)
    decide(here, (5, 2), requesters.CONTROLLER)
    found = here.get(TOPIC, 0)
    assert found is not None
    assert found.move is not None
    assert found.move.terms.by is None, "the controller's own moves need no name"


def test_fg_5_the_client_that_withdraws_a_waiting_move_does_not_hide_who_has_queued_it() -> None:
    here = view(not_moving(1, 2))
    here.by = ALICE
    name = TopicPartition(TOPIC, 0)
    queue_admission.append(here, name, WaitingMove(MoveTerms((3, 2))))
    here.by = BOB
    queue_admission.withdraw(here, name)
    last = here.notes[-1]
    assert isinstance(last, Event)
    assert (last.event, last.who, last.requested_by) == ("move.withdrawn", "bob", ALICE.who)


def test_sv_4_topics_that_are_left_alone_are_reported_once_and_again_when_they_are_taken_up() -> None:
    news, here = ClusterNews(), cluster(not_moving(1, 2))

    def told() -> list[tuple[str, str | None, str | None]]:
        return [(event.event, event.topic, event.reason) for event in news.of(here)]

    here.unreadable = {"a": "no JSON", "b": "a twin"}
    assert told() == [("topic.left_alone", "a", "no JSON"), ("topic.left_alone", "b", "a twin")]
    assert told() == []
    here.unreadable = {"a": "a twin"}
    assert told() == [("topic.taken_up", "b", None), ("topic.left_alone", "a", "a twin")]
    here.unreadable = {f"many-{one}": "no JSON" for one in range(150)}
    assert [len(told()) for _ in range(3)] == [1 + 100, 50, 0]


def test_fg_5_switches_name_who_has_set_them_wherever_the_controller_has_read_that() -> None:
    news, here = ClusterNews(), cluster(not_moving(1, 2))
    enabled, paused = "partition.reassignments.enabled", "self.healing.paused"

    def told() -> list[tuple[str, str | None]]:
        return [(event.event, event.principal or event.who) for event in news.of(here)]

    write(here, settings={enabled: "false", paused: "true"}, settings_by={enabled: ALICE, paused: BOB})
    assert told() == [("reassignments.disabled", "User:alice"), ("heal.paused", "bob")]
    write(here, settings={}, settings_by={enabled: CAROL, paused: DAVE})
    assert told() == [("reassignments.enabled", "carol"), ("heal.resumed", "dave")]
    write(here, disabled_by_znode=True)
    assert told() == [("reassignments.disabled", "znode /admin/reassign_cancel")]
    write(here, disabled_by_znode=False)
    assert told() == [("reassignments.enabled", None)], "who has deleted a znode is not known"
    write(here, broker_configs={"<default>": {paused: "true"}})
    assert told() == [("heal.paused", None)], "in the old place it has no name, whoever deleted it in the new one"


def test_sv_7_the_event_of_a_completed_move_has_what_it_has_copied_and_no_other_event_has() -> None:
    before = moving((1, 2), (3, 4))
    (completed,) = events_of(deque([AssignmentDecision(TOPIC, 0, before, not_moving(3, 4), ALICE, 500)]), {})
    assert (completed.event, completed.copied) == ("move.completed", 1000)
    (cancelled,) = events_of(deque([AssignmentDecision(TOPIC, 0, before, not_moving(1, 2), ALICE, 500)]), {})
    assert (cancelled.event, cancelled.copied) == ("move.cancelled", None)
    (unknown,) = events_of(deque([AssignmentDecision(TOPIC, 0, before, not_moving(3, 4), ALICE)]), {})
    assert unknown.copied is None


def test_sv_7_an_event_of_a_move_has_its_id_target_and_replicas() -> None:
    (started,) = events_of(deque([AssignmentDecision(TOPIC, 3, not_moving(1, 2), moving((1, 2), (3, 2)), ALICE)]), {})
    assert started == Event(
        "move.started",
        TOPIC,
        3,
        400,
        "rpc",
        target=(3, 2),
        original=(1, 2),
        replicas=(3, 2, 1),
        started=1_700_000_000_000,
    ).asked_by(ALICE)
    (back,) = events_of(deque([AssignmentDecision(TOPIC, 3, moving((1, 2), (3, 2)), not_moving(1, 2), ALICE)]), {})
    assert (back.target, back.original, back.replicas) == ((3, 2), (1, 2), (1, 2))


@pytest.mark.parametrize(("reason", "expected"), [("heal broker 3", "heal broker 3"), ("", None)])
def test_sv_7_a_move_is_recorded_with_its_route_and_the_reason_that_was_given_for_it(
    reason: str, expected: str | None
) -> None:
    moves = moving((1, 2), (3, 2))
    assert moves.move is not None
    moves = replace(moves, move=replace(moves.move, terms=replace(moves.move.terms, route=HEAL, reason=reason)))
    steps = [(not_moving(1, 2), moves), (moves, not_moving(3, 2)), (moves, not_moving(1, 2))]
    events = list(events_of(deque([AssignmentDecision(TOPIC, 0, before, after, ALICE) for before, after in steps]), {}))
    assert [event.event for event in events] == ["move.started", "move.completed", "move.cancelled"]
    assert {(event.route, event.reason) for event in events} == {(HEAL, expected)}


def decide(here: RoundView, target: tuple[int, ...] | None, by: Requester = ALICE) -> KafkaError | None:
    here.by = by
    error, changes = decided(here, TopicPartition(TOPIC, 0), target)
    for change in changes:
        here.add(change)
    return error


def test_sv_7_every_decision_of_a_round_has_an_event_with_its_requester_and_id() -> None:
    here = view(not_moving(1, 2))
    decide(here, (3, 2))
    decide(here, (4, 2), by=BOB)
    decide(here, None, by=CAROL)
    decide(here, (5, 2), by=DAVE)
    applied = ReplayedChanges()
    for _ in replay(
        here.cluster,
        here,
        Durable({}, {TopicPartition(TOPIC, 0): 5}, {TopicPartition(TOPIC, 0): (77, 1)}, {}),
        9,
        applied,
    ):
        pass
    assert seen(list(events_of(deque(here.notes), applied.moves))) == [
        ("move.started", ALICE.who, 77),
        ("move.retargeted", "bob", 77),
        ("move.cancelled", "carol", 77),
        ("move.started", "dave", 77),
    ]


def test_sv_7_changes_of_leader_and_isr_alone_have_no_event() -> None:
    here = view(not_moving(1, 2), moving((1, 2), (3, 2)))
    for index in (0, 1):
        stands = here.get(TOPIC, index)
        assert stands is not None
        here.add(PartitionChange(TOPIC, index, replace(stands, leader=2, isr=(2,), leader_epoch=9)))
    assert here.notes == []
    assert decide(here, (1, 2)) is None
    assert here.notes == [], "it stands already"


def test_sv_7_the_deletion_of_a_topic_is_reported_with_its_requester() -> None:
    here = view(not_moving(1, 2))
    here.by = ALICE
    here.add(TopicDeletionStarted(TOPIC))
    here.report(Event("entry.refused", TOPIC, 0, who="znode /x"))
    assert list(events_of(deque(here.notes), {})) == [
        Event("topic.deleted", TOPIC).asked_by(ALICE),
        Event("entry.refused", TOPIC, 0, who="znode /x"),
    ]


def test_sv_7_of_a_lost_commit_only_durable_decisions_are_reported() -> None:
    here = view(not_moving(1, 2))
    decide(here, (3, 2))
    unchanged = here.cluster
    assert list(durable_notes(here.notes, unchanged)) == []

    durable = cluster(replace(moving((1, 2), (3, 2)), move=MoveRecord(MoveTerms((3, 2)), (1, 2), 88)))
    assert seen(list(events_of(deque(durable_notes(here.notes, durable)), {}))) == [("move.started", ALICE.who, 88)]

    decide(here, None)
    assert list(durable_notes(here.notes, durable)) == [], "half of a round: the cancel is decided again"
    assert list(durable_notes(here.notes, unchanged)) == [], "nothing is there of it"
    put_partition(unchanged, unchanged.topics[TOPIC], 0, replace(not_moving(1, 2, epoch=7), pending_deletion=(3,)))
    assert seen(list(events_of(deque(durable_notes(here.notes, unchanged)), {}))) == [
        ("move.started", ALICE.who, None),
        ("move.cancelled", ALICE.who, None),
    ]
    assert list(durable_notes(here.notes, Cluster())) == [], "the topic is gone"


def test_sv_7_after_a_lost_commit_the_record_shows_whether_a_move_has_ended() -> None:
    standing_now = moving((1, 2), (3, 2))
    here = view(standing_now)
    decide(here, None)
    assert list(durable_notes(here.notes, cluster(standing_now))) == []
    as_read = replace(standing_now, replicas=(1, 2, 3), adding=(), removing=(3,), move=None, leader_epoch=7)
    assert seen(list(events_of(deque(durable_notes(here.notes, cluster(as_read))), {}))) == [
        ("move.cancelled", ALICE.who, 400)
    ]


def test_sv_7_a_completion_that_a_failover_repeats_is_not_reported_again() -> None:
    here = view(moving((1, 2), (3, 2), isr=(3, 2), recorded=False))
    for change in fail_over(here, TOPIC, 0):
        here.add(change)
    after = here.get(TOPIC, 0)
    assert after is not None
    assert not after.is_moving
    assert here.notes == []


def test_sv_7_an_entry_that_left_with_a_lost_commit_is_reported() -> None:
    refused = Event("entry.refused", TOPIC, 0, who="znode", reason="no")
    here = cluster(not_moving(1, 2))
    here.batch = BatchZnode({TopicPartition(TOPIC, 0): BatchEntry((3, 4))})
    assert list(durable_notes([refused], here)) == [], "it will be refused again"
    here.batch = None
    assert list(durable_notes([refused], here)) == [refused]
    assert list(durable_notes([Event("entry.refused", reason="entry 4"), Event("batch.cancelled")], here)) == []


def test_sv_7_a_move_that_joins_or_leaves_the_queue_is_reported_once() -> None:
    here = view(not_moving(1, 2))
    name, first, second = (
        TopicPartition(TOPIC, 0),
        WaitingMove(MoveTerms((3, 2), RPC, "why")),
        WaitingMove(MoveTerms((4, 2), HEAL)),
    )
    here.by = ALICE
    assert queue_admission.append(here, name, first) is None
    assert queue_admission.append(here, name, first) is None
    assert queue_admission.append(here, name, second) is None
    assert queue_admission.withdraw(here, name)
    assert not queue_admission.withdraw(here, name)

    def event(what: str, move: WaitingMove) -> Event:
        asked = Event(
            f"move.{what}", *name, None, move.terms.route, reason=move.terms.reason or None, target=move.terms.target
        )
        return asked.asked_by(ALICE)

    assert list(events_of(deque(here.notes), {})) == [
        event("waiting", first),
        event("withdrawn", first),
        event("waiting", second),
        event("withdrawn", second),
    ]


def test_sv_7_of_a_lost_commit_durable_changes_of_the_queue_are_reported() -> None:
    name, move = TopicPartition(TOPIC, 0), WaitingMove(MoveTerms((3, 2)))
    here = view(not_moving(1, 2))
    queue_admission.append(here, name, move)
    assert list(durable_notes(here.notes, here.cluster)) == [], "it joins when that is decided again"
    for _ in here.cluster.queue.put(QueuePart("/q", "/q", {name: move})):
        pass
    assert list(durable_notes(here.notes, here.cluster)) == here.notes
    again = RoundView(here.cluster)
    queue_admission.append(again, name, move)
    assert again.notes == []

    queue_admission.withdraw(again, name)
    assert list(durable_notes(again.notes, here.cluster)) == [], "it leaves when that is decided again"
    for _ in here.cluster.queue.remove("/q"):
        pass
    assert list(durable_notes(again.notes, here.cluster)) == again.notes


def test_sv_7_many_refusals_of_one_request_are_a_few_events_and_one_with_the_number_of_the_others() -> None:
    refusals = Refusals()
    errors = (InvalidReplicaAssignment("not alive" * 100_000), NoReassignmentInProgress(), NoReassignmentInProgress())
    for index in range(99_000):
        refusals.add(f"t{index}", 0, None if index % 3 else (9,), errors[index % 3])
    *first, others = refusals.events()
    assert [event.topic for event in first] == [f"t{index}" for index in range(REFUSALS)]
    assert [event.target for event in first[:2]] == [(9,), None]
    assert others.topic is None
    assert others.count == 99_000 - REFUSALS
    reason = others.reason or ""
    assert len(reason) < LONGEST_ERROR + 300
    assert reason.startswith(
        "98990 more partitions: 65994 NO_REASSIGNMENT_IN_PROGRESS, 32996 INVALID_REPLICA_ASSIGNMENT; the first of them"
        " t10-0: "
    )


def test_sv_7_a_request_that_is_refused_in_a_few_partitions_has_an_event_for_each() -> None:
    refusals = Refusals()
    assert list(refusals.events()) == []
    for index in range(REFUSALS):
        refusals.add("t", index, (9,), InvalidReplicaAssignment("not alive"))
    assert list(refusals.events()) == [
        Event("move.refused", "t", index, reason="INVALID_REPLICA_ASSIGNMENT: not alive", target=(9,))
        for index in range(REFUSALS)
    ]


def test_sv_7_changes_of_brokers_and_disabled_reassignments_are_reported_once() -> None:
    news = ClusterNews()
    here = cluster(not_moving(1, 2), live=(1, 2, 3))
    assert list(news.of(here)) == []
    here.brokers = {1: broker(1), 3: broker(3, epoch=900), 4: broker(4)}
    write(here, disabled_by_znode=True)
    made = list(news.of(here))
    assert [(event.event, event.broker) for event in made] == [
        ("broker.lost", 2),
        ("broker.returned", 3),
        ("broker.returned", 4),
        ("reassignments.disabled", None),
    ]
    assert made[-1].reason is not None
    assert "/admin/reassign_cancel exists" in made[-1].reason
    here.brokers = dict(here.brokers)
    assert list(news.of(here)) == []
    write(here, disabled_by_znode=False)
    assert [event.event for event in news.of(here)] == ["reassignments.enabled"]
    write(here, broker_configs={"<default>": {"self.healing.paused": "TRUE"}})
    assert [event.event for event in news.of(here)] == ["heal.paused"]
    write(here, broker_configs={})
    assert [event.event for event in news.of(here)] == ["heal.resumed"]
