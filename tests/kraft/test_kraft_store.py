"""The store in front of KRaft, beside its contract (tests/controller/store): what it tells, and what a look shows."""

import asyncio
from collections import deque
from collections.abc import Collection
from uuid import UUID

import pytest

from kafka_reassign_rpc.controller.store import ControllerMoved, ReloadNeeded
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event, events_of
from kafka_reassign_rpc.core.phases.intent_view import IntentView
from kafka_reassign_rpc.core.phases.phases import LOOKS, Act, next_step
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.queue.in_flight_caps import MovesInFlight
from kafka_reassign_rpc.core.queue.queue_admission import decide_waiting_move
from kafka_reassign_rpc.core.reassignment.alter import alter, cancel
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import QUEUE, MoveTerms, Partition, Phase
from kafka_reassign_rpc.core.state.queue_entries import WaitingMove
from kafka_reassign_rpc.core.state.requesters import client
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft import kraft_store, round_records
from kafka_reassign_rpc.kraft.kraft_store import KRaftStore
from kafka_reassign_rpc.kraft.ports import Look, LookFailed
from kafka_reassign_rpc.kraft.state_log import log_format
from tests.core.phases.kraft_model import KRaftPartition
from tests.kraft.memory_cluster import Elected, MemoryCluster, MemoryLog, elected
from tests.tables import for_each

NAME, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
ALICE = client("User:alice", None, "10.0.0.7")


class Here:
    """One cluster, one log, and the server that has claimed it last."""

    def __init__(self, partitions: int = 0) -> None:
        many = {TopicPartition("many", number): KRaftPartition(1, 2) for number in range(partitions)}
        self.kraft = MemoryCluster({NAME: KRaftPartition(1, 2), OTHER: KRaftPartition(2, 1), **many}, (1, 2, 3, 4))
        self.log = MemoryLog()
        self.now: Elected
        self.cluster: Cluster

    async def take_over(self) -> None:
        self.now = elected(self.log, self.kraft)
        self.cluster = (await self.store.load()).cluster

    @property
    def store(self) -> KRaftStore:
        return self.now.store

    async def ask(self, target: tuple[int, ...] | None, name: TopicPartition = NAME) -> list[Event]:
        view = self.store.view(self.cluster)
        view.by = ALICE
        error, changes = cancel(view, name) if target is None else alter(view, name, MoveTerms(target))
        assert error is None
        for change in changes:
            view.add(change)
        return await self._committed(view)

    async def _committed(self, view: IntentView) -> list[Event]:
        notes = view.notes
        applied = await self.store.commit(self.cluster, view)
        return [*events_of(deque(notes), applied.moves)]

    def tell(self) -> None:
        for name, (record, act) in self.now.told.items():
            targets = {Act.SEND: record.terms.target, Act.CANCEL: None, Act.RESTORE: record.original}
            assert self.kraft.partitions[name].alter(targets[act]) is None
        self.now.told.clear()

    async def look_ahead(self, topics: Collection[str]) -> None:
        if look := self.store.look_ahead(topics):
            await look

    async def look(self, name: TopicPartition = NAME) -> list[Event]:
        """Two looks that agree, and what they mean for the move."""
        view = self.store.view(self.cluster)
        seen = self.kraft.partitions[name].at
        view.found(name, next_step(self.store.intents.moves[name], seen, LOOKS), seen)
        return await self._committed(view)

    def shown(self, name: TopicPartition = NAME) -> Partition:
        found = self.cluster.get(*name)
        assert found is not None
        return found


@pytest.fixture
async def here() -> Here:
    made = Here()
    await made.take_over()
    return made


async def test_kr_6_a_move_is_durable_before_it_is_told_and_ends_when_it_is_seen(here: Here) -> None:
    (started,) = await here.ask((3, 2))
    assert (started.event, started.who, started.target) == (catalogue.MOVE_STARTED, ALICE.who, (3, 2))
    assert here.kraft.partitions[NAME].at == SeenPartition((1, 2))
    assert here.now.told[NAME].act is Act.SEND
    assert here.shown().is_moving

    here.tell()
    assert await here.look() == []
    move = here.shown().move
    assert move is not None
    assert (move.phase, move.id) == (Phase.MOVING, started.id)

    here.kraft.partitions[NAME].catch_up()
    (completed,) = await here.look()
    assert (completed.event, completed.id, completed.replicas) == (catalogue.MOVE_COMPLETED, started.id, (3, 2))
    assert here.store.intents.moves == {}
    assert (here.shown().replicas, here.shown().is_moving) == ((3, 2), False)


