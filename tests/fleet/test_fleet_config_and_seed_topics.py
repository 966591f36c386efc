"""The configuration of a fleet, and how its first topics are laid out and created."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.fleet import Fleet, FleetConfig, SeedError, SeedTopic, parse_topic
from kafka_reassign_rpc.fleet.seed_topics import spread
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.tables import for_each


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("a:1:1:0", SeedTopic("a", 1, 1, 0)),
        ("my.topic:12:3:64K", SeedTopic("my.topic", 12, 3, 64 << 10)),
        ("t:1:1:2g", SeedTopic("t", 1, 1, 2 << 30)),
    ],
)
def test_sv_1_a_topic_is_asked_for_as_name_partitions_factor_bytes(text: str, topic: SeedTopic) -> None:
    assert parse_topic(text) == topic


@for_each(
    "text",
    ["", "a", "a:1:1", ":1:1:1", "a:x:1:1", "a:1:1:", "a:1:1:1X", "a:0:1:1", "a:1:0:1", "a:1:1:-5", "a:9999999:3:1"],
)
def test_what_makes_no_sense_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"NAME|replica") as refused:
        parse_topic(text)
    assert "\n" not in str(refused.value)


@given(
    racks=st.dictionaries(st.integers(0, 20), st.none() | st.sampled_from("abc"), min_size=1),
    partitions=st.integers(1, 40),
    data=st.data(),
)
def test_replicas_are_spread_evenly_and_never_twice_on_a_broker(
    racks: dict[int, str | None], partitions: int, data: st.DataObject
) -> None:
    factor = data.draw(st.integers(1, len(racks)))
    sets = spread(racks, partitions, factor)
    assert len(sets) == partitions
    assert all(len(set(replicas)) == factor and set(replicas) <= set(racks) for replicas in sets)
    counts = [sum(broker in replicas for replicas in sets) for broker in racks]
    assert max(counts) - min(counts) <= factor


def test_neighbours_are_in_different_racks_where_racks_are_equal() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    assert all(len({racks[broker] for broker in replicas}) == 2 for replicas in spread(racks, 8, 2))


def test_too_few_brokers_are_an_error() -> None:
    with pytest.raises(SeedError, match="3 of 2"):
        spread({1: None, 2: None}, 1, 3)


async def test_sv_1_without_a_controller_topics_are_written_as_a_broker_writes_them(
    zk_connect: str, zk: ZooKeeper
) -> None:
    config = FleetConfig(zookeeper_connect=zk_connect, broker_ids=(1, 2, 3), topics=(SeedTopic("a", 4, 2, 9),))
    async with Fleet(config) as fleet:
        await fleet.ready()
        found = json.loads((await zk.get("/brokers/topics/a"))[0])
        assert found["version"] == 3
        assert len(found["topic_id"]) == 22
        assert sorted(found["partitions"]) == ["0", "1", "2", "3"]
        assert json.loads((await zk.get("/config/topics/a"))[0]) == {"version": 1, "config": {}}
        before = await zk.get("/brokers/topics/a")
        await fleet.ready()
        assert await zk.get("/brokers/topics/a") == before


async def test_a_topic_that_cannot_be_created_is_an_error_with_its_reason(zk_connect: str) -> None:
    config = FleetConfig(zookeeper_connect=zk_connect, broker_ids=(1,), topics=(SeedTopic("a", 1, 2, 9),))
    async with Fleet(config) as fleet:
        with pytest.raises(SeedError, match="Replication factor"):
            await fleet.ready()
