"""Znodes of topics are removed, put back, or edited by hand: nothing that brokers have is given up for that."""

import json
from collections.abc import Sequence
from uuid import UUID

import pytest

from kafka_reassign_rpc.api.ports import AlterPartition
from kafka_reassign_rpc.controller.commands.cluster_commands import Barrier
from kafka_reassign_rpc.controller.commands.leadership_commands import AlterPartitionCommand
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import NotController
from kafka_reassign_rpc.core.leadership.isr_changes import IsrChange
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bad_znodes.test_garbage import serving
from tests.controller.bare_controller import (
    TOPIC_ID,
    BareController,
    elected_controller,
    put_topic,
    register,
    state_json,
    topic_json,
)
from tests.controller.bare_watches import watches_of
from tests.faults.cluster import alter
from tests.zookeeper.trees import delete_tree

Saved = list[tuple[str, bytes]]
NAME = ("t", 0)


async def saved(zk: ZooKeeper, path: str = znode_paths.topic("t")) -> Saved:
    """A znode with all below it, as an operator's backup has it."""
    return [(one, (await zk.get(one))[0]) for one in sorted(await zk.tree(path))]


async def put_back(zk: ZooKeeper, znodes: Saved) -> None:
    await zk.multi([Create(path, data) for path, data in znodes])


async def look(controller: BareController) -> None:
    """As after the watch of the topics has fired."""
    await watches_of(controller).topics()
    await controller.loop.submit(Barrier())


async def reload(zk: ZooKeeper, controller: BareController) -> None:
    """A foreign write of another topic has the controller read everything again."""
    path = znode_paths.topic("u")
    await zk.set(path, (await zk.get(path))[0])
    now = controller.partition("u").replicas
    await controller.alter({("u", 0): (now[1], now[0])})


async def begin(zk: ZooKeeper, *replicas: int) -> None:
    await register(zk, 1, 2, 3, 4)
    await zk.ensure_path(znode_paths.CONFIG_CHANGES)
    await put_topic(zk, "t", {0: replicas or (1, 2, 3), 1: (2, 3, 1)})
    await put_topic(zk, "u", {0: (1, 2)}, topic_id=UUID(int=9))


def events(controller: BareController, name: str) -> list[tuple[str | None, int | None]]:
    return [(event.topic, event.count) for event in controller.events if event.event == name]


@pytest.mark.parametrize("by_reload", [False, True], ids=["by watches", "by reloads"])
async def test_hm_2_a_topic_put_back_with_its_id_goes_on_with_leaders_and_epochs_that_brokers_accept(
    zk: ZooKeeper, zk_connect: str, by_reload: bool
) -> None:
    """The backup is older than the last ISR: 3 was in sync then, and is not now."""
    await begin(zk)
    async with elected_controller(zk_connect) as controller:
        backup = await saved(zk)
        for isr in ((1, 2), (1, 2, 3), (1, 2)):
            assert isinstance(await controller.isr(NAME, isr), Partition)
        before = controller.partition(*NAME)
        await delete_tree(zk, znode_paths.topic("t"))
        await (reload(zk, controller) if by_reload else look(controller))
        assert "t" not in controller.cluster.topics
        assert events(controller, catalogue.TOPIC_VANISHED) == [("t", 2)]

        await put_back(zk, backup)
        await (reload(zk, controller) if by_reload else look(controller))
        now = controller.partition(*NAME)
        assert (now.leader, now.isr, now.replicas) == (1, (1, 2), (1, 2, 3))
        assert now.leader_epoch == before.leader_epoch + 2
        assert now.partition_epoch > before.partition_epoch
        assert controller.partition("t", 1).leader_epoch == 5
        assert controller.cluster.topics["t"].id == TOPIC_ID
        assert isinstance(await controller.isr(NAME, (1, 2, 3)), Partition)
        assert events(controller, catalogue.TOPIC_VANISHED) == [("t", 2)]
        await controller.check()


async def test_hm_2_a_topic_put_back_between_two_reads_is_the_same_topic(zk: ZooKeeper, zk_connect: str) -> None:
    await begin(zk)
    async with elected_controller(zk_connect) as controller:
        backup = await saved(zk)
        assert isinstance(await controller.isr(NAME, (1, 2)), Partition)
        await delete_tree(zk, znode_paths.topic("t"))
        await put_back(zk, backup)
        await reload(zk, controller)
        assert controller.partition(*NAME).isr == (1, 2)
        await controller.check()