async def test_kr_6_a_cancel_is_one_event_once_the_original_order_is_back_whoever_leads_meanwhile(here: Here) -> None:
    await here.ask((3, 1), OTHER)
    here.tell()
    await here.look(OTHER)
    assert await here.ask(None, OTHER) == []
    here.tell()
    assert here.kraft.partitions[OTHER].at.replicas == (1, 2), "KRaft's own order"

    await here.take_over()
    assert await here.look(OTHER) == []
    here.tell()
    (cancelled,) = await here.look(OTHER)
    assert (cancelled.event, cancelled.who, cancelled.replicas) == (catalogue.MOVE_CANCELLED, ALICE.who, (2, 1))
    assert here.kraft.partitions[OTHER].at.replicas == (2, 1)
    assert here.store.intents.moves == {}


async def test_kr_8_a_move_that_somebody_else_has_started_meanwhile_is_not_overwritten(here: Here) -> None:
    here.kraft.partitions[NAME].alter((4, 2))
    with pytest.raises(ReloadNeeded, match="moving to"):
        await here.ask((3, 2))
    assert here.now.told == {}
    found = await here.store.reload(here.cluster)
    assert found.changed == {NAME}
    assert (here.shown().target, here.shown().move) == ((4, 2), None)

    here.kraft.partitions[NAME].catch_up()
    await here.store.reload(here.cluster)
    await here.ask((3, 2))
    here.tell()
    here.kraft.partitions[NAME].alter((4, 2))
    (gone,) = await here.look()
    assert (gone.event, gone.who) == (catalogue.MOVE_GONE, "somebody else")
    assert here.now.told == {}
    assert (here.shown().target, here.shown().move) == ((4, 2), None), "shown, and left alone"


