"""Throttles of a broker that dies while a leased move goes on, on a cluster and a log in memory."""

from collections.abc import Mapping, Sequence

import pytest

from kafka_reassign_rpc.client.config_calls import Values
from kafka_reassign_rpc.controller import throttle_leases
from kafka_reassign_rpc.controller.store import Entity
from kafka_reassign_rpc.core.config_values import BROKERS
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.throttling.replication_throttles import LEADER_RATE
from tests.kraft.memory_cluster import MemoryCluster
from tests.kraft.memory_term import NAME, Here
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


class RefusingControllers(MemoryCluster):
    """Of the dead broker's configs its controllers take no change; where they are asked again, those were told last."""

    tries = 0
    is_refused = False

    async def configs(self, entities: Sequence[Entity]) -> dict[Entity, Mapping[str, str] | KafkaError]:
        found = await super().configs(entities)
        its_configs = Entity(BROKERS, str(DEAD))
        if isinstance(found.get(its_configs), KafkaError):
            was, self.is_refused = self.is_refused, False
            found[its_configs] = KafkaError("it stays") if was else dict(self.of_configs[its_configs])
        return found

    async def change_configs(self, changes: Mapping[Entity, Values]) -> dict[Entity, KafkaError | None]:
        its_configs = Entity(BROKERS, str(DEAD))
        if its_configs not in changes or DEAD in self.brokers:
            return await super().change_configs(changes)
        self.tries, self.is_refused = self.tries + 1, True
        return dict.fromkeys(changes, KafkaError("no"))


async def test_236_11_and_kr_7_what_controllers_refuse_is_said_once_however_often_they_are_asked(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AGAIN_S", "LONGEST_AGAIN_S"):
        monkeypatch.setattr(throttle_leases, name, 0.05)
    here = Here()
    here.cluster = refusing = RefusingControllers(here.cluster.partitions, (*here.cluster.brokers,))
    async with here.term() as loop:
        await here.ask(NAME, (3, DEAD), 1_000)
        await eventually(lambda: refusing.of_configs[Entity(BROKERS, str(DEAD))].get(LEADER_RATE) == "1000")
        del refusing.brokers[DEAD]
        await eventually(lambda: DEAD not in loop.cluster.brokers)
        assert await here.told(NAME, None) is None
        await eventually(lambda: refusing.tries > 3)
    said = "the configs of broker 2 cannot be read: it stays"
    assert [one for one in caplog.messages if said in one] == [
        f"no throttle changes there until they can be read: {said}"
    ]
    assert _of(here, catalogue.THROTTLE_STAYS) == [said]
