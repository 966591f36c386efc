"""Throttles of a broker that dies while a leased move goes on, on a cluster and a log in memory."""

from kafka_reassign_rpc.controller import throttle_leases
from kafka_reassign_rpc.controller.store import Entity
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.state.config_entities import BROKERS
from kafka_reassign_rpc.core.throttling.replication_throttles import LEADER_RATE
from tests.kraft.test_term import NAME, Here
from tests.waiting import eventually

DEAD = 2


def _of(here: Here, event: str) -> list[str | None]:
    return [one.reason for one in here.events if (one.event, one.broker) == (event, DEAD)]


async def test_236_11_and_kr_7_the_rate_of_a_dead_broker_stays_until_somebody_takes_it_back_which_is_said_once() -> (
    None
):
    here, its_configs = Here(), Entity(BROKERS, str(DEAD))
    async with here.term() as loop:
        await here.ask(NAME, (3, DEAD), 1_000)
        await eventually(lambda: here.cluster.of_configs[its_configs].get(LEADER_RATE) == "1000")
        dead = here.cluster.brokers.pop(DEAD)
        await eventually(lambda: DEAD not in loop.cluster.brokers)
        assert await here.told(NAME, None) is None
        await eventually(lambda: _of(here, catalogue.THROTTLE_STAYS) != [], within=throttle_leases.LONGEST_AGAIN_S)
        assert here.cluster.of_configs[its_configs][LEADER_RATE] == "1000"
        await eventually(lambda: here.log.replayed().memories.keys() == {its_configs})
        here.cluster.has_controllers = True
        await eventually(lambda: here.cluster.of_configs[its_configs] == {}, within=throttle_leases.LONGEST_AGAIN_S)
        await eventually(lambda: not here.log.replayed().memories)
        assert _of(here, catalogue.THROTTLE_RESTORED) == ["no rate"]
        here.cluster.brokers[DEAD] = dead
        await eventually(lambda: DEAD in loop.cluster.brokers)
    assert _of(here, catalogue.THROTTLE_STAYS) == [f"the configs of broker {DEAD} cannot be read: it is down"]
