"""`delete.topic.enable=false`: topics are not deleted, and marks of their deletion are removed.

What the operator has not set is learnt from the brokers. Until it is known, nothing is deleted.
"""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from kafka_reassign_rpc.controller.commands.command import Command, Round
from kafka_reassign_rpc.controller.commands.topic_commands import TopicDeletionsRead
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.controller.loading.load_cluster import read_cluster
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.settings.broker_settings import AT_FIRST, KAFKA_DEFAULTS
from kafka_reassign_rpc.core.settings.reassignment_settings import DEFAULT_SETTINGS
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.core.state.partition import NO_LEADER, Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.writers.topic_facts import MarksFound
from kafka_reassign_rpc.protocol.messages import DeleteTopicsRequest, DescribeConfigsRequest, MetadataRequest
from kafka_reassign_rpc.support.turns import Pace
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import WatchKind
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, put_topic, register, state_json
from tests.controller.bare_watches import watches_of
from tests.controller.cluster import Cluster
from tests.core.build import TOPIC, moving, view
from tests.waiting import eventually
from tests.zookeeper.trees import delete_tree

SERVER = 1000


@asynccontextmanager
async def serving(connect: str, *, own: bool | None) -> AsyncIterator[RpcClient]:
    config = ServerConfig(
        zookeeper_connect=connect,
        listeners=[Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 0)],
        server_id=SERVER,
        broker_settings={} if own is None else {"delete.topic.enable": own},
    )
    async with ControllerProcess(config) as server:
        await asyncio.wait_for(server.ready(), 20)
        host, _, port = server.bootstrap.rpartition(":")
        client = await RpcClient.open(host, int(port), "test", 20.0)
        try:
            yield client
        finally:
            client.close()


async def shown(client: RpcClient, topic: str) -> bool:
    cls = MetadataRequest
    request = cls(version=8, topics=[cls.MetadataRequestTopic(version=8, name=topic)], allow_auto_topic_creation=False)
    (found,) = (await client.call(MetadataRequest, request, 8)).topics
    return bool(found.error_code == 0)


async def no_marks(zk: ZooKeeper) -> bool:
    return not await zk.children(znode_paths.DELETE_TOPICS)


