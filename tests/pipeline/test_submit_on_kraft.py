"""Submit on stock Kafka 4.1 in KRaft mode, which has neither a queue nor compare-and-set."""

import asyncio
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest

from kafka_reassign_rpc.client import KafkaError, ReassignmentClient, TopicPartition, throttle_configs
from kafka_reassign_rpc.client.config_calls import BROKER
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE
from tests.pipeline.plans import Moves, write_plan
from tests.pipeline.test_real_clusters import fill
from tests.pipeline.test_submit import assignment, before, cluster_id, submit, targets
from tests.stock.jars import require
from tests.stock.kraft import VERSION, kraft_cluster, start_all
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.gate, pytest.mark.timeout(600)]

CAP, BROKERS = 2, (1, 2)
BATCH: Moves = {("t", index): ([2 - index % 2], [1 + index % 2]) for index in range(12)}
"""Six partitions of each broker go to the other one."""
TARGETS = targets([BATCH])


class Listings:
    """What the controller lists. `most`: the most moves at a time that one broker sent, or received."""

    def __init__(self, client: ReassignmentClient) -> None:
        self._client = client
        self.most = 0

    def look(self) -> set[TopicPartition]:
        """The moves in flight."""
        moves = self._client.list_partition_reassignments()
        load = Counter[tuple[str, int]]()
        for move in moves.values():
            load.update(("receives", broker) for broker in move.adding_replicas)
            load.update(("sends", broker) for broker in move.removing_replicas)
        self.most = max([self.most, *load.values()])
        return set(moves)


def throttle(client: ReassignmentClient, partitions: Collection[TopicPartition]) -> None:
    """Let the moves of these partitions alone copy 1 B/s: they do not end."""
    standing = before([BATCH])
    moves = throttle_configs.all_moves({}, {one: TARGETS[one] for one in partitions}, standing)
    assert not any(client.throttle_moves(moves, 1).values())


def knows_throttle(client: ReassignmentClient, broker: int) -> bool:
    found = client.describe_configs([(BROKER, str(broker))])[BROKER, str(broker)]
    assert not isinstance(found, KafkaError)
    return any((one.name, one.value) == (FOLLOWER_RATE, "1") for one in found)


async def test_dp_4_submit_killed_on_kraft_goes_on_within_its_caps_and_moves_begin_as_others_end(
    tmp_path: Path,
) -> None:
    require(VERSION)
    nodes = kraft_cluster(tmp_path / "nodes", BROKERS)
    bootstrap = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    try:
        await start_all(nodes)
        await asyncio.to_thread(fill, bootstrap, {"t": [(list(replicas), 300) for _, replicas in BATCH.values()]})
        with ReassignmentClient(bootstrap_servers=bootstrap) as client:
            path = write_plan(tmp_path / "p", cluster_id(client), BATCH, moves_per_broker=CAP)
            throttle(client, TARGETS)
            await eventually(lambda: all(knows_throttle(client, broker) for broker in BROKERS))
            listings = Listings(client)
            with submit(bootstrap, path) as process:
                try:
                    await eventually(listings.look)
                finally:
                    process.kill()
            first = listings.look()
            assert first, "it was killed while moves were under way"
            assert first < TARGETS.keys()

            # One of the first moves lasts until the test lets it end, whatever else does.
            slow = min(first)
            throttle(client, {slow})
            with submit(bootstrap, path) as process:
                try:
                    beside = await eventually(lambda: slow in (now := listings.look()) and now - first)
                    assert beside, "moves begin before all of the first ones have ended"

                    def others_are_done() -> bool:
                        listings.look()
                        others = TARGETS.items() - {(slow, TARGETS[slow])}
                        return assignment(client, "t").items() >= others

                    await eventually(others_are_done, within=120)
                    assert listings.look() == {slow}
                    client.change_configs(throttle_configs.no_broker_throttles(BROKERS))
                    assert await asyncio.to_thread(process.wait, 120) == 0
                finally:
                    process.kill()
            assert listings.most == CAP
            await eventually(lambda: assignment(client, "t") == TARGETS)
            assert listings.look() == set()
    finally:
        await asyncio.gather(*(node.kill() for node in nodes))
