"""A leader repeats its AlterPartition while the first one is still being decided: both get the same new epoch."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from kafka_reassign_rpc.api.ports import AlterPartition
from kafka_reassign_rpc.controller.commands.command import Command
from kafka_reassign_rpc.controller.commands.leadership_commands import AlterPartitionCommand
from kafka_reassign_rpc.controller.controller_loop import ControllerLoop
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import ZooKeeperStore
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.leadership.isr_changes import IsrChange
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.writers.replay import ReplayedChanges
from kafka_reassign_rpc.protocol.messages import AlterPartitionRequest, AlterPartitionResponse
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import TOPIC_ID, elected_controller, put_topic, register, state_json
from tests.controller.cluster import LISTENERS
from tests.waiting import eventually


async def test_sv_4_an_alter_partition_repeated_in_one_round_is_answered_with_the_new_partition_epoch(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "t", {0: (1, 2)})

    async with elected_controller(zk_connect) as controller:
        before = controller.partition("t")
        epoch = controller.cluster.brokers[1].epoch

        def asks(isr: tuple[int, ...], partition_epoch: int) -> "asyncio.Future[Sequence[Partition | KafkaError]]":
            change = IsrChange("t", None, 0, before.leader_epoch, partition_epoch, isr)
            return controller.loop.submit(AlterPartitionCommand(AlterPartition(1, epoch, [change], 1)))

        same = [asks((1,), before.partition_epoch), asks((1,), before.partition_epoch)]
        back = asks((1, 2), before.partition_epoch + 1)  # no leader can know this epoch yet: it is decided all the same

        ((first,), (second,)) = await asyncio.gather(*same)
        assert first == second
        assert isinstance(first, Partition)
        assert (first.isr, first.partition_epoch) == ((1,), before.partition_epoch + 1)
        (last,) = await back
        assert isinstance(last, Partition)
        assert (last.isr, last.partition_epoch) == ((1, 2), before.partition_epoch + 1)
        assert len(controller.zk.transactions) == 1, "one round"
        _, stat = await zk.get(znode_paths.partition_state("t", 0))
        assert (await state_json(zk, ("t", 0)))["isr"] == [1, 2]
        assert stat.version == last.partition_epoch
        await controller.check()


async def test_sv_4_over_two_connections_a_repeated_alter_partition_is_answered_with_the_new_partition_epoch(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await register(zk, 1, 2)
    await put_topic(zk, "t", {0: (1, 2), 1: (1, 2)})
    broker_epoch = (await zk.get(znode_paths.broker(1)))[1].czxid
    free, busy = asyncio.Event(), asyncio.Event()
    commit = ZooKeeperStore.commit

    async def held(store: ZooKeeperStore, cluster: Cluster, view: RoundView) -> ReplayedChanges:
        if ("t", 1) in view.partitions:
            busy.set()
            await free.wait()
        return await commit(store, cluster, view)

    submitted: list[Command[Any]] = []
    submit = ControllerLoop.submit

    def noted(loop: ControllerLoop, command: Command[Any]) -> "asyncio.Future[Any]":
        submitted.append(command)
        return submit(loop, command)

    def request(index: int, leader_epoch: int, partition_epoch: int) -> AlterPartitionRequest:
        cls = AlterPartitionRequest
        member = cls.TopicData.PartitionData.BrokerState(version=3, broker_id=1, broker_epoch=broker_epoch)
        partition = cls.TopicData.PartitionData(
            version=3,
            partition_index=index,
            leader_epoch=leader_epoch,
            new_isr_with_epochs=[member],
            leader_recovery_state=0,
            partition_epoch=partition_epoch,
        )
        topic = cls.TopicData(version=3, topic_id=TOPIC_ID, partitions=[partition])
        return cls(version=3, broker_id=1, broker_epoch=broker_epoch, topics=[topic])

    def answered(answer: AlterPartitionResponse) -> tuple[int, list[int], int]:
        ((partition,),) = [topic.partitions for topic in answer.topics]
        return partition.error_code, list(partition.isr), partition.partition_epoch

    async with ControllerProcess(ServerConfig(zookeeper_connect=zk_connect, listeners=LISTENERS)) as server:
        await server.ready()
        host, _, port = server.bootstrap.rpartition(":")
        connections = [await RpcClient.open(host, int(port), "broker-1", 20.0) for _ in range(3)]
        # APIs are served before the failover, which raises the epochs: what is asked waits behind it.
        await connections[0].call(AlterPartitionRequest, request(0, 0, 0), 3)
        states = [await state_json(zk, ("t", index)) for index in (0, 1)]
        versions = [(await zk.get(znode_paths.partition_state("t", index)))[1].version for index in (0, 1)]
        monkeypatch.setattr(ZooKeeperStore, "commit", held)
        monkeypatch.setattr(ControllerLoop, "submit", noted)

        async def ask(at: int, index: int) -> AlterPartitionResponse:
            wanted = request(index, states[index]["leader_epoch"], versions[index])
            return await connections[at].call(AlterPartitionRequest, wanted, 3)

        first = asyncio.create_task(ask(0, 1))
        await busy.wait()  # its round is under way: the two requests that follow share the next one
        repeated = [asyncio.create_task(ask(at, 0)) for at in (1, 2)]
        await eventually(lambda: sum(isinstance(command, AlterPartitionCommand) for command in submitted) == 3)
        free.set()

        assert [answered(await answer) for answer in (*repeated, first)] == [
            (0, [1], versions[0] + 1),
            (0, [1], versions[0] + 1),
            (0, [1], versions[1] + 1),
        ]
        for connection in connections:
            connection.close()