@pytest.mark.parametrize("lost", ["states", "id", "states and id"])
async def test_hm_2_what_is_put_back_without_states_or_id_gets_those_that_it_had(
    zk: ZooKeeper, zk_connect: str, lost: str
) -> None:
    """Its first live replica is not in sync: a first state would let it lead, and the others would truncate."""
    await begin(zk, 3, 1, 2)
    async with elected_controller(zk_connect) as controller:
        epoch = controller.cluster.brokers[3].epoch
        leaves = [IsrChange("t", None, 0, 3, 0, (3, 1))]
        await controller.loop.submit(AlterPartitionCommand(AlterPartition(3, epoch, leaves, 1)))
        backup = await saved(zk)
        await controller.alter({NAME: (1, 3, 2)})
        before = controller.partition(*NAME)
        await delete_tree(zk, znode_paths.topic("t"))
        await look(controller)
        if "states" in lost:
            backup = backup[:1]
        if "id" in lost:
            path, data = backup[0]
            found = json.loads(data)
            del found["topic_id"]
            backup[0] = path, json.dumps(found).encode()
        await put_back(zk, backup)
        await look(controller)
        now = controller.partition(*NAME)
        assert (now.leader, now.isr) == (before.leader, before.isr)
        assert now.leader_epoch > before.leader_epoch
        assert controller.cluster.topics["t"].id == TOPIC_ID
        assert (await topic_json(zk, "t"))["topic_id"] == json.loads((await zk.get(znode_paths.topic("t")))[0])[
            "topic_id"
        ]
        await controller.check()


async def test_hm_2_a_topic_made_again_with_another_id_is_another_one(zk: ZooKeeper, zk_connect: str) -> None:
    await begin(zk)
    async with elected_controller(zk_connect) as controller:
        assert isinstance(await controller.isr(NAME, (1, 2)), Partition)
        await delete_tree(zk, znode_paths.topic("t"))
        await put_topic(zk, "t", {0: (3, 4)}, topic_id=UUID(int=5))
        await see(zk, controller, "by a watch")
        now = controller.partition(*NAME)
        assert (now.leader, now.isr, now.replicas) == (3, (3, 4), (3, 4))
        await controller.check()


