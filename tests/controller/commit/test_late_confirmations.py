"""A broker's confirmation of a StopReplica that comes after the replica was added and retired once more."""

from kafka_reassign_rpc.controller.commands.cluster_commands import StopsConfirmed
from kafka_reassign_rpc.controller_channel.pending_requests import StopReplicaState
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, put_topic, register

NAME = TopicPartition("t", 0)


def confirmation(leader_epoch: int, created: int) -> StopsConfirmed:
    return StopsConfirmed(3, {NAME: StopReplicaState(leader_epoch, delete=True, created=created)})


async def test_455_9_a_late_confirmation_does_not_count_for_a_replica_that_was_retired_again(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2, 3)
    await put_topic(zk, "t", {0: (1, 2, 3)})
    async with elected_controller(zk_connect) as controller:
        assert await controller.alter({NAME: (1, 2)}) == {NAME: None}
        first, created = controller.partition(*NAME), controller.cluster.topics["t"].created
        assert first.pending_deletion == (3,)

        assert await controller.alter({NAME: (1, 2, 3)}) == {NAME: None}
        assert controller.partition(*NAME).adding == (3,)
        assert await controller.alter({NAME: None}) == {NAME: None}
        await controller.loop.submit(confirmation(first.leader_epoch, created))
        again = controller.partition(*NAME)
        assert again.pending_deletion == (3,), "broker 3 has got a log since, and has to delete it"
        await controller.check()

        await controller.loop.submit(confirmation(again.leader_epoch, created - 1))
        assert controller.partition(*NAME).pending_deletion == (3,), "that was an earlier topic of this name"
        await controller.loop.submit(confirmation(again.leader_epoch, created))
        assert controller.partition(*NAME).pending_deletion == ()
        await controller.check()
