"""What brokers were started with holds for the server too, where the operator sets nothing else (sv-1, sv-4)."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kafka_reassign_rpc.controller.commands.cluster_commands import BrokerSettingsLearnt
from kafka_reassign_rpc.controller.duties.learnt_settings import LearntSettings
from kafka_reassign_rpc.core.events.catalogue import BROKER_SETTINGS_DIFFER
from kafka_reassign_rpc.core.kafka_errors import UnknownServerError
from kafka_reassign_rpc.core.settings.broker_settings import MIGRATION, BrokerSettings
from kafka_reassign_rpc.core.state.partition import NO_LEADER
from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest, DescribeConfigsRequest
from kafka_reassign_rpc.support.tasks import end
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import elected_controller, put_topic, state_json, topic_json
from tests.controller.cluster import Cluster, cluster, dumped
from tests.controller.duties.test_broker_survey import silent_broker
from tests.waiting import eventually

STATIC_BROKER_CONFIG, DEFAULT_CONFIG = 4, 5
COUNTS = {"num.partitions": "3", "default.replication.factor": "2"}
UNCLEAN = "unclean.leader.election.enable"


async def described(here: Cluster, name: str, resource: tuple[int, str] = (4, "1000")) -> tuple[str | None, int]:
    """A config as DescribeConfigs of the server shows it, and the source of its value."""
    cls = DescribeConfigsRequest
    asked = cls.DescribeConfigsResource(resource_type=resource[0], resource_name=resource[1], configuration_keys=[name])
    answer = await here.ask(cls(resources=[asked], include_synonyms=True, include_documentation=False), 3)
    ((one,),) = [result.configs for result in answer.results]
    return one.value, one.config_source


async def knows(here: Cluster, name: str, value: str) -> bool:
    return await described(here, name) == (value, STATIC_BROKER_CONFIG)


async def created(here: Cluster, name: str) -> tuple[int, int]:
    """Create a topic without counts: the number of its partitions, and of replicas of the first."""
    wanted = CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=-1, replication_factor=-1, assignments=[], configs=[]
    )
    answer = await here.ask(CreateTopicsRequest(topics=[wanted], timeout_ms=10_000, validate_only=False), 5)
    ((code, partitions, replicas),) = [(t.error_code, t.num_partitions, t.replication_factor) for t in answer.topics]
    assert code == 0
    found = (await topic_json(here.zk, name))["partitions"]
    assert (partitions, replicas) == (len(found), len(found["0"]))
    return partitions, replicas


async def test_sv_10_a_topic_without_counts_gets_those_of_the_brokers(zk_connect: str) -> None:
    async with cluster(zk_connect, brokers=(1, 2, 3), broker_configs=COUNTS) as here:
        await eventually(lambda: knows(here, "num.partitions", "3"))
        assert await created(here, "counted") == (3, 2)
        await here.configure("brokers", "<default>", {"num.partitions": "many"})  # Kafka does not read it from there
        assert await created(here, "garbage") == (3, 2)


async def test_sv_10_a_silent_broker_delays_nothing_and_what_the_operator_sets_comes_first(zk_connect: str) -> None:
    own = {"num.partitions": 4}
    async with (
        cluster(zk_connect, brokers=(1, 2, 3), broker_configs=COUNTS, broker_settings=own) as here,
        silent_broker(here.connect),
    ):
        await here.stop_server()
        await here.start_server()
        await eventually(lambda: knows(here, "default.replication.factor", "2"))
        assert await created(here, "counted") == (4, 2)


async def test_sv_10_brokers_that_were_started_with_unclean_elections_get_leaders_as_soon_as_that_is_learnt(
    zk_connect: str,
) -> None:
    async with cluster(zk_connect, brokers=(1, 2)) as here:
        await here.create_topic("t", {0: (1, 2)})
        await here.kill_broker(2)
        await eventually(lambda: alone_in_sync(here, 1))
        await here.kill_broker(1)
        await here.start_broker(2)
        await here.fleets[2].ready()
        assert await here.led_by(("t", 0), NO_LEADER)
        await here.kill_broker(2)
        here.broker_configs = {UNCLEAN: "true"}
        await here.start_broker(2)
        await eventually(lambda: here.led_by(("t", 0), 2))


async def alone_in_sync(here: Cluster, broker: int) -> bool:
    return bool((await state_json(here.zk, ("t", 0)))["isr"] == [broker])


async def test_sv_10_preferred_leaders_are_elected_at_the_interval_that_the_brokers_have(zk_connect: str) -> None:
    often = {"leader.imbalance.check.interval.seconds": "1", "leader.imbalance.per.broker.percentage": "0"}
    async with cluster(zk_connect, brokers=(1, 2), broker_configs=often) as here:
        await here.create_topic("t", {0: (1, 2)})
        await here.kill_broker(1)
        await eventually(lambda: here.led_by(("t", 0), 2))
        await here.start_broker(1)
        await eventually(lambda: here.led_by(("t", 0), 1))


async def test_sv_4_a_new_controller_checks_soon_whether_preferred_leaders_lead(zk_connect: str) -> None:
    """Kafka: five seconds after the failover, and then at the interval, which is five minutes here."""
    always = {"leader.imbalance.per.broker.percentage": "0"}
    async with cluster(zk_connect, brokers=(1, 2), broker_configs=always) as here:
        await here.create_topic("t", {0: (1, 2)})
        await here.stop_server()
        found = await state_json(here.zk, ("t", 0))
        state = dumped(**found | {"leader": 2, "leader_epoch": found["leader_epoch"] + 1})
        await here.zk.set(znode_paths.partition_state("t", 0), state)
        await here.start_server()
        await eventually(lambda: here.led_by(("t", 0), 1), within=30)


async def test_sv_10_what_was_learnt_outlives_a_new_reading_of_the_cluster(zk: ZooKeeper, zk_connect: str) -> None:
    await put_topic(zk, "t", {0: (1, 2)})
    learnt = BrokerSettings(num_partitions=3, unclean_leader_election_enable=True)
    async with elected_controller(zk_connect) as controller:
        await controller.loop.submit(BrokerSettingsLearnt(learnt))
        await controller.store.reload(controller.cluster)
        assert controller.cluster.soft.broker_settings == learnt


async def test_sv_10_topics_show_the_default_that_the_brokers_have(zk_connect: str) -> None:
    async with cluster(zk_connect, brokers=(1, 2), broker_configs={"min.insync.replicas": "2"}) as here:
        await here.create_topic("t", {0: (1, 2)})
        await eventually(lambda: knows(here, "min.insync.replicas", "2"))
        assert await described(here, "min.insync.replicas", (2, "t")) == ("2", STATIC_BROKER_CONFIG)
        assert await described(here, "num.partitions") == ("1", DEFAULT_CONFIG)


async def test_sv_1_brokers_that_differ_are_reported_once_and_again_only_after_another_change(
    zk_connect: str, tmp_path: Path
) -> None:
    async with cluster(zk_connect, brokers=(1, 2, 3), broker_configs=COUNTS, event_log=tmp_path) as here:
        await eventually(lambda: knows(here, "num.partitions", "3"))
        assert await reports(here) == []

        async def restart_third(partitions: str) -> None:
            await here.kill_broker(3)
            here.broker_configs = COUNTS | {"num.partitions": partitions}
            await here.start_broker(3)
            await here.fleets[3].ready()

        async def reported(*texts: str) -> bool:
            return await reports(here) == list(texts)

        five = "num.partitions=3 is in force here, but the brokers have 3 on brokers 1, 2; 5 on broker 3"
        six = five.replace("5 on", "6 on")
        await restart_third("5")
        await eventually(lambda: reported(five))
        await restart_third("6")
        await eventually(lambda: reported(five, six))
        await here.stop_server()
        here.broker_settings = {"num.partitions": 6}
        await here.start_server()
        own = "num.partitions=6 is set for this server, but the brokers have 3 on brokers 1, 2; 6 on broker 3"
        await eventually(lambda: reported(five, six, own))
        await restart_third("6")
        await restart_third("7")
        await eventually(lambda: reported(five, six, own, own.replace("6 on", "7 on")))


async def reports(here: Cluster) -> list[Any]:
    return [one["reason"] for one in await here.events() if one["event"] == BROKER_SETTINGS_DIFFER]


async def refuses_leases(here: Cluster) -> bool:
    ((_, text),) = (await here.alter({("t", 0): (1,)}, throttle=5)).values()
    return "No throttle lease is given: 1 broker was restarted for the migration to KRaft (2)" in str(text)


async def test_mg_3_a_server_learns_from_a_broker_that_the_migration_to_kraft_has_begun(zk_connect: str) -> None:
    async with cluster(zk_connect, brokers=(1,)) as here:
        await here.create_topic("t", {0: (1,)})
        assert not await refuses_leases(here)
        here.broker_configs = {MIGRATION: "true"}
        await here.start_broker(2)
        await eventually(lambda: refuses_leases(here))
        await here.kill_broker(2)
        here.broker_configs = {}
        await here.start_broker(2)
        await eventually(lambda: lets_lease(here))


async def lets_lease(here: Cluster) -> bool:
    return not await refuses_leases(here)


async def test_mg_3_a_migration_that_the_loop_could_not_take_is_sent_again_and_then_no_longer() -> None:
    migrating, told = frozenset({1}), list[BrokerSettingsLearnt]()
    soft = SimpleNamespace(broker_settings=BrokerSettings(), migrating=migrating)

    async def submit(command: BrokerSettingsLearnt) -> None:
        told.append(command)
        if len(told) == 1:
            raise UnknownServerError("Not now.")

    loop: Any = SimpleNamespace(cluster=SimpleNamespace(soft=soft, brokers={}), submit=submit)
    survey: Any = SimpleNamespace(
        settings=soft.broker_settings, migrating=migrating, news=list, set_brokers=lambda _: None
    )
    duty = LearntSettings(survey, loop, lambda _: None, lambda _: None)
    running = asyncio.create_task(duty.run())
    for _ in range(4):
        survey.on_settings()
        for _ in range(3):  # the duty's turns
            await asyncio.sleep(0)
    assert len(told) == 2
    await end(running)
