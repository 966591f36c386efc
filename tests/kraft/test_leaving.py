"""kr-11: what waits when `leave` begins, on a cluster and a log in memory."""

import pytest

from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED
from kafka_reassign_rpc.kraft.leave_cluster import waiting_moves, withdraw
from kafka_reassign_rpc.leaving.leave import Choices, Stopped
from tests.kraft.memory_cluster import LogWriter
from tests.kraft.memory_term import NAME, OTHER, Here, looked
from tests.kraft.test_settings import change


async def test_kr_11_what_waits_behind_a_move_in_flight_leaves_the_queue_and_that_move_goes_on() -> None:
    """A cancel would end the move in flight as well, and `leave` that did not send one waited without an end."""
    here, said, agrees = Here(), list[str](), False

    async def ask(text: str) -> bool:
        said.append(text)
        return agrees

    async with here.term():
        await here.ask(NAME, (3, 2))
        await change(here, {ENABLED: "false"})
        for name, target in ((NAME, (1, 4)), (OTHER, (2, 3))):
            assert await here.asked_by_api(name, target, queue=True) is None
    intents, writer, choices = here.log.replayed(), LogWriter(here.log), Choices(said.append, ask)
    with pytest.raises(Stopped):
        await withdraw(writer, choices, intents)
    assert waiting_moves(here.log.replayed()).keys() == {NAME, OTHER}
    agrees = True
    await withdraw(writer, choices, intents)
    assert waiting_moves(intents) == waiting_moves(here.log.replayed()) == {}
    assert said[-2:] == ["queue: 2 moves that wait never start.", "queue: done"]
    here.cluster.told.clear()
    async with here.term():
        await looked(here)
    assert here.cluster.told == {}
    assert here.cluster.partitions[NAME].at.target == (3, 2)
    assert here.log.replayed().moves.keys() == {NAME}
