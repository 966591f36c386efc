"""Which repairs need approval, and what it takes to read a setting that should say so."""

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.healing import failed_brokers
from kafka_reassign_rpc.core.healing.failed_brokers import LostReplicas
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.settings.healing_settings import APPROVAL, HealingSettings
from kafka_reassign_rpc.core.settings.reassignment_settings import ReassignmentSettings
from kafka_reassign_rpc.core.settings.settings_in_force import derived
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import HEAL, QUEUE, MoveTerms
from kafka_reassign_rpc.core.state.queue_entries import Held, QueuePart, WaitingMove
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, Requester, client
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.core.build import TOPIC, cluster, not_moving
from tests.core.queue.queue_rounds import ROOT, admitted, durable, through
from tests.tables import for_each

NOW = 1_790_000_000_000
REQUIRED = HealingSettings(approval="required")
ALICE = client("User:alice", "ops", "10.0.0.7")
WAITING = WaitingMove(MoveTerms((1, 3), QUEUE))
REPAIR = WaitingMove(MoveTerms((1, 3), HEAL, "heal brokers 2, 9"), unapproved=NOW)


@pytest.mark.parametrize(
    ("settings", "by", "adopted", "since"),
    [
        (HealingSettings(), CONTROLLER, None, None),
        (REQUIRED, CONTROLLER, None, NOW),
        (REQUIRED, ALICE, None, None),
        (REQUIRED, Requester("me"), None, None),
        (REQUIRED, CONTROLLER, WAITING, None),
        (REQUIRED, CONTROLLER, replace(WAITING, held=Held()), NOW),
    ],
)
def test_dh_8_what_self_healing_queues_by_itself_needs_approval_and_what_a_user_wants_does_not(
    settings: HealingSettings, by: Requester, adopted: WaitingMove | None, since: int | None
) -> None:
    assert failed_brokers.needed_since(settings, by, adopted, NOW) == since


@for_each(
    ("move", "brokers", "awaits"),
    [
        (REPAIR, None, True),
        (REPAIR, {2}, True),
        (REPAIR, {9, 5}, True),
        (REPAIR, {5}, False),
        (REPAIR, set(), False),
        (replace(REPAIR, unapproved=0), {2}, True),
        (replace(REPAIR, unapproved=None), None, False),
        (replace(REPAIR, terms=MoveTerms((1, 3), QUEUE)), None, True),
    ],
)
def test_dh_8_an_approval_takes_the_repairs_of_the_named_brokers(
    move: WaitingMove, brokers: set[int] | None, awaits: bool
) -> None:
    assert failed_brokers.awaits(move, brokers) is awaits


@pytest.mark.parametrize(
    ("text", "value", "problems"),
    [
        ("required", "required", 0),
        (" Required ", "required", 0),
        ("none", "none", 0),
        ("requird", "required", 1),
        ("", "required", 1),
        ("false", "required", 1),
    ],
)
def test_dh_8_a_value_that_cannot_be_read_is_taken_for_required(text: str, value: str, problems: int) -> None:
    for settings, defaults in (({APPROVAL: text}, {}), ({}, {APPROVAL: text})):
        found = derived((settings, defaults))
        assert (found.healing.approval, len(found.healing_problems)) == (value, problems)
    strict = ReassignmentSettings(healing=REQUIRED)
    assert derived(({APPROVAL: "none"}, {APPROVAL: text}), strict).healing.approval == "none"


def waiting_repair() -> Cluster:
    made = cluster(not_moving(1, 9))
    move = WaitingMove(MoveTerms((1, 3), HEAL, "heal broker 9"), unapproved=NOW)
    through(made.queue.put(QueuePart(ROOT, ROOT, {(TOPIC, 0): move})))
    return made


def started(in_cluster: Cluster) -> list[int]:
    view = admitted(in_cluster)
    durable(in_cluster, view)
    return [name.partition for name in view.partitions]


def test_dh_8_an_unapproved_move_starts_only_after_its_approval_and_after_its_release_if_it_is_held_too() -> None:
    made, name = waiting_repair(), TopicPartition(TOPIC, 0)
    assert (started(made), made.queue.unapproved) == ([], 1)
    for held, unapproved in ((Held(), NOW), (Held(), None), (None, NOW), (None, None)):
        view, place = RoundView(made), made.queue.place(*name)
        assert place is not None
        now = replace(place.move, held=held, unapproved=unapproved)
        view.queue.changed[place.path] = {name: now}
        durable(made, view)
        after = made.queue.place(*name)
        assert after is not None
        assert after.serial == place.serial, "it keeps its place"
        assert started(made) == ([] if held is not None or unapproved is not None else [0])


def test_dh_8_and_46_6_a_broker_whose_repair_waits_for_approval_counts_as_gone_for_the_brake() -> None:
    made, name = waiting_repair(), TopicPartition(TOPIC, 0)
    place, partition = made.queue.place(*name), made.get(*name)
    assert place is not None
    assert partition is not None
    for move, brokers in ((place.move, {9}), (replace(place.move, unapproved=None), set())):
        lost = LostReplicas(made)
        lost.count(partition, move)
        assert (lost.replicas.get(9, 0), lost.brokers) == (0, frozenset(brokers))
