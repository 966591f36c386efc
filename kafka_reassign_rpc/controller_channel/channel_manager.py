"""All broker connections of one controller, and who has to be told what after a change."""

import asyncio
from collections.abc import Callable, Collection, Iterable

from kafka_reassign_rpc.controller_channel.broker_channel import BrokerChannel, Stopped
from kafka_reassign_rpc.controller_channel.pending_requests import DELETED_EPOCH, ReplicaStop
from kafka_reassign_rpc.controller_channel.request_builders import Sender
from kafka_reassign_rpc.core.state.cluster import Broker, Cluster, Partition, TopicPartition


class ChannelManager:
    """One channel per registered broker. Marks are cheap; `flush` wakes the channels that have news."""

    def __init__(
        self,
        cluster: Callable[[], Cluster],
        sender: Sender,
        stopped: Stopped,
        deposed: Callable[[], None],
        listener: str | None = None,
    ) -> None:
        self._cluster = cluster
        self._sender = sender
        self._stopped = stopped
        self._deposed = deposed
        self._listener = listener
        self._channels: dict[int, BrokerChannel] = {}
        self._gone: dict[int, dict[TopicPartition, ReplicaStop]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    def set_brokers(self, brokers: Iterable[Broker]) -> list[int]:
        """Connect to those registered and to no other; returns the ids that were not connected before.

        Everybody learns the new set of live brokers.
        """
        wanted = {broker.id: broker for broker in brokers}
        for broker_id, channel in list(self._channels.items()):
            if wanted.get(broker_id) != channel.broker:
                del self._channels[broker_id]
                task = asyncio.create_task(channel.close())
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)
        new = [broker_id for broker_id in wanted if broker_id not in self._channels]
        for broker_id in new:
            self._channels[broker_id] = BrokerChannel(
                wanted[broker_id],
                self._cluster,
                self._sender,
                self._stopped,
                self._deposed,
                self._listener,
                self._turn,
            )
        for channel in self._channels.values():
            channel.outbox.live_brokers_changed()
        return new

    def partition_changed(self, topic: str, index: int, before: Partition | None, after: Partition) -> None:
        """Mark what a partition's replicas have to be told, and who has to stop. (See `metadata` for the rest.)

        A replica that was pending_deletion before may have stopped, and been added and dropped again in the same round.
        """
        news = before is None or before.leader_epoch != after.leader_epoch
        if news:
            for replica in after.replicas:
                self.leader_and_isr(replica, topic, index, is_new=before is None or replica not in before.replicas)
        for replica in after.pending_deletion:
            if news or before is None or replica not in before.pending_deletion:
                self.retire(replica, topic, index, after)

    def leader_and_isr(self, broker_id: int, topic: str, index: int, *, is_new: bool = False) -> None:
        channel = self._channels.get(broker_id)
        if channel is not None:
            channel.outbox.leader_and_isr(topic, index, is_new=is_new)

    def metadata(self, topic: str, indexes: Collection[int], *, to: int | None = None) -> None:
        """What brokers tell clients about these partitions is out of date: at all of them, or at broker `to`."""
        for broker_id, channel in self._channels.items():
            if to is None or to == broker_id:
                channel.outbox.metadata(topic, indexes)

    def stop(self, broker_id: int, topic: str, index: int, stop: ReplicaStop) -> None:
        channel = self._channels.get(broker_id)
        if channel is not None:
            channel.outbox.stop(topic, index, stop)

    def retire(self, broker_id: int, topic: str, index: int, value: Partition) -> None:
        """The broker may hold a replica that has left the assignment. A broker that is gone is not waited for."""
        stop = ReplicaStop(value.leader_epoch, delete=True)
        if broker_id in self._cluster().brokers:
            self.stop(broker_id, topic, index, stop)
        else:
            self._gone.setdefault(broker_id, {})[TopicPartition(topic, index)] = stop

    def topic_deleted(self, topic: str, partitions: Iterable[tuple[int, Partition]]) -> None:
        """Everybody forgets the topic; its replicas stop and delete their logs."""
        found = list(partitions)
        for channel in self._channels.values():
            channel.outbox.topic_deleted(topic, (index for index, _ in found))
        for index, value in found:
            for replica in (*value.replicas, *value.pending_deletion):
                self.stop(replica, topic, index, ReplicaStop(DELETED_EPOCH, delete=True))

    def flush(self) -> None:
        gone, self._gone = self._gone, {}
        for broker_id, stops in gone.items():
            self._stopped(broker_id, stops)
        for channel in self._channels.values():
            if channel.outbox:
                channel.wake()

    async def close(self) -> None:
        channels, self._channels = list(self._channels.values()), {}
        await asyncio.gather(*(channel.close() for channel in channels), *self._closing)
