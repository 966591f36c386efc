"""What others have in flight beside moves of the service: a cluster and a log in memory."""

from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.settings.reassignment_settings import InFlightCaps
from tests.kraft.memory_term import NAME, OTHER, THIRD, Here, looked
from tests.tables import for_each
from tests.waiting import eventually


@for_each("caps", [InFlightCaps(per_cluster=1), InFlightCaps(per_broker=1)])
async def test_kr_7_caps_count_the_moves_that_others_have_started_at_the_cluster(caps: InFlightCaps) -> None:
    """That of NAME is in flight before the term, that of OTHER begins in it. Both copy from broker 1, as ours would."""
    here = Here()
    theirs = [here.cluster.partitions[NAME], here.cluster.partitions[OTHER]]
    theirs[0].alter((3, 2))
    async with here.term(caps) as loop:
        await here.ask(THIRD, (4, 2))
        theirs[1].isr = (1, 2)
        theirs[1].alter((4, 1))
        await eventually(lambda: loop.cluster.moving == {"t": {0, 1}})
        for one in theirs:
            await looked(here)
            assert (here.named(catalogue.MOVE_WAITING), here.cluster.told) == ([THIRD], {})
            one.catch_up()
        await eventually(lambda: here.cluster.partitions[THIRD].at.is_moving)
        assert here.named(catalogue.MOVE_COMPLETED) == [], "those of others have no outcome of ours"


async def test_kr_8_what_others_have_started_since_the_cluster_took_a_move_is_not_cancelled_with_it() -> None:
    """The cancel is decided in the round that hears of the Alter, on what a look has found that knew of theirs."""
    here = Here()
    partition = here.cluster.partitions[NAME]
    async with here.term():
        await here.asked_by_api(NAME, (3, 2))
        await eventually(lambda: partition.at.is_moving)
        partition.alter((4, 2))
        await here.asked_by_api(NAME, None, expected=(3, 2, 1))
        await eventually(lambda: here.named(catalogue.MOVE_GONE) == [NAME])
    assert here.cluster.told == {NAME: (3, 2)}
    assert partition.at.target == (4, 2)
