"""A topic that was left alone for a while is taken up again as it is: its states were not restored."""

import json
from uuid import UUID

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.core.round.changed_by_others import UNKNOWN_CHANGES, is_put_back, put_back
from kafka_reassign_rpc.core.state.partition import Partition, topic_id_text
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import TOPIC_ID, elected_controller, put_topic, register, topic_json
from tests.controller.bare_watches import watches_of
from tests.core.build import not_moving

from .test_vanished_topics import NAME, look, reload, saved

FOREIGN = UUID(int=9)
"""That of topic `u`."""


async def begin(zk: ZooKeeper) -> None:
    """`u` is the older topic, and the states of `t` have had more writes than leader epochs."""
    await register(zk, 1, 2, 3, 4)
    await zk.ensure_path(znode_paths.CONFIG_CHANGES)
    await put_topic(zk, "u", {0: (1, 2)}, topic_id=FOREIGN)
    await put_topic(zk, "t", {0: (1, 2, 3), 1: (2, 3, 1)})
    for index in (0, 1):
        path = znode_paths.partition_state("t", index)
        for _ in range(5):
            await zk.set(path, (await zk.get(path))[0])


async def give(zk: ZooKeeper, topic_id: UUID) -> None:
    znode = await topic_json(zk, "t") | {"topic_id": topic_id_text(topic_id)}
    await zk.set(znode_paths.topic("t"), json.dumps(znode).encode())


async def test_hm_2_a_topic_that_had_anothers_id_when_the_controller_was_elected_is_taken_up_as_it_is(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await begin(zk)
    await give(zk, FOREIGN)
    async with elected_controller(zk_connect) as controller:
        assert "t" not in controller.cluster.topics
        await give(zk, TOPIC_ID)
        await watches_of(controller).changed_topics(["t"])
        await look(controller)
        now = controller.partition(*NAME)
        assert (now.leader, now.isr) == (1, (1, 2, 3))
        assert (now.leader_epoch, now.partition_epoch) == (4, 6), "brokers learn it, and nothing else"
        await controller.check()


@pytest.mark.parametrize("by_reload", [False, True], ids=["by watches", "by a reload"])
@pytest.mark.parametrize("older", [False, True], ids=["as it was", "with an older state"])
async def test_hm_2_a_topic_that_was_left_alone_through_a_reload_goes_on_with_what_was_known_of_it(
    zk: ZooKeeper, zk_connect: str, older: bool, by_reload: bool
) -> None:
    await begin(zk)
    async with elected_controller(zk_connect) as controller:
        backup = await saved(zk, znode_paths.partition_state(*NAME))
        for isr in ((1, 2), (1, 2, 3), (1, 2)):
            assert isinstance(await controller.isr(NAME, isr), Partition)
        before = controller.partition(*NAME)
        await give(zk, FOREIGN)
        await reload(zk, controller)
        assert "t" not in controller.cluster.topics
        if older:
            [(path, data)] = backup
            await zk.delete(path)
            await zk.create(path, data)
        await give(zk, TOPIC_ID)
        if by_reload:
            await reload(zk, controller)
        else:
            await watches_of(controller).changed_topics(["t"])
            await look(controller)
        now = controller.partition(*NAME)
        assert (now.leader, now.isr) == (1, (1, 2))
        assert before.leader_epoch + 2 * older <= now.leader_epoch <= before.leader_epoch + 3
        assert before.partition_epoch + older <= now.partition_epoch <= before.partition_epoch + 2
        await controller.check()


def test_hm_2_a_state_that_is_put_back_twice_under_controllers_that_know_neither_has_epochs_that_brokers_accept() -> (
    None
):
    """The znode's versions begin again at 0: only the leader epoch shows that they were raised before."""
    once = put_back(replace(not_moving(1, 2), leader_epoch=9, partition_epoch=0))
    assert once.partition_epoch > UNKNOWN_CHANGES
    assert not is_put_back(once), "the next controller leaves it"
    known_to_brokers = replace(once, leader_epoch=once.leader_epoch + 3, partition_epoch=once.partition_epoch + 3 + 40)
    again = put_back(replace(known_to_brokers, partition_epoch=0))
    assert again.partition_epoch > known_to_brokers.partition_epoch
    assert again.leader_epoch > known_to_brokers.leader_epoch
