"""kr-7: what counts as the configs of a broker that cannot be asked any more."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import cast

from kafka_reassign_rpc.client.config_calls import BROKER, Config, Resource, Values
from kafka_reassign_rpc.client.kraft_calls import RegisteredBroker
from kafka_reassign_rpc.client.result_values import ClusterNode
from kafka_reassign_rpc.controller.store import Entity
from kafka_reassign_rpc.core.config_values import BROKERS
from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable, KafkaError
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, RateMemory
from kafka_reassign_rpc.core.throttling.replication_throttles import LEADER_RATE
from kafka_reassign_rpc.kraft.leased_configs import SETTLES_S, presumed
from kafka_reassign_rpc.kraft.round_records import Remembered
from kafka_reassign_rpc.kraft.upstream import Outcome, Seen, Told, Upstream, Wanted
from kafka_reassign_rpc.kraft.upstream_cluster import UpstreamCluster

DYING = Entity(BROKERS, "3")
OF_DYING: Resource = (BROKER, "3")
BOTH = {one: RegisteredBroker(ClusterNode(one, "127.0.0.1", 1, None), False) for one in (1, 3)}
ALONE = {1: BOTH[1]}
RATE = [Config(LEADER_RATE, "1000")]


class Scripted:
    """Of `Upstream`: looks that return what a test says, and controllers that take every change."""

    knows_controllers = True

    def __init__(self) -> None:
        self.brokers: Mapping[int, RegisteredBroker] = BOTH
        self.answer: list[Config] = []
        self.asked_at = 0.0
        self.wanted: list[Wanted] = []

    async def look(self, wanted: Wanted) -> Seen:
        self.wanted.append(wanted)
        configs, asked_at = {OF_DYING: self.answer}, {OF_DYING: self.asked_at}
        return Seen(1.0, 1.1, moves={}, brokers=self.brokers, topics={}, configs=configs, asked_at=asked_at)

    async def configs(self, resources: Iterable[Resource]) -> dict[Resource, list[Config] | KafkaError]:
        return dict.fromkeys(resources, self.answer)

    async def change_configs(self, changes: Mapping[Resource, Values]) -> dict[Resource, Outcome]:
        return dict.fromkeys(changes, Outcome(Told.DONE, None))


async def refuses_nothing(_: int) -> bool:
    return False


def begun() -> tuple[UpstreamCluster, Scripted, float]:
    script = Scripted()
    script.refuses_cordoned_targets = refuses_nothing  # type: ignore[attr-defined]
    return UpstreamCluster(cast(Upstream, script), "PLAINTEXT"), script, asyncio.get_running_loop().time()


async def test_kr_7_what_a_broker_that_died_had_answered_before_a_change_of_ours_does_not_undo_it() -> None:
    """Such an answer comes in the look that shows the broker gone, or it is what a broker that lags told right after
    the change: the rate of a lease would pass for one that others have deleted."""
    for late in ("in a look", "right after"):
        cluster, script, now = begun()
        script.asked_at = now
        await cluster.look([])
        await cluster.change_configs({DYING: {LEADER_RATE: "1000"}})
        if late == "right after":
            assert await cluster.configs([DYING]) == {DYING: {}}
        script.brokers = ALONE
        await cluster.look([])
        assert await cluster.configs([DYING]) == {DYING: {LEADER_RATE: "1000"}}, late


async def test_kr_7_what_others_have_changed_later_counts_although_the_broker_has_died() -> None:
    cluster, script, now = begun()
    script.asked_at = now
    await cluster.look([])
    await cluster.change_configs({DYING: {LEADER_RATE: "1000"}})
    script.answer, script.asked_at = RATE, now + SETTLES_S + 1
    await cluster.look([])
    script.answer, script.asked_at = [], now + SETTLES_S + 2
    await cluster.look([])
    script.brokers = ALONE
    await cluster.look([])
    assert await cluster.configs([DYING]) == {DYING: {}}


async def test_kr_7_what_was_told_in_a_former_term_does_not_count_in_the_next_one() -> None:
    """In between another server led, which may have set rates. Else these would pass for removed by others, and stay
    once the broker is back."""
    cluster, script, now = begun()
    script.asked_at = now
    await cluster.look([])
    assert await cluster.configs([DYING]) == {DYING: {}}
    cluster.forget_configs()
    script.brokers = ALONE
    await cluster.look([])  # with an answer to what was asked in the former term
    assert isinstance((await cluster.configs([DYING]))[DYING], BrokerNotAvailable)


def test_kr_7_a_dead_broker_whose_rates_others_have_removed_again_has_none() -> None:
    down = BrokerNotAvailable("down")
    left, ours = RateMemory("1000", None, 1000, again=True, left=True), RateMemory("1000", None, 1000)
    assert presumed(down, Remembered(BrokerMemory(left, left))) == {}
    assert presumed(down, Remembered(BrokerMemory(ours, left))) == {LEADER_RATE: "1000"}
    assert presumed(down, None) is down
