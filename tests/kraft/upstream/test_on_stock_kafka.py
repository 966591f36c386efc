"""kr-6: a stock cluster in KRaft mode is looked at and told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.kraft.cluster_poller import LookPace
from kafka_reassign_rpc.kraft.cluster_seen import Absences, Known
from kafka_reassign_rpc.kraft.upstream import Outcome, Told, Upstream, Wanted
from kafka_reassign_rpc.kraft.upstream_cluster import UpstreamCluster
from kafka_reassign_rpc.support.slices import finished
from tests.kraft.stock_cluster import BROKERS, StockCluster
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.gate]

ALTER, CONFIGS = 45, 44
DONE = Outcome(Told.DONE)


@asynccontextmanager
async def upstream(
    cluster: StockCluster, bootstrap: str = "", may_tell: Callable[[], bool] = lambda: True, **more: Any
) -> AsyncIterator[Upstream]:
    made = Upstream({"bootstrap_servers": bootstrap or cluster.bootstrap}, may_tell, **more)
    await made.start()
    try:
        yield made
    finally:
        await made.close()


def code(outcome: Outcome) -> tuple[Told, int]:
    return outcome.told, 0 if outcome.error is None else outcome.error.code


async def test_kr_6_a_look_shows_brokers_topics_moves_and_configs(cluster: StockCluster) -> None:
    [topic] = await cluster.create({"looked": [[1, 2], [2, 3]]}, records=200, slow=True)
    moving = TopicPartition(topic, 0)
    async with upstream(cluster) as up:
        assert await up.alter({moving: [3, 1]}) == {moving: DONE}
        seen = await up.look(Wanted([topic, "absent"], topic_configs=[topic], broker_configs=[2, 9]))
        assert not isinstance(seen.moves, KafkaError)
        assert not isinstance(seen.brokers, KafkaError)
        assert not isinstance(seen.topics, KafkaError)
        listed = seen.moves[moving]
        assert (listed.target, listed.adding_replicas, listed.removing_replicas) == ((3, 1), (3,), (2,))
        assert {one: (told.node.rack, told.fenced) for one, told in seen.brokers.items()} == {
            one: (f"r{one}", False if cluster.release >= (4, 0) else None) for one in BROKERS
        }
        found = seen.topics[topic]
        assert found.topic_id
        assert (found.partitions[1].replicas, found.partitions[1].leader, found.partitions[1].leader_epoch) == (
            (2, 3),
            2,
            0,
        )
        assert seen.topics["absent"].error is not None
        values = {one.name: one.value for one in seen.configs[TOPIC, topic] if not isinstance(one, KafkaError)}  # type: ignore[union-attr]
        assert values["leader.replication.throttled.replicas"] == "*"
        assert isinstance(seen.configs[BROKER, "9"], KafkaError)
        everything = await up.look(Wanted(None))
        assert not isinstance(everything.topics, KafkaError)
        assert everything.topics[topic] == (await up.look(Wanted([topic]))).topics[topic]  # type: ignore[index]
        assert await up.alter({moving: None}) == {moving: DONE}
        assert (await up.look(Wanted())).moves == {}


async def test_kr_6_each_partition_has_its_own_outcome_with_the_cluster_s_code_and_words(cluster: StockCluster) -> None:
    [topic] = await cluster.create({"told": [[1, 2], [2, 3], [1, 2]]})
    names = [TopicPartition(topic, one) for one in range(4)]
    async with upstream(cluster) as up:
        found = await up.alter({names[0]: [1, 99], names[1]: [2, 77], names[2]: [2, 1], names[3]: [1]})
        assert {one: code(outcome) for one, outcome in found.items()} == {
            names[0]: (Told.REFUSED, 39),
            names[1]: (Told.REFUSED, 39),
            names[2]: (Told.DONE, 0),
            names[3]: (Told.REFUSED, 3),
        }
        assert "77" in str(found[names[1]].error)
        [cancelled] = (await up.alter({names[1]: None})).values()
        assert code(cancelled) == (Told.REFUSED, 85)


async def test_kr_6_a_lost_answer_leaves_it_unknown_and_a_look_says_it(cluster: StockCluster) -> None:
    [topic] = await cluster.create({"lost": [[1, 2]]}, records=200, slow=True)
    name = TopicPartition(topic, 0)
    async with cluster.losing() as proxy, upstream(cluster, f"127.0.0.1:{proxy.port}") as up:
        proxy.loses = {ALTER, CONFIGS}
        [outcome] = (await up.alter({name: [1, 3]})).values()
        assert (outcome.told, proxy.lost) == (Told.UNKNOWN, 1)
        changed = await up.change_configs({(TOPIC, topic): {"retention.ms": "1234567"}})
        assert (changed[TOPIC, topic].told, proxy.lost) == (Told.UNKNOWN, 2)
        proxy.loses = set()
        seen = await up.look(Wanted([topic], topic_configs=[topic]))
        assert not isinstance(seen.moves, KafkaError)
        assert seen.moves[name].target == (1, 3)
        assert "1234567" in {one.value for one in seen.configs[TOPIC, topic]}  # type: ignore[union-attr]
        assert await up.alter({name: None}) == {name: DONE}


async def test_kr_6_configs_of_a_dead_broker_are_told_to_the_controllers(cluster: StockCluster) -> None:
    own = {(BROKER, "3"): {"leader.replication.throttled.rate": "4321"}}
    away = {(BROKER, "3"): {"leader.replication.throttled.rate": None}}
    controllers = {"bootstrap_controllers": cluster.controllers}
    async with upstream(cluster, of_controllers=controllers) as up, upstream(cluster) as alone:
        assert await up.change_configs(own) == {(BROKER, "3"): DONE}
        await cluster.nodes[3].kill()
        try:

            async def is_fenced() -> bool:
                brokers = (await up.look(Wanted())).brokers
                return not isinstance(brokers, KafkaError) and (3 not in brokers or bool(brokers[3].fenced))

            await eventually(is_fenced)
            [refused] = (await alone.change_configs(away)).values()
            assert refused.told is Told.NOT_TOLD
            assert "bootstrap.controller" in str(refused.error)
            assert isinstance((await up.configs(own))[BROKER, "3"], KafkaError)
            assert await up.change_configs(away) == {(BROKER, "3"): DONE}
        finally:
            await cluster.nodes[3].start()

        async def is_away() -> bool:
            found = (await up.configs(own))[BROKER, "3"]
            return not isinstance(found, KafkaError) and "4321" not in [one.value for one in found]

        await eventually(is_away)


async def test_kr_6_a_deleted_topic_is_gone_after_two_looks(cluster: StockCluster) -> None:
    [topic] = await cluster.create({"brief": [[1]]})
    async with upstream(cluster) as up:
        before = (await up.look(Wanted([topic]))).topics[topic]  # type: ignore[index]
        await cluster.delete(topic)
        looks, absences, known = UpstreamCluster(up, "PLAINTEXT"), Absences(), Known(topic, before.topic_id)

        async def gone() -> bool:
            await asyncio.sleep(LookPace().moving)
            return known in finished(absences.taken(await looks.look([topic]), [known], {})).gone

        for names in (["another"], None):
            assert known not in finished(absences.taken(await looks.look(names), [known], {})).gone
        await eventually(gone)
