"""Znodes in /brokers/topics with names that Kafka does not allow are no topics: some of them fit into no answer."""

import logging

import pytest

from kafka_reassign_rpc.controller.loading import load_topics
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, put_topic, register

NAMES = ("x" * 250, "x" * 33_000, "größe", "two words", "a+b")


async def test_236_5_a_topic_whose_name_kafka_does_not_allow_is_left_out_and_reported(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2)})
    for name in NAMES:
        await put_topic(zk, name, {0: (1, 2)})
    with caplog.at_level(logging.ERROR):
        async with elected_controller(zk_connect) as controller:
            assert set(controller.cluster.topics) == {"t"}
            assert set((await load_topics.read_topics(controller.zk, None)).found) == {"t"}, "as a standby reads them"
            assert set((await load_topics.read_topics(controller.zk, ["t", "", "a/b", *NAMES])).found) == {"t"}
    told = [record.getMessage() for record in caplog.records if znode_paths.TOPICS in record.getMessage()]
    assert len(told) == len(NAMES), "each once"
    assert max(map(len, told)) < 300
