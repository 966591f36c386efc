"""A stock KRaft cluster and a watch of it: what moves there, what is set there, and what watch says of it."""

from collections.abc import Sequence

from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError, TopicPartition, throttle_configs
from kafka_reassign_rpc.client.config_calls import TOPIC, Changes
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_REPLICAS, LEADER_REPLICAS
from tests.waiting import eventually
from tests.watch.kraft_world import BROKERS, KRaftWorld
from tests.watch.watching import Watch


class Stage:
    """`stays` leads what moves to `target`; `lost` is frozen, killed and started again: the active controller, where
    there are others."""

    def __init__(self, world: KRaftWorld, watch: Watch, lost: int) -> None:
        self.world, self.watch, self.lost = world, watch, lost
        self.stays, self.target = [one for one in BROKERS if one != lost]
        self.release = tuple(map(int, world.version.split(".")[:2]))

    async def stalled(self, topic: str, beginning: str) -> None:
        """The move's reason begins so, sooner or later."""

        async def is_named() -> bool:
            one = (await self.watch.moves())[f"{topic}-0"]
            assert one["stalled"] is not None, one
            assert one["stalled"].startswith(beginning), one["stalled"]
            return True

        await eventually(is_named, within=90)

    async def sick_is_moved(self) -> bool:
        async with AsyncReassignmentClient(bootstrap_servers=self.bootstrap) as client:
            found = (await client.describe_topics(["sick"]))["sick"]
        return not isinstance(found, KafkaError) and found[0].replicas == (self.target, self.lost)

    async def completed(self, *topics: str) -> None:
        async def is_over() -> bool:
            return {("move.completed", topic) for topic in topics} <= set(await self.watch.events())

        await eventually(is_over, within=90)

    @property
    def bootstrap(self) -> str:
        """That of a broker which is always there."""
        return f"127.0.0.1:{self.world.nodes[self.stays].port}"

    async def moves(self, targets: dict[str, list[int]]) -> None:
        async with AsyncReassignmentClient(bootstrap_servers=self.bootstrap) as client:
            errors = await client.alter_partition_reassignments(
                {TopicPartition(topic, 0): target for topic, target in targets.items()}
            )
        assert not any(errors.values()), errors

    async def cancel(self, topic: str) -> None:
        async with AsyncReassignmentClient(bootstrap_servers=self.bootstrap) as client:
            errors = await client.cancel_partition_reassignments([TopicPartition(topic, 0)])
        assert not any(errors.values()), errors

    async def configs(self, changes: Changes) -> None:
        async with AsyncReassignmentClient(bootstrap_servers=self.bootstrap) as client:
            errors = await client.change_configs(changes)
        assert not any(errors.values()), errors

    async def hold(self, topics: Sequence[str], leader: int, targets: Sequence[int], rate: int = 1) -> None:
        """No more than so many bytes a second of these topics move from now on: of one byte, hardly anything."""
        lists = {
            (TOPIC, topic): {
                LEADER_REPLICAS: f"0:{leader}",
                FOLLOWER_REPLICAS: ",".join(f"0:{one}" for one in targets),
            }
            for topic in topics
        }
        await self.configs({**throttle_configs.rates((leader, *targets), rate), **lists})
