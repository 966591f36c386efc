"""What brokers have reported of themselves decides which configs a topic may have, and what DescribeConfigs shows of
it.
"""

from typing import Any

from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest, DescribeConfigsRequest
from tests.controller.cluster import Cluster, cluster
from tests.waiting import eventually

TIERED = {"remote.log.storage.system.enable": "true"}
REMOTE = {"remote.storage.enable": "true"}
INVALID_CONFIG = 40
TOPIC = 2
DYNAMIC_BROKER_CONFIG, DYNAMIC_DEFAULT, STATIC, DEFAULT = 2, 3, 4, 5


async def create(here: Cluster, name: str, configs: dict[str, str], *, only: bool = False) -> Any:
    one = CreateTopicsRequest.CreatableTopic
    given = [one.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()]
    wanted = one(name=name, num_partitions=1, replication_factor=1, assignments=[], configs=given)
    answer = await here.ask(CreateTopicsRequest(topics=[wanted], timeout_ms=10_000, validate_only=only), 7)
    return answer.topics[0]


async def described(here: Cluster, topic: str, name: str) -> tuple[str, int, list[tuple[str, str, int]]]:
    cls = DescribeConfigsRequest
    asked = cls.DescribeConfigsResource(resource_type=TOPIC, resource_name=topic, configuration_keys=[name])
    answer = await here.ask(cls(resources=[asked], include_synonyms=True, include_documentation=False), 4)
    ((one,),) = [result.configs for result in answer.results]
    return one.value, one.config_source, [(s.name, s.value, s.source) for s in one.synonyms]


async def test_hm_1_a_topic_with_remote_storage_needs_brokers_that_have_reported_tiered_storage(
    zk_connect: str,
) -> None:
    async with cluster(zk_connect, brokers=(1, 2), broker_configs=TIERED) as here:
        await eventually(lambda: is_created(here))
        here.broker_configs = {}
        await here.kill_broker(2)
        await here.start_broker(2)
        await eventually(lambda: is_disabled(here))
        refused = await create(here, "other", REMOTE)
        assert refused.error_code == INVALID_CONFIG
        assert "Tiered Storage functionality is disabled in the broker." in refused.error_message


async def is_created(here: Cluster) -> bool:
    """Until each broker that has registered has answered, it is refused."""
    one = await create(here, "remote", REMOTE)
    assert one.error_code in (0, INVALID_CONFIG)
    assert one.error_code == 0 or "is not known to be enabled" in one.error_message
    return bool(one.error_code == 0)


async def is_disabled(here: Cluster) -> bool:
    return "is disabled" in ((await create(here, "x", REMOTE, only=True)).error_message or "")


async def test_hm_1_a_topic_has_the_static_and_dynamic_values_of_brokers(zk_connect: str) -> None:
    static = {"log.index.size.max.bytes": "4096", "log.retention.minutes": "3"}
    async with cluster(zk_connect, brokers=(1, 2, 3), broker_configs=static) as here:
        await here.create_topic("t", {0: (1, 2)})
        built_in = ("log.index.size.max.bytes", "10485760", DEFAULT)
        expected = ("4096", STATIC, [("log.index.size.max.bytes", "4096", STATIC), built_in])
        await eventually(lambda: shows(here, "segment.index.bytes", expected))
        assert (await described(here, "t", "retention.ms"))[:2] == ("180000", DEFAULT), "as Kafka says it"
        created = {one.name: (one.value, one.config_source) for one in (await create(here, "new", {})).configs}
        assert created["segment.index.bytes"] == ("4096", STATIC)
        for broker in (1, 2):
            await here.configure("brokers", str(broker), {"log.index.size.max.bytes": "8192"})
        own = ("log.index.size.max.bytes", "8192", DYNAMIC_BROKER_CONFIG)
        await eventually(
            lambda: shows(here, "segment.index.bytes", ("8192", DYNAMIC_BROKER_CONFIG, [own, *expected[2]]))
        )
        await here.configure("brokers", "2", {})
        await eventually(lambda: shows(here, "segment.index.bytes", expected))  # one broker of three
        await here.configure("brokers", "<default>", {"log.retention.ms": "7"})
        await eventually(lambda: shows(here, "retention.ms", ("7", DYNAMIC_DEFAULT, RETENTION)))


RETENTION = [
    ("log.retention.ms", "7", DYNAMIC_DEFAULT),
    ("log.retention.minutes", "3", STATIC),
    ("log.retention.hours", "168", DEFAULT),
]


async def shows(here: Cluster, name: str, expected: Any) -> bool:
    return bool(await described(here, "t", name) == expected)
