"""kr-6: a request is decided once more, since a look shows something else than what was known."""

from collections.abc import Collection
from uuid import UUID

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.api.ports import AlterReassignments
from kafka_reassign_rpc.controller.commands.alter_reassignments_command import AlterReassignmentsCommand
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import NoReassignmentInProgress, UnknownTopicOrPartition
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.state.partition import CancelMove, MoveTerms, Phase
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft import kraft_store
from kafka_reassign_rpc.kraft.ports import Look
from tests.kraft.memory_cluster import MemoryCluster
from tests.kraft.memory_term import NAME, OTHER, SELDOM, Here
from tests.waiting import eventually


class Lagging(MemoryCluster):
    """A broker shows these `replicas` of NAME, until it is asked for what the controller has; that nothing moves there,
    the controller says."""

    replicas: tuple[int, ...] = ()

    async def assignments(self, topics: Collection[str], *, up_to_date: bool = False) -> Look:
        if up_to_date:
            self.replicas = ()
        return await super().assignments(topics, up_to_date=up_to_date)

    async def look(self, topics: Collection[str] | None = None) -> Look:
        found = await super().look(topics)
        if self.replicas and (looked := found.topics.get(NAME.topic)):
            info = replace(looked.partitions[NAME.partition], replicas=self.replicas)
            shown = looked._replace(partitions={**looked.partitions, NAME.partition: info})
            found = found._replace(topics={**found.topics, NAME.topic: shown})
        return found


async def test_kr_6_a_cancel_of_a_move_that_has_ended_is_not_acknowledged_because_former_replicas_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kraft_store, "AGAIN_S", 0.0)
    here = Here()
    cluster = here.cluster = Lagging(here.cluster.partitions, here.cluster.brokers)
    async with here.term(pace=SELDOM):
        assert await here.told(NAME, (3, 2)) is None
        await eventually(lambda: here.log.replayed().moves[NAME].phase is Phase.MOVING)
        cluster.partitions[NAME].catch_up()
        cluster.replicas = (1, 2)
        [error] = (await here.answers([NAME], None)).values()
        assert isinstance(error, NoReassignmentInProgress)
    cluster.replicas = ()
    async with here.term():
        await eventually(lambda: here.named(catalogue.MOVE_COMPLETED) == [NAME])
    assert cluster.partitions[NAME].at == SeenPartition((3, 2))


async def test_kr_6_a_target_that_a_broker_that_lags_shows_is_not_answered_as_if_the_partition_had_it() -> None:
    here = Here()
    cluster = here.cluster = Lagging(here.cluster.partitions, here.cluster.brokers)
    async with here.term(pace=SELDOM):
        cluster.partitions[NAME].alter((2, 1))
        cluster.replicas = (1, 2)
        assert await here.told(NAME, (1, 2)) is None
        assert cluster.partitions[NAME].at == SeenPartition((1, 2))


async def test_860_5_expected_replicas_are_compared_with_what_the_controller_has_although_a_broker_lags() -> None:
    here = Here()
    cluster = here.cluster = Lagging(here.cluster.partitions, here.cluster.brokers)
    async with here.term(pace=SELDOM):
        cluster.partitions[NAME].alter((2, 1))
        cluster.replicas = (1, 2)
        error = await here.asked_by_api(NAME, (3, 2), expected=(1, 2))
        assert "expected [1, 2], found [2, 1]" in str(error)
        cluster.replicas = (1, 2)
        assert await here.asked_by_api(NAME, (3, 1), expected=(2, 1)) is None, "who has seen what it has is right"
    assert cluster.told == {NAME: (3, 1)}


async def test_kr_6_a_target_that_others_have_given_a_moment_before_is_not_reported_as_a_start_of_ours() -> None:
    here = Here()
    async with here.term(pace=SELDOM):
        assert here.cluster.partitions[NAME].alter((3, 2)) is None
        assert await here.answers([NAME], (3, 2)) == {NAME: None}
        assert here.log.replayed().moves == {}
        await here.ask(OTHER, (1, 2))
        await eventually(lambda: here.named(catalogue.MOVE_STARTED))
    assert here.named(catalogue.MOVE_STARTED) == [OTHER]


async def test_kr_6_a_cancel_is_not_acknowledged_for_what_another_request_was_refused_in_the_end() -> None:
    here = Here()
    async with here.term(pace=SELDOM) as loop:
        here.cluster.ids["t"] = UUID(int=9 << 65)
        asked: list[tuple[MoveTerms | CancelMove, TopicPartition, bool]]
        asked = [(MoveTerms((4, 2)), NAME, True), (CancelMove(), NAME, False), (MoveTerms((4, 2)), OTHER, False)]
        requests = [
            AlterReassignments([(name.topic, [(name.partition, what)])], queue=queue) for what, name, queue in asked
        ]
        answers = [loop.submit(AlterReassignmentsCommand(one)) for one in requests]  # decided in one round
        errors = [error for one in answers for (*_, error) in await one]
    assert [type(error) for error in errors] == [
        UnknownTopicOrPartition,
        NoReassignmentInProgress,
        UnknownTopicOrPartition,
    ]
