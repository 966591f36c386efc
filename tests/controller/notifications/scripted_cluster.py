"""A real server and a real ZooKeeper with scripted brokers, which have failed log dirs on demand."""

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import UUID

from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.protocol.messages import (
    RESPONSES,
    AlterPartitionRequest,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    UpdateMetadataRequest,
)
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import put_topic, state_json
from tests.controller_channel.scripted_broker import (
    KAFKA_STORAGE_ERROR,
    NEWEST,
    NOT_LEADER_OR_FOLLOWER,
    STALE_CONTROLLER_EPOCH,
)
from tests.controller_channel.scripted_broker import ScriptedBroker as PlainBroker
from tests.faults.cluster import Address, address_of, ask

Name = tuple[str, int]
TOPIC_ID = UUID(int=5)


class JbodBroker(PlainBroker):
    """Answers LeaderAndIsr as a stock broker does: 56 for replicas in `offline`, 11 for a leader epoch that it knows.

    half_made   by partition: the leader epoch with which a replica was half-made; a request that has it is refused
    states      by partition: the leader, the ISR and the offline replicas that the last UpdateMetadata showed
    registered  the connection that holds its znode
    """

    def __init__(self, broker_id: int) -> None:
        super().__init__(NEWEST)
        self.id = broker_id
        self.offline: set[int] = set()
        self.epochs: dict[int, int] = {}
        self.half_made: dict[int, int] = {}
        self.states: dict[int, tuple[int, list[int], list[int]]] = {}
        self.registered: ZooKeeper
        self.answer = self._answer

    def _answer(self, body: Any) -> Any:
        if isinstance(body, UpdateMetadataRequest):
            for topic in body.topic_states:
                for one in topic.partition_states:
                    self.states[one.partition_index] = one.leader, list(one.isr), sorted(one.offline_replicas)
        if not isinstance(body, LeaderAndIsrRequest):
            return RESPONSES[body.API_KEY]
        told = {one.partition_index: one.leader_epoch for topic in body.topic_states for one in topic.partition_states}
        if self.half_made.items() & told.items():
            return LeaderAndIsrResponse(version=7, error_code=NOT_LEADER_OR_FOLLOWER)
        cls = LeaderAndIsrResponse.LeaderAndIsrTopicError
        return LeaderAndIsrResponse(
            version=7,
            error_code=0,
            topics=[
                cls(
                    version=7,
                    topic_id=topic.topic_id,
                    partition_errors=[
                        cls.LeaderAndIsrPartitionError(
                            version=7, partition_index=one.partition_index, error_code=self._become(one)
                        )
                        for one in topic.partition_states
                    ],
                )
                for topic in body.topic_states
            ],
        )

    def _become(self, state: Any) -> int:
        index = state.partition_index
        if index in self.offline:
            return KAFKA_STORAGE_ERROR
        if state.leader_epoch <= self.epochs.get(index, -1):
            return STALE_CONTROLLER_EPOCH
        self.epochs[index] = state.leader_epoch
        return 0


class ScriptedCluster:
    """Topic `t` with the given assignment, and brokers that a test may register, unregister and ask."""

    def __init__(self, zk: ZooKeeper, connect: str, brokers: dict[int, JbodBroker]) -> None:
        self.zk = zk
        self.connect = connect
        self.brokers = brokers
        self.server: Address

    async def register(self, broker: int) -> None:
        made = self.brokers[broker]
        made.registered = ZooKeeper(self.connect)
        await made.registered.start()
        endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", made.port)
        data = znode_contents.encode_broker([endpoint], 0)
        await made.registered.create(znode_paths.broker(broker), data, ephemeral=True)

    async def unregister(self, broker: int) -> None:
        await self.brokers[broker].registered.close()
        self.brokers[broker].epochs.clear()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        config = ServerConfig(
            zookeeper_connect=self.connect, listeners=[Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 0)]
        )
        async with ControllerProcess(config) as server:
            await server.ready()
            self.server = address_of(server.bootstrap)
            yield

    async def lose_log_dir(self, broker: int, *indexes: int) -> None:
        """A log dir of this broker fails, with the replicas of these partitions."""
        self.brokers[broker].offline.update(indexes)
        await self.notify(b'{"version":1,"broker":%d,"event":1}' % broker)

    async def notify(self, data: bytes) -> None:
        await self.zk.create(f"{znode_paths.LOG_DIR_EVENTS}/log_dir_event_", data, sequence=True)

    async def state(self, index: int) -> tuple[int, list[int]]:
        """The leader and the ISR in ZooKeeper."""
        found = await state_json(self.zk, ("t", index))
        return found["leader"], found["isr"]

    async def has(self, index: int, leader: int, isr: list[int]) -> bool:
        return await self.state(index) == (leader, isr)

    def shown(self, index: int, *, to: Iterable[int] = (1, 2, 3)) -> list[Any]:
        """Leader, ISR and offline replicas as each of these brokers has learnt them."""
        return [self.brokers[broker].states.get(index) for broker in to]

    async def is_gone(self, parent: str) -> bool:
        stat = await self.zk.exists(parent)
        return stat is not None and not stat.num_children

    async def alter_isr(self, index: int, isr: list[int]) -> int:
        """AlterPartition 3 by the leader. Returns the error code of the partition."""
        found, stat = await self.zk.get(znode_paths.partition_state("t", index))
        state = topic_znodes.decode_state(found, "")
        registration = await self.zk.exists(znode_paths.broker(state.leader))
        assert registration is not None
        cls = AlterPartitionRequest.TopicData
        part = cls.PartitionData(
            version=2,
            partition_index=index,
            leader_epoch=state.leader_epoch,
            new_isr=isr,
            leader_recovery_state=0,
            partition_epoch=stat.version,
        )
        request = AlterPartitionRequest(
            version=2,
            broker_id=state.leader,
            broker_epoch=registration.czxid,
            topics=[cls(version=2, topic_id=TOPIC_ID, partitions=[part])],
        )
        answer = await ask(self.server, request, 2)
        code: int = answer.error_code or answer.topics[0].partitions[0].error_code
        return code


@asynccontextmanager
async def scripted_cluster(
    zk: ZooKeeper, connect: str, assignment: dict[int, tuple[int, ...]], ids: Iterable[int] = (1, 2, 3)
) -> AsyncIterator[ScriptedCluster]:
    """Brokers 1, 2 and 3, and topic `t`: all replicas in sync, the first leads. No server runs yet."""
    async with AsyncExitStack() as stack:
        for path in (znode_paths.BROKER_IDS, znode_paths.LOG_DIR_EVENTS, znode_paths.ISR_CHANGES):
            await zk.ensure_path(path)
        await put_topic(zk, "t", assignment, topic_id=TOPIC_ID)
        cluster = ScriptedCluster(zk, connect, {broker: JbodBroker(broker) for broker in ids})
        for broker in cluster.brokers.values():
            await broker.start()
            stack.push_async_callback(broker.stop)
            await cluster.register(broker.id)
            stack.push_async_callback(cluster.unregister, broker.id)
        yield cluster
