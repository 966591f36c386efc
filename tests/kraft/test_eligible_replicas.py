"""Moves of a partition of which nobody is in sync while an eligible leader replica (KIP-966) has all records: a cluster
and a log in memory."""

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment
from kafka_reassign_rpc.core.phases.sightings import SeenPartition
from kafka_reassign_rpc.core.state.partition import Phase
from tests.kraft.memory_term import NAME, Here, looked
from tests.waiting import eventually


async def test_kr_6_while_nothing_is_in_sync_moves_go_on_and_cancels_wait_for_an_eligible_replica() -> None:
    here = Here()
    partition = here.cluster.partitions[NAME]
    async with here.term() as loop:
        assert await here.told(NAME, (3, 2)) is None
        partition.lose_all()
        await eventually(lambda: loop.cluster.soft.kraft.eligible == {NAME: (2,)})
        refused = await here.told(NAME, None)
        assert isinstance(refused, InvalidReplicaAssignment)
        assert "unclean leader election. Nothing is lost: start broker 2" in str(refused)
        assert here.cluster.told == {NAME: (3, 2)}, "what the cluster would refuse is not sent"
        await looked(here)
        assert here.log.replayed().moves[NAME].phase is Phase.MOVING, "it does not end for that"
        assert await here.told(NAME, (4, 2)) is None, "another target loses nothing"
        partition.isr, partition.eligible = partition.eligible, ()
        await eventually(lambda: loop.cluster.soft.kraft.eligible == {})
        assert await here.told(NAME, None) is None

        def is_cancelled() -> bool:
            partition.catch_up()
            return here.named(catalogue.MOVE_CANCELLED) == [NAME]

        await eventually(is_cancelled)
        assert partition.at == SeenPartition((1, 2))


async def test_kr_6_a_cancel_that_arrives_when_nothing_is_in_sync_any_more_is_refused_and_its_move_goes_on() -> None:
    here = Here()
    partition = here.cluster.partitions[NAME]
    async with here.term():
        assert await here.told(NAME, (3, 2)) is None
        here.cluster.before_alter = partition.lose_all
        assert isinstance(await here.told(NAME, None), InvalidReplicaAssignment)
        assert here.named(catalogue.MOVE_REFUSED) == [NAME]
        assert here.log.replayed().moves[NAME].phase is Phase.MOVING
        partition.catch_up()
        await eventually(lambda: here.named(catalogue.MOVE_COMPLETED) == [NAME])
