"""A round decides under the settings that its own commands have read."""

import asyncio
from collections.abc import Mapping

import pytest

from kafka_reassign_rpc.controller.commands.cluster_commands import Reported
from kafka_reassign_rpc.core.kafka_errors import PolicyViolation
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED, MAX_PER_CLUSTER
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.facts import AdminZnodes, AdminZnodesFound, Fact, SettingsFound
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, put_topic, register

NAME = TopicPartition("t", 0)


def settings(values: Mapping[str, str]) -> SettingsFound:
    return SettingsFound(values, "", {})


@pytest.mark.parametrize(
    "fact",
    [
        settings({ENABLED: "false"}),
        SettingsFound({}, "garbage", {}),
        AdminZnodesFound(AdminZnodes(True, None, None), False),
    ],
    ids=["settings", "unreadable settings", "znode"],
)
async def test_236_6_what_disables_moves_holds_for_targets_of_its_own_round_even_those_asked_before(
    zk: ZooKeeper, zk_connect: str, fact: Fact[object]
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, NAME.topic, {0: (1, 2)})
    async with elected_controller(zk_connect) as controller:
        answers, _ = await asyncio.gather(controller.alter({NAME: (1, 3)}), controller.loop.submit(Reported(fact)))
        assert isinstance(answers[NAME], PolicyViolation)
        assert not controller.cluster.moving


async def test_236_13_a_cap_holds_for_targets_of_the_round_that_reads_it(zk: ZooKeeper, zk_connect: str) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, NAME.topic, {0: (1, 2)})
    async with elected_controller(zk_connect) as controller:
        none = Reported(settings({MAX_PER_CLUSTER: "0"}))
        answers, _ = await asyncio.gather(controller.alter({NAME: (1, 3)}), controller.loop.submit(none))
        assert answers == {NAME: None}
        assert (len(controller.cluster.moving), len(controller.cluster.queue)) == (0, 1)