async def test_hm_2_a_partition_taken_out_of_its_topics_znode_and_put_back_goes_on(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await begin(zk)
    async with elected_controller(zk_connect) as controller:
        assert isinstance(await controller.isr(NAME, (1, 2)), Partition)
        before, znode = controller.partition(*NAME), await topic_json(zk, "t")
        less = znode | {"partitions": {"1": znode["partitions"]["1"]}}
        await zk.set(znode_paths.topic("t"), json.dumps(less).encode())
        await watches_of(controller).changed_topics(["t"])
        await controller.loop.submit(Barrier())
        assert controller.cluster.get(*NAME) is None
        assert events(controller, catalogue.TOPIC_VANISHED) == [("t", 1)]

        await zk.set(znode_paths.topic("t"), json.dumps(znode).encode())
        await watches_of(controller).changed_topics(["t"])
        await controller.loop.submit(Barrier())
        now = controller.partition(*NAME)
        assert (now.leader, now.isr) == (before.leader, before.isr)
        await controller.check()


async def test_hm_2_the_state_of_a_partition_that_others_remove_is_written_back(zk: ZooKeeper, zk_connect: str) -> None:
    await begin(zk, 3, 1, 2)
    async with elected_controller(zk_connect) as controller:
        assert isinstance(await controller.isr(NAME, (3, 2)), Partition)
        before = controller.partition(*NAME)
        await zk.delete(znode_paths.partition_state(*NAME))
        await reload(zk, controller)
        now = controller.partition(*NAME)
        assert (now.leader, now.isr) == (3, (3, 2))
        assert (await state_json(zk, NAME))["leader_epoch"] == now.leader_epoch == before.leader_epoch + 2
        await controller.check()


@pytest.mark.parametrize(
    ("sender", "seen", "wanted"),
    [
        (1, (40, 20), (41, 21)),
        (1, (40, 0), (41, 1)),
        (1, (1, 20), (4, 21)),
        (2, (1, 20), (4, 21)),
        (4, (1, 20), (4, 21)),
    ],
    ids=["both", "the leader epoch", "the partition epoch", "one that led before", "one that has left"],
)
async def test_hm_2_a_replica_that_knows_higher_epochs_than_a_restored_zookeeper_gets_higher_ones_still(
    zk: ZooKeeper, zk_connect: str, sender: int, seen: tuple[int, int], wanted: tuple[int, int]
) -> None:
    """It skips every LeaderAndIsr with a lower partition epoch, and asks again and again with its own epochs."""
    await begin(zk)
    async with elected_controller(zk_connect) as controller:
        epoch = controller.cluster.brokers[sender].epoch
        change = IsrChange("t", None, 0, *seen, (sender,))
        (answer,) = await controller.loop.submit(AlterPartitionCommand(AlterPartition(sender, epoch, [change], 1)))
        assert isinstance(answer, NotController)
        now = controller.partition(*NAME)
        assert (now.leader_epoch, now.partition_epoch, now.leader, now.isr) == (*wanted, 1, (1, 2, 3))
        assert isinstance(await controller.isr(NAME, (1, 2)), Partition)
        await controller.check()


@pytest.mark.parametrize("what", ["topic", "topic, seen by a reload", "partition"])
async def test_hm_2_what_another_term_saw_vanish_is_put_back_with_epochs_that_brokers_accept_though_its_leader_is_dead(
    zk: ZooKeeper, zk_connect: str, what: str
) -> None:
    """The next leader skips LeaderAndIsr where it has seen a higher partition epoch. No replica would ask for an ISR
    then, or lead.
    """
    await begin(zk)
    path = znode_paths.topic("t")
    async with elected_controller(zk_connect) as controller:
        for isr in ((1, 2), (1, 2, 3), (1, 2), (1, 2, 3)):
            assert isinstance(await controller.isr(NAME, isr), Partition)
        before = controller.partition(*NAME)
        backup = await saved(zk)
        whole = await topic_json(zk, "t")
    less = json.dumps(whole | {"partitions": {"1": whole["partitions"]["1"]}}).encode()
    if what == "partition":
        await delete_tree(zk, znode_paths.partition("t", 0))
        await zk.set(path, less)
    else:
        await delete_tree(zk, path)
    await zk.delete(znode_paths.broker(1))
    async with elected_controller(zk_connect) as controller:
        if what == "topic":
            await put_back(zk, backup)
            await look(controller)
        elif what == "topic, seen by a reload":
            await put_back(zk, backup)
            await reload(zk, controller)
        else:
            await watches_of(controller).changed_topics(["t"])
            await put_back(zk, [one for one in backup if one[0].startswith(znode_paths.partition("t", 0))])
            await zk.set(path, json.dumps(whole).encode())
            await see(zk, controller, "by a watch")
        now = controller.partition(*NAME)
        assert (now.leader, now.isr) == (2, (2, 3))
        assert now.leader_epoch > before.leader_epoch
        assert now.partition_epoch > before.partition_epoch
        assert (await zk.get(znode_paths.partition_state(*NAME)))[1].version == now.partition_epoch
        await controller.check()


@pytest.mark.parametrize(("epoch", "raised"), [(b"0", True), (b"40", False)], ids=["put back", "a copied ZooKeeper"])
async def test_hm_2_a_new_term_raises_epochs_of_states_that_were_put_back_before_it_but_not_in_a_copied_zookeeper(
    zk: ZooKeeper, zk_connect: str, epoch: bytes, raised: bool
) -> None:
    """A stock follower skips every LeaderAndIsr with a lower partition epoch than it knows, and says nothing of it. In
    a copy each znode begins at version 0: its brokers have started since, and know no epoch."""
    await zk.create(znode_paths.CONTROLLER_EPOCH, epoch)
    await begin(zk)
    before = await state_json(zk, NAME)
    async with serving(zk_connect) as address:
        assert await alter(address, {("u", 0): (2, 1)}) == {("u", 0): 0}  # commands wait for the end of the failover
        now = await state_json(zk, NAME)
        version = (await zk.get(znode_paths.partition_state(*NAME)))[1].version
    assert (now["leader_epoch"] > before["leader_epoch"], version > before["leader_epoch"]) == (raised, raised)
    assert (now["leader"], now["isr"]) == (before["leader"], before["isr"])


async def edit(zk: ZooKeeper, replicas: Sequence[int], **more: object) -> None:
    found = await topic_json(zk, "t")
    found = found | more | {"partitions": found["partitions"] | {"0": list(replicas)}}
    await zk.set(znode_paths.topic("t"), json.dumps(found).encode())


seen = pytest.mark.parametrize("seen", ["by a watch", "by a reload", "after a failover"])


async def see(zk: ZooKeeper, controller: BareController, seen: str) -> None:
    if seen == "by a watch":
        await watches_of(controller).changed_topics(["t"])
        await controller.loop.submit(Barrier())
    else:
        await reload(zk, controller)


@seen
@pytest.mark.parametrize("unclean", ["false", "true"])
async def test_hm_2_replicas_edited_by_hand_none_in_sync_are_a_move_that_keeps_those_in_sync(
    zk: ZooKeeper, zk_connect: str, seen: str, unclean: str
) -> None:
    await begin(zk, 1, 2)
    await zk.create(
        znode_paths.config_topic("t"),
        json.dumps({"version": 1, "config": {"unclean.leader.election.enable": unclean}}).encode(),
    )
    if seen == "after a failover":
        await edit(zk, [4])
    async with elected_controller(zk_connect) as controller:
        if seen != "after a failover":
            await edit(zk, [4])
            await see(zk, controller, seen)
        now = controller.partition(*NAME)
        assert (now.leader, now.isr, now.replicas, now.adding) == (1, (1, 2), (4, 1, 2), (4,))
        assert (await topic_json(zk, "t"))["removing_replicas"] == {"0": [1, 2]}
        assert [event.topic for event in controller.events if event.event == catalogue.PARTITION_EDIT_NOT_FOLLOWED] == [
            "t"
        ]
        await controller.check()

        assert isinstance(await controller.isr(NAME, (1, 2, 4)), Partition)
        await controller.stopped(NAME)
        assert controller.partition(*NAME).replicas == (4,)
        assert controller.partition(*NAME).leader == 4
        await controller.check()


@seen
async def test_hm_2_an_emptied_replica_list_is_written_back(zk: ZooKeeper, zk_connect: str, seen: str) -> None:
    await begin(zk, 1, 2)
    if seen == "after a failover":
        await edit(zk, [])
    async with elected_controller(zk_connect) as controller:
        if seen != "after a failover":
            await edit(zk, [])
            await see(zk, controller, seen)
        now = controller.partition(*NAME)
        assert (now.leader, now.isr, now.replicas, now.is_moving) == (1, (1, 2), (1, 2), False)
        assert (await topic_json(zk, "t"))["partitions"]["0"] == [1, 2]
        await controller.check()


@seen
async def test_hm_2_an_edit_during_a_move_keeps_what_is_in_sync(zk: ZooKeeper, zk_connect: str, seen: str) -> None:
    await begin(zk, 1, 2)
    async with elected_controller(zk_connect) as controller:
        assert await controller.alter({NAME: (3, 2)}) == {NAME: None}
        if seen != "after a failover":
            await edit(zk, [4], adding_replicas={}, removing_replicas={})
            await see(zk, controller, seen)
            await keeps(zk, controller)
            return
    await edit(zk, [4], adding_replicas={}, removing_replicas={})
    async with elected_controller(zk_connect) as controller:
        await keeps(zk, controller)


async def keeps(zk: ZooKeeper, controller: BareController) -> None:
    now = controller.partition(*NAME)
    assert (now.leader, now.isr, now.target) == (1, (1, 2), (4,))
    await controller.check()
    assert await controller.alter({NAME: None}) == {NAME: None}
    assert controller.partition(*NAME).replicas == (1, 2), "a cancel of it gives the replicas before"
    await controller.check()


async def test_hm_2_an_edit_that_leaves_only_dead_replicas_in_sync_keeps_the_live_ones(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 2, 4)
    await zk.ensure_path(znode_paths.CONFIG_CHANGES)
    await put_topic(zk, "t", {0: (2, 1)})
    async with elected_controller(zk_connect) as controller:
        await edit(zk, [1, 4])
        await see(zk, controller, "by a watch")
        assert controller.partition(*NAME).leader == 2
        await controller.check()


async def test_hm_2_an_edit_of_a_partition_whose_replicas_in_sync_are_all_dead_keeps_one_that_can_lead(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 4)
    await zk.ensure_path(znode_paths.CONFIG_CHANGES)
    await put_topic(zk, "t", {0: (2,)})
    async with elected_controller(zk_connect) as controller:
        assert controller.partition(*NAME).leader == NO_LEADER
        await edit(zk, [4])
        await see(zk, controller, "by a watch")
        now = controller.partition(*NAME)
        assert (now.leader, now.isr, now.replicas) == (NO_LEADER, (2,), (4, 2))
