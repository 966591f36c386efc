"""As soon as a config allows unclean election, partitions without a leader get one (sv-4)."""

from collections.abc import AsyncIterator
from functools import partial

import pytest_asyncio

from kafka_reassign_rpc.core.state.partition import NO_LEADER
from tests.controller.bare_controller import state_json
from tests.controller.cluster import RATE, Cluster, cluster
from tests.waiting import eventually

UNCLEAN = "unclean.leader.election.enable"


@pytest_asyncio.fixture
async def here(zk_connect: str) -> AsyncIterator[Cluster]:
    """Topics `a` and `b`, whose only in-sync replica was on broker 1, which is gone. Broker 2 lives."""
    async with cluster(zk_connect, brokers=(1, 2)) as made:
        for topic in "ab":
            await made.create_topic(topic, {0: (1, 2), 1: (2, 1)})
        await made.kill_broker(2)
        for topic in "ab":
            await eventually(partial(made.led_by, (topic, 1), 1))
        await made.kill_broker(1)
        await made.start_broker(2)
        await made.fleets[2].ready()
        assert await leaders(made) == {"a": [NO_LEADER] * 2, "b": [NO_LEADER] * 2}
        yield made


async def leaders(here: Cluster) -> dict[str, list[int]]:
    return {topic: [(await state_json(here.zk, (topic, index)))["leader"] for index in (0, 1)] for topic in "ab"}


async def has(here: Cluster, **wanted: list[int]) -> bool:
    return await leaders(here) == wanted


async def test_sv_4_a_topic_that_allows_unclean_elections_gets_leaders_at_once_and_no_other_topic_does(
    here: Cluster,
) -> None:
    await here.configure("topics", "a", {UNCLEAN: "true"})
    await eventually(lambda: has(here, a=[2, 2], b=[NO_LEADER] * 2))
    state = await state_json(here.zk, ("a", 0))
    assert (state["isr"], state["leader_recovery_state"]) == ([2], 1)
    await here.configure("topics", "b", {UNCLEAN: "perhaps"})
    await here.configure("topics", "b", {UNCLEAN: " True "})
    await eventually(lambda: has(here, a=[2, 2], b=[2, 2]))


async def test_sv_4_where_the_clusters_default_allows_them_all_topics_get_leaders_at_once_but_those_that_forbid_them(
    here: Cluster,
) -> None:
    await here.configure("topics", "b", {UNCLEAN: "false"})
    assert await here.incremental(UNCLEAN, "true") == 0
    await eventually(lambda: has(here, a=[2, 2], b=[NO_LEADER] * 2))
    await here.configure("topics", "b", {})
    await eventually(lambda: has(here, a=[2, 2], b=[2, 2]))


async def test_sv_4_other_configs_elect_no_leader_uncleanly(here: Cluster) -> None:
    await here.configure("topics", "a", {"retention.ms": "1", UNCLEAN: "false"})
    await here.configure("brokers", "<default>", {RATE: "2"})
    assert await here.incremental(UNCLEAN, "false") == 0
    await here.configure("topics", "b", {UNCLEAN: "true"})
    await eventually(lambda: has(here, a=[NO_LEADER] * 2, b=[2, 2]))