async def test_kr_6_a_broker_that_lags_is_asked_again_before_a_round_is_decided_again(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale, assignments = [await here.kraft.assignments({"t"})], here.kraft.assignments

    async def lagging(topics: Collection[str], *, up_to_date: bool = False) -> Look:
        return await assignments(topics) if up_to_date else stale.pop()

    here.kraft.partitions[NAME].alter((2, 1))
    await here.store.reload(here.cluster)
    monkeypatch.setattr(here.kraft, "assignments", lagging)
    monkeypatch.setattr(kraft_store, "AGAIN_S", 0.0)
    await here.ask((3, 2))
    assert here.now.told.keys() == {NAME}
    assert not stale


async def test_kr_6_a_round_is_checked_by_the_look_that_began_with_its_request(here: Here) -> None:
    await here.look_ahead({"t", "another"})
    looks = here.kraft.looks
    await here.ask((3, 2))
    assert here.kraft.looks == looks
    await here.ask((4, 2))
    assert here.kraft.looks == looks + 1, "and no later round"


async def test_kr_6_a_round_that_is_decided_before_its_look_has_begun_waits_for_that_look(here: Here) -> None:
    look, looks = here.store.look_ahead({"t"}), here.kraft.looks
    assert look is not None
    asked = asyncio.create_task(here.ask((3, 2)))
    await asyncio.sleep(0)
    await look
    await asked
    assert here.kraft.looks == looks + 1
    await here.look_ahead({"t"})
    assert here.kraft.looks == looks + 2, "nothing of the former request is left in the way of the next one"


@for_each(
    "why",
    [
        "another round became durable meanwhile",
        "another request came later",
        "it was for a round without a change",
        "it is too old",
        "it is at other topics",
        "no answer",
    ],
)
async def test_kr_8_a_look_that_does_not_count_hides_no_move_of_others(
    why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Here()
    await here.take_over()

    async def fails(_: Collection[str], *, up_to_date: bool = False) -> Look:
        del up_to_date
        raise LookFailed(why)

    with monkeypatch.context() as patch:
        if why == "no answer":
            patch.setattr(here.kraft, "assignments", fails)
        await here.look_ahead({"many"} if why == "it is at other topics" else {"t"})
    here.kraft.partitions[NAME].alter((4, 2))
    if why == "another round became durable meanwhile":
        await here.store.acknowledge(1)
    if why == "another request came later":
        await here.look_ahead({"t"})
    if why == "it was for a round without a change":
        await here.store.commit(here.cluster, here.store.view(here.cluster))
    with monkeypatch.context() as patch:
        patch.setattr(kraft_store, "AHEAD_S", 0.0 if why == "it is too old" else 60.0)
        with pytest.raises(ReloadNeeded, match="moving to"):
            await here.ask((3, 2))


async def test_kr_6_a_move_of_a_topic_that_was_created_anew_is_not_taken_for_one_of_the_new_topic(here: Here) -> None:
    await here.ask((3, 2))
    here.kraft.ids["t"] = UUID(int=99 << 65)
    await here.take_over()
    assert here.shown() == Partition((1, 2), leader=1, isr=(1, 2), leader_epoch=3)
    assert NAME in here.store.intents.moves, "until looks have said that it is gone"


@for_each("asked", [NAME, OTHER])
async def test_kr_6_moves_of_a_former_topic_end_before_the_log_has_a_move_of_the_next_one(
    asked: TopicPartition,
) -> None:
    """As looks would take them for moves of that, or, where it has fewer partitions, never end them."""
    here = Here()
    await here.take_over()
    (former,) = await here.ask((3, 2))
    here.kraft.ids["t"] = UUID(int=99 << 65)
    await here.take_over()
    events = await here.ask((4, 2), asked)
    assert [(one.event, one.partition) for one in events] == [
        (catalogue.MOVE_STARTED, asked.partition),
        (catalogue.MOVE_GONE, NAME.partition),
    ]
    assert events[1].id == former.id
    for intents in (here.store.intents, here.log.replayed()):
        assert {name: one.terms.target for name, one in intents.moves.items()} == {asked: (4, 2)}
        assert [(one.event, one.id) for one in intents.outcomes] == [(catalogue.MOVE_GONE, former.id)]


async def test_kr_6_a_request_about_a_topic_whose_name_another_one_has_is_not_decided_on_the_former_one(
    here: Here,
) -> None:
    here.kraft.ids["t"] = UUID(int=99 << 65)
    with pytest.raises(ReloadNeeded, match="another topic has the name t by now"):
        await here.ask((3, 2))
    assert here.store.intents.moves == {}


async def test_kr_8_a_target_that_a_partition_has_is_looked_at_before_the_answer_says_so(here: Here) -> None:
    """Somebody else may have moved it meanwhile, or another topic may have its name."""
    assert await here.ask((1, 2)) == []
    here.kraft.partitions[NAME].alter((4, 2))
    with pytest.raises(ReloadNeeded, match="has other replicas than before"):
        await here.ask((1, 2))
    here.kraft.partitions[NAME] = KRaftPartition(1, 2)
    here.kraft.ids["t"] = UUID(int=99 << 65)
    with pytest.raises(ReloadNeeded, match="another topic has the name t by now"):
        await here.ask((1, 2))


async def test_kr_8_a_waiting_move_whose_target_is_there_is_looked_at_before_it_leaves_the_queue(here: Here) -> None:
    view, waiting = here.store.view(here.cluster), WaitingMove(MoveTerms((1, 2), QUEUE))
    assert decide_waiting_move(view, NAME, waiting, MovesInFlight(here.cluster, InFlightCaps())).leaves
    here.kraft.partitions[NAME].alter((4, 2))
    with pytest.raises(ReloadNeeded, match="has other replicas than before"):
        await here.store.commit(here.cluster, view)


async def test_kr_6_what_one_look_leaves_out_stays_as_it_was_when_the_cluster_is_read_again(here: Here) -> None:
    await here.ask((3, 2))
    before = here.shown()
    here.cluster.topic_configs["t"] = {"retention.ms": "1"}
    here.kraft.untold, here.kraft.lagging = {"t"}, 1
    assert (await here.store.reload(here.cluster)).gone == []
    assert (here.shown(), here.cluster.soft.unseen) == (before, frozenset({"t"}))
    assert here.cluster.topic_configs["t"] == {"retention.ms": "1"}
    there = here.kraft.ids
    here.kraft.ids = {"t": UUID(int=99 << 65)}
    assert (await here.store.reload(here.cluster)).gone == []
    assert (here.shown(), here.cluster.soft.unseen) == (before, frozenset({"t"})), "another id, by one look"
    here.kraft.ids = there
    kept = here.kraft.partitions.pop(OTHER)
    assert (await here.store.reload(here.cluster)).changed == set()
    assert (here.shown(OTHER).replicas, here.cluster.soft.unseen) == ((2, 1), frozenset({"t"})), (
        "a topic has never fewer"
    )
    here.kraft.partitions[OTHER] = kept
    await here.store.reload(here.cluster)
    assert here.cluster.soft.unseen == frozenset()


async def test_kr_6_a_partition_that_a_broker_does_not_show_yet_is_looked_at_again_before_it_is_told(
    here: Here,
) -> None:
    here.kraft.untold, here.kraft.lagging = {"t"}, 1
    await here.ask((3, 2))
    assert here.now.told[NAME].act is Act.SEND


async def test_kr_6_a_server_that_was_replaced_tells_nothing(here: Here) -> None:
    former = here.now
    cluster = here.cluster
    await here.take_over()
    view = former.store.view(cluster)
    for change in alter(view, NAME, MoveTerms((3, 2)))[1]:
        view.add(change)
    with pytest.raises(ControllerMoved):
        await former.store.commit(cluster, view)
    assert former.told == {}


async def test_kr_6_while_the_cluster_does_not_answer_nothing_is_decided(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, look = asyncio.Event(), here.kraft.look
    asked = asyncio.Event()

    async def unanswered(topics: object = None) -> object:
        asked.set()
        if not answers.is_set():
            raise LookFailed("no broker answers")
        return await look(None)

    monkeypatch.setattr(here.kraft, "look", unanswered)
    moving = asyncio.create_task(here.ask((3, 2)))
    await asked.wait()
    assert here.log.records == []
    answers.set()
    await moving
    assert here.shown().is_moving


LONG = "€" * 1_000
MANY = [TopicPartition("many", number) for number in range(300)]


def many_moves(view: IntentView) -> None:
    for name in MANY:
        for change in alter(view, name, MoveTerms((3, 2), reason=LONG))[1]:
            view.add(change)


async def test_kr_6_a_round_that_is_too_large_for_one_commit_becomes_durable_in_several(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_format, "MOST_BYTES", 200_000)
    monkeypatch.setattr(round_records, "LARGEST", 100_000)
    here = Here(len(MANY))
    await here.take_over()
    view = here.store.view(here.cluster)
    many_moves(view)
    applied = await here.store.commit(here.cluster, view)
    assert len(here.log.records) > 300 * 3_000 / 100_000
    assert here.now.told.keys() == applied.moves.keys() == {*MANY}
    shown = {name: here.shown(name).move for name in MANY}
    await here.take_over()
    assert {name: here.shown(name).move for name in MANY} == shown == here.store.intents.moves


async def test_kr_6_of_a_round_in_several_commits_the_next_leader_carries_out_what_is_durable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(round_records, "LARGEST", 100_000)
    here = Here(len(MANY))
    await here.take_over()
    here.now.writer.lives = 3
    view = here.store.view(here.cluster)
    many_moves(view)
    with pytest.raises(ControllerMoved):
        await here.store.commit(here.cluster, view)
    told = [*here.now.told]
    assert not any(here.shown(name).is_moving for name in MANY), "nothing of it is shown by who leads no more"
    await here.take_over()
    begun = [name for name in MANY if here.shown(name).is_moving]
    assert 0 < len(told) < len(begun) < len(MANY), "what is durable is told at once, and the last answer was lost"
    assert told == MANY[: len(told)]
    assert begun == MANY[: len(begun)]
    view = here.store.view(here.cluster)
    many_moves(view)
    await here.store.commit(here.cluster, view)
    assert all(here.shown(name).is_moving for name in MANY)