async def test_sv_4_where_deletion_is_disabled_marks_are_removed_and_their_topics_stay(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await register(zk, 1)
    await put_topic(zk, "t", {0: (1,)})
    await zk.create(znode_paths.delete_topic("t"))
    async with serving(zk_connect, own=False) as client:
        assert await no_marks(zk), "before clients are served"
        assert await shown(client, "t")

        for name in ("t", "nope"):
            await zk.create(znode_paths.delete_topic(name))
        await eventually(lambda: no_marks(zk))
        assert await shown(client, "t")
        assert await zk.exists(znode_paths.partition_state("t", 0)) is not None


@pytest.mark.parametrize(("version", "code"), [(2, 42), (3, 73)])
async def test_sv_4_where_deletion_is_disabled_clients_cannot_delete_and_see_the_setting(
    zk: ZooKeeper, zk_connect: str, version: int, code: int
) -> None:
    await register(zk, 1)
    await put_topic(zk, "t", {0: (1,)})
    async with serving(zk_connect, own=False) as client:
        request = DeleteTopicsRequest(version=version, topic_names=["t"], timeout_ms=10_000)
        (result,) = (await client.call(DeleteTopicsRequest, request, version)).responses
        assert (result.name, result.error_code) == ("t", code)
        assert await shown(client, "t")
        assert await no_marks(zk)

        cls = DescribeConfigsRequest
        resource = cls.DescribeConfigsResource(
            resource_type=4, resource_name=str(SERVER), configuration_keys=["delete.topic.enable"]
        )
        described = await client.call(cls, cls(resources=[resource], include_synonyms=False), 3)
        assert [(one.name, one.value) for one in described.results[0].configs] == [("delete.topic.enable", "false")]


async def test_sv_4_a_deletion_under_way_ends_where_deletion_has_been_disabled_since(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Broker 1 is registered and does not answer, so the deletion waits."""
    await register(zk, 1)
    await put_topic(zk, "t", {0: (1,)})
    async with serving(zk_connect, own=True) as client:
        request = DeleteTopicsRequest(version=4, topic_names=["t"], timeout_ms=10_000)
        (result,) = (await client.call(DeleteTopicsRequest, request, 4)).responses
        assert result.error_code == 0
        assert not await shown(client, "t")
        assert not await no_marks(zk)
    async with serving(zk_connect, own=False) as client:
        assert await no_marks(zk)
        assert await shown(client, "t")


# ------------------------------------------------------------------------- while the brokers' setting is not known

DISABLED = {"delete.topic.enable": "false"}
TIMED_OUT, DELETION_DISABLED = 7, 73


@asynccontextmanager
async def no_brokers_yet(zk: ZooKeeper, connect: str) -> AsyncIterator[Cluster]:
    """A cluster with its server, and nothing known of any broker. Topic t has one replica, on broker 1."""
    await put_topic(zk, "t", {0: (1,)})
    here = Cluster(connect, zk, DEFAULT_SETTINGS)
    try:
        await here.start_server()
        yield here
    finally:
        await here.end()


async def delete(here: Cluster, name: str, timeout_ms: int) -> tuple[int, str | None]:
    request = DeleteTopicsRequest(topic_names=[name], timeout_ms=timeout_ms)
    (result,) = (await here.ask(request, 5)).responses
    return result.error_code, result.error_message


async def is_shown(here: Cluster, name: str) -> bool:
    client = await here.client()
    try:
        return await shown(client, name)
    finally:
        client.close()


async def is_gone(zk: ZooKeeper, name: str) -> bool:
    return await no_marks(zk) and await zk.exists(znode_paths.topic(name)) is None


async def test_sv_4_a_mark_of_others_deletes_nothing_before_the_brokers_setting_is_known_and_goes_if_they_forbid_it(
    zk: ZooKeeper, zk_connect: str
) -> None:
    await put_topic(zk, "u", {0: (1,)})
    await zk.create(znode_paths.delete_topic("u"))
    async with no_brokers_yet(zk, zk_connect) as here:
        await zk.create(znode_paths.delete_topic("t"))
        code, message = await delete(here, "t", 100)
        assert code == TIMED_OUT
        assert message is not None
        assert "--delete-topic-enable" in message
        assert set(await zk.children(znode_paths.DELETE_TOPICS)) == {"t", "u"}
        for name in ("t", "u"):
            assert await is_shown(here, name)

        here.broker_configs = DISABLED
        await here.start_broker(1)
        await eventually(lambda: no_marks(zk))
        await eventually(lambda: here.has_all(("t", 0), 1))
        await eventually(lambda: here.has_all(("u", 0), 1))
        assert await is_shown(here, "u")
        assert (await delete(here, "t", 10_000))[0] == DELETION_DISABLED


async def test_sv_4_a_mark_of_others_is_carried_out_as_soon_as_the_brokers_are_known_to_allow_it(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with no_brokers_yet(zk, zk_connect) as here:
        await zk.create(znode_paths.delete_topic("t"))
        assert await is_shown(here, "t")
        await here.start_broker(1)
        await eventually(lambda: is_gone(zk, "t"))
        await eventually(lambda: here.has_no(("t", 0), 1))


async def test_sv_4_a_client_that_deletes_waits_until_the_brokers_have_said_whether_they_allow_it(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with no_brokers_yet(zk, zk_connect) as here:
        answer = asyncio.create_task(delete(here, "t", 60_000))
        await here.start_broker(1)
        assert await answer == (0, None)
        await eventually(lambda: is_gone(zk, "t"))


@asynccontextmanager
async def accepted_and_unknown(zk: ZooKeeper, connect: str) -> AsyncIterator[Cluster]:
    """A server has accepted the deletion of topic t. The next one knows nothing of any broker."""
    await put_topic(zk, "t", {0: (1,)})
    async with serving(connect, own=True) as client:
        request = DeleteTopicsRequest(version=4, topic_names=["t"], timeout_ms=10_000)
        (result,) = (await client.call(DeleteTopicsRequest, request, 4)).responses
        assert result.error_code == 0
    here = Cluster(connect, zk, DEFAULT_SETTINGS)
    try:
        await here.start_server()
        assert not await is_shown(here, "t"), "its client has had the answer that it is deleted"
        assert await zk.exists(znode_paths.partition_state("t", 0)) is not None
        yield here
    finally:
        await here.end()


async def test_sv_4_an_accepted_deletion_goes_on_under_the_next_controller_once_the_brokers_are_known_to_allow_it(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with accepted_and_unknown(zk, zk_connect) as here:
        await here.start_broker(1)
        await eventually(lambda: is_gone(zk, "t"))


async def test_sv_4_an_accepted_deletion_ends_under_the_next_controller_if_the_brokers_forbid_it_by_now(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with accepted_and_unknown(zk, zk_connect) as here:
        here.broker_configs = DISABLED
        await here.start_broker(1)
        await eventually(lambda: no_marks(zk))
        await eventually(lambda: is_shown(here, "t"))
        await eventually(lambda: here.has_all(("t", 0), 1))


async def test_sv_4_the_replicas_of_a_topic_whose_znodes_others_remove_stay_where_deletion_is_disabled(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """As always in Kafka: KafkaController.processTopicChange stops no replica."""
    async with no_brokers_yet(zk, zk_connect) as here:
        here.broker_configs = DISABLED
        await here.start_broker(1)
        await eventually(lambda: here.has_all(("t", 0), 1))
        await delete_tree(zk, znode_paths.topic("t"))
        await eventually(lambda: is_unknown(here, "t"))
        await here.create_topic("u", {0: [1]})
        await eventually(lambda: here.has_all(("u", 0), 1))  # what the broker was sent before has arrived
        assert await here.has_all(("t", 0), 1)


async def is_unknown(here: Cluster, name: str) -> bool:
    return not await is_shown(here, name)


# ---------------------------------------------- a stock controller had begun to delete the znodes of the marked topic

UNKNOWN_TOPIC_OR_PARTITION = 3

half_deleted = pytest.mark.parametrize("stateless", [{0}, {0, 1}], ids=["first", "all"])


@asynccontextmanager
async def interrupted_deletion(zk: ZooKeeper, connect: str, stateless: Collection[int]) -> AsyncIterator[Cluster]:
    """The next controller serves, and nothing is known of any broker. Topic u has a mark; these partitions lack states.

    In both partitions of u broker 1 has the only replica.
    """
    await put_topic(zk, "u", {0: (1,), 1: (1,)}, topic_id=uuid4())
    await zk.create(znode_paths.delete_topic("u"))
    for index in stateless:
        await zk.delete(znode_paths.partition_state("u", index))
    async with no_brokers_yet(zk, connect) as here:
        answers = await here.alter({("t", 0): (1,), ("u", 0): (1,)})  # waits for the failover
        for index in stateless:
            assert await zk.exists(znode_paths.partition_state("u", index)) is None
        assert [answers[name][0] for name in (("t", 0), ("u", 0))] == [0, UNKNOWN_TOPIC_OR_PARTITION]
        yield here


async def has_first_states(zk: ZooKeeper, stateless: Collection[int], leader: int) -> bool:
    states = [await state_json(zk, ("u", index)) for index in stateless]
    return all(state["leader"] == leader and state["leader_epoch"] == 0 for state in states)


@half_deleted
async def test_sv_4_the_deletion_that_a_stock_controller_had_begun_ends_and_gives_no_partition_a_state_again(
    zk: ZooKeeper, zk_connect: str, stateless: Collection[int]
) -> None:
    created: list[str] = []
    zk.on_watch(lambda kind, path: created.append(path) if kind is WatchKind.CREATED else None)
    async with interrupted_deletion(zk, zk_connect, stateless) as here:
        for index in stateless:
            assert await zk.exists(znode_paths.partition_state("u", index), watch=True) is None
        await here.start_broker(1)
        await eventually(lambda: is_gone(zk, "u"))
        assert created == []
        await eventually(lambda: here.has_no(("u", 0), 1))


async def test_sv_4_what_brokers_have_reported_while_the_cluster_is_read_says_what_its_marks_mean(
    zk: ZooKeeper,
) -> None:
    await put_topic(zk, "u", {0: (1,)})
    await zk.create(znode_paths.delete_topic("u"))
    learnt = AT_FIRST
    reading = asyncio.create_task(read_cluster(zk, lambda: learnt))
    await zk.exists(znode_paths.TOPICS)  # it is under way
    learnt = KAFKA_DEFAULTS
    cluster = (await reading).cluster
    assert cluster.topics["u"].deleting
    assert cluster.waiting_marks == set()
    assert cluster.soft.broker_settings == KAFKA_DEFAULTS


@half_deleted
async def test_sv_4_a_marked_topic_whose_deletion_the_brokers_forbid_has_all_states_again(
    zk: ZooKeeper, zk_connect: str, stateless: Collection[int]
) -> None:
    async with interrupted_deletion(zk, zk_connect, stateless) as here:
        here.broker_configs = DISABLED
        await here.start_broker(1)
        await eventually(lambda: no_marks(zk))
        await eventually(lambda: has_first_states(zk, stateless, leader=1))
        await eventually(lambda: here.has_all(("u", 0), 1))
        await eventually(lambda: here.has_all(("u", 1), 1))
        assert await is_shown(here, "u")


@half_deleted
async def test_sv_4_a_topic_whose_mark_others_remove_before_the_brokers_setting_is_known_has_all_states_again(
    zk: ZooKeeper, zk_connect: str, stateless: Collection[int]
) -> None:
    async with interrupted_deletion(zk, zk_connect, stateless):
        await zk.delete(znode_paths.delete_topic("u"))
        await eventually(lambda: has_first_states(zk, stateless, leader=NO_LEADER))


async def test_sv_4_a_mark_that_goes_changes_only_partitions_without_a_state_each_time_that_it_is_decided() -> None:
    """A move of the topic goes on: each higher leader epoch would stop its followers for a moment."""
    here = view(Partition((1, 2)), moving((1,), (2,)))
    here.cluster.waiting_marks = frozenset({TOPIC})
    command = TopicDeletionsRead(MarksFound({}), SERVER, marked=lambda _: None, stale=lambda: None)
    await Pace().through(command.learn(here.cluster))
    for work in (Round(here, {}), Round(RoundView(here.cluster), {})):
        await Pace().through(command.decide(work))
        assert work.view.partitions.keys() == {TopicPartition(TOPIC, 0)}
    assert here.cluster.waiting_marks == set()


async def test_sv_4_a_mark_that_goes_before_the_controller_has_decided_about_it_does_not_wait_any_longer(
    zk: ZooKeeper, zk_connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await register(zk, 1)
    await put_topic(zk, "u", {0: (1,)})
    async with elected_controller(zk_connect) as controller:
        controller.cluster.soft.broker_settings = AT_FIRST
        watches = watches_of(controller)
        read: list[Command[None]] = []
        with monkeypatch.context() as busy:
            busy.setattr(controller.loop, "submit", read.append)
            await zk.create(znode_paths.delete_topic("u"))
            await watches.deletions()
            await zk.delete(znode_paths.delete_topic("u"))
            await watches.deletions()
        for command in read:
            await controller.loop.submit(command)
        assert controller.cluster.waiting_marks == set()
