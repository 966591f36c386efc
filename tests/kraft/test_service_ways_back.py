"""Ways back on a stock cluster: what stock tools and clients cancel before it is told, and the original replicas as a
target of a move that goes on or has just ended; and what is refused, while a broker is frozen."""

import asyncio
import json
from contextlib import suppress

import pytest

from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError
from kafka_reassign_rpc.client.config_calls import TOPIC
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicaAssignment
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED
from kafka_reassign_rpc.core.state.partition import QUEUE, CancelMove, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.kraft.service import STATE_TOPIC, Service, client_of
from tests.kraft.stock_cluster import SIDES
from tests.stock.jars import EACH_TOOL
from tests.stock.tools import Tools
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.gate]


@pytest.mark.parametrize("release", EACH_TOOL)
async def test_kr_7_the_stock_tool_cancels_another_order_that_waits_or_is_held(service: Service, release: str) -> None:
    [topic] = await service.cluster.create({"order": [[1, 2], [1, 2]]})
    names = [TopicPartition(topic, index) for index in range(2)]
    server = await service.start()
    plan = service.folder / "plan.json"
    entries = [{"topic": topic, "partition": index, "replicas": [2, 1]} for index in range(2)]
    plan.write_text(json.dumps({"version": 1, "partitions": entries}))
    args = ["--bootstrap-server", server.ready_value("bootstrap"), "--reassignment-json-file", str(plan)]
    async with client_of(server) as client:
        await client.change_settings({ENABLED: "false"})
        for name, reason in zip(names, ("waits", "held"), strict=True):
            terms = MoveTerms((2, 1), route=QUEUE, reason=reason)
            assert await client.alter_partition_reassignments({name: terms}) == {name: None}
        assert (await client.hold(requests=["held"])).changed == 1
        listed = await client.list_partition_reassignments()
        assert {one.target for one in listed.values()} == {(2, 1)}
        assert {one.adding_replicas for one in listed.values()} == {()}
        with Tools(release) as tools:
            found = await tools.run("reassign-partitions", *args, "--cancel")
        assert found.code == 0, found
        assert f"Successfully cancelled partition reassignments for: {topic}-0,{topic}-1" in found.out
        assert service.named(catalogue.MOVE_WITHDRAWN) == dict.fromkeys(names, 1)
        await client.change_settings({ENABLED: None})
        assert await client.list_partition_reassignments() == {}
    assert await service.replicas(topic) == {0: (1, 2), 1: (1, 2)}


async def test_kr_6_the_original_replicas_as_a_target_come_whether_the_move_goes_on_or_has_just_ended(
    service: Service,
) -> None:
    [slow, quick] = [
        *await service.cluster.create({"slow": [[2, 1]]}, records=200, slow=True),
        *await service.cluster.create({"quick": [[2, 1]]}, records=20),
    ]
    goes_on, ends = TopicPartition(slow, 0), TopicPartition(quick, 0)
    server = await service.start()
    async with client_of(server) as client:
        assert await client.alter_partition_reassignments({goes_on: (3, 1)}) == {goes_on: None}
        assert await client.alter_partition_reassignments({goes_on: (2, 1)}) == {goes_on: None}
        assert await service.moving() == set(), "the cluster has cancelled it"
        assert await client.alter_partition_reassignments({ends: (3, 1)}) == {ends: None}
        while ends in await service.moving():
            await asyncio.sleep(0)
        assert await client.alter_partition_reassignments({ends: (2, 1)}) == {ends: None}, "no look has seen its end"

        async def are_back() -> bool:
            now = await service.replicas(slow), await service.replicas(quick)
            return now == ({0: (2, 1)}, {0: (2, 1)}) and not await service.moving()

        await eventually(are_back)
        await eventually(lambda: service.named(catalogue.MOVE_COMPLETED).total() >= 2)
        assert await client.list_partition_reassignments() == {}
    assert service.named(catalogue.MOVE_CANCELLED) == {}


async def test_kr_6_an_unclean_cancel_is_refused_in_the_words_of_the_cluster_and_so_are_fenced_and_dead_targets(
    service: Service,
) -> None:
    """A broker that is frozen is fenced after `broker.session.timeout.ms`. It has the only old replica, and of two new
    ones the other has copied nothing yet."""
    server = await service.start(1_002)
    [log] = (await service.partitions(STATE_TOPIC)).values()
    frozen, slow = (3, 2) if log.leader == 2 else (2, 3)
    [topic, other] = await service.cluster.create({"unclean": [[frozen]], "other": [[1]]}, records=200, slow=True)
    lists = (f"{side}.replication.throttled.replicas" for side in SIDES)
    only_slow = {(TOPIC, topic): dict(zip(lists, (None, f"0:{slow}"), strict=True))}
    name, elsewhere = TopicPartition(topic, 0), TopicPartition(other, 0)
    cluster, front = service.cluster.bootstrap, server.ready_value("bootstrap")

    async def answer(at: str, of: TopicPartition, target: tuple[int, ...] | None) -> KafkaError | None:
        """Each time by a new client: one that has waited in vain may go on to the brokers."""
        while True:
            with suppress(KafkaError):  # the frozen one was asked, or a commit waits for its replica of the log
                async with AsyncReassignmentClient(bootstrap_servers=at, request_timeout_ms=15_000) as client:
                    wanted = CancelMove() if target is None else target
                    return (await client.alter_partition_reassignments({of: wanted}))[of]
            await asyncio.sleep(0)

    async with AsyncReassignmentClient(bootstrap_servers=cluster, request_timeout_ms=2_000) as direct:

        async def are_in_sync(brokers: set[int]) -> bool:
            try:
                found = (await direct.describe_topics([topic]))[topic]
            except KafkaError:
                return False
            return not isinstance(found, KafkaError) and {*found[0].isr} == brokers

        assert set((await direct.change_configs(only_slow)).values()) == {None}
        assert await answer(front, name, (1, slow)) is None
        await eventually(lambda: are_in_sync({1, frozen}))
        service.cluster.nodes[frozen].freeze()
        try:
            await eventually(lambda: are_in_sync({1}))
            ours, theirs = await answer(front, name, None), await answer(cluster, name, None)
            assert isinstance(ours, InvalidReplicaAssignment), ours
            assert (type(ours), str(ours)) == (type(theirs), str(theirs))
            assert "would require an unclean leader election" in str(ours)
            await eventually(lambda: catalogue.BROKER_LOST in [one["event"] for one in service.events()])
            for gone in (frozen, 77):
                refused = await answer(front, elsewhere, (1, gone))
                assert isinstance(refused, InvalidReplicaAssignment), refused
                assert str(gone) in str(refused)
        finally:
            service.cluster.nodes[frozen].thaw()
    assert await service.moving() == {name}
    assert service.named(catalogue.MOVE_CANCELLED) == {}

    async def is_cancelled() -> bool:
        return await answer(front, name, None) is None

    await eventually(is_cancelled)
    # A cancel whose answer is lost may arrive for a minute: only then do looks count.
    await eventually(lambda: service.named(catalogue.MOVE_CANCELLED) == {name: 1}, within=120)
    assert await service.replicas(topic) == {0: (frozen,)}
