"""Changes of the cluster-wide broker configs at a server: each live broker is asked over its socket."""

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest

from kafka_reassign_rpc.controller.duties import defaults_judge
from kafka_reassign_rpc.controller.duties.defaults_judge import Refusal, Verdict, decide
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, KafkaError, PolicyViolation, RequestTimedOut
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE
from kafka_reassign_rpc.protocol.messages import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from kafka_reassign_rpc.zookeeper.znode_contents import encode_broker
from tests.controller.cluster import Cluster, cluster
from tests.controller_channel.scripted_broker import NEWEST, SILENT, ScriptedBroker
from tests.silent_server import silent_server

OTHER = 9
INVALID_REQUEST, TIMED_OUT, NOT_AUTHORIZED = 42, 7, 31


@pytest.fixture
async def here(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect, brokers=(1, 2)) as made:
        yield made


async def change(here: Cluster, configs: Mapping[str, str | None], *, only: bool = False) -> tuple[int, str]:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    ops = [
        resource.AlterableConfig(name=name, config_operation=int(value is None), value=value)
        for name, value in configs.items()
    ]
    asked = resource(resource_type=4, resource_name="", configs=ops)
    request = IncrementalAlterConfigsRequest(resources=[asked], validate_only=only)
    [result] = (await here.ask(request, 1)).responses
    return result.error_code, result.error_message or ""


async def standing(here: Cluster) -> Mapping[str, str]:
    found = await ConfigStore(here.zk).get("brokers", "<default>")
    return {name: value for name, value in found.items() if name != FOLLOWER_RATE}


async def register(here: Cluster, port: int, broker: int = OTHER) -> None:
    at = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", port)
    await here.zk.create(znode_paths.broker(broker), encode_broker([at], 0), ephemeral=True)


def scripted(code: int, text: str | None) -> ScriptedBroker:
    """A broker that gives this answer where it is asked about configs."""
    broker = ScriptedBroker({**NEWEST, ApiKey.INCREMENTAL_ALTER_CONFIGS: 1, ApiKey.DESCRIBE_CONFIGS: 4})

    def answer(body: object) -> object:
        if not isinstance(body, IncrementalAlterConfigsRequest):
            return SILENT
        cls = IncrementalAlterConfigsResponse
        accepts = not body.resources[0].configs
        result = cls.AlterConfigsResourceResponse(
            error_code=0 if accepts else code,
            error_message=None if accepts else text,
            resource_type=4,
            resource_name="",
        )
        return cls(throttle_time_ms=0, responses=[result])

    broker.answer = answer
    return broker


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("metric.reporters", "no.such.Class"),
        ("max.connections", "0"),
        ("max.connections.per.ip", "0"),
        ("log.retention.ms", "0"),
        ("log.roll.ms", "0"),
        ("num.io.threads", "1000"),
        ("log.cleaner.threads", "0"),
        ("log.local.retention.ms", "604800001"),
    ],
)
async def test_hm_1_a_cluster_wide_config_that_brokers_refuse_is_not_set(here: Cluster, name: str, value: str) -> None:
    for only in (True, False):
        assert (await change(here, {name: value}, only=only))[0] == INVALID_REQUEST
    assert await standing(here) == {}
    assert await change(here, {"log.retention.ms": "5"}) == (0, "")
    assert await standing(here) == {"log.retention.ms": "5"}


async def test_hm_1_without_a_live_broker_nothing_is_set(zk_connect: str) -> None:
    async with cluster(zk_connect, brokers=(1,)) as here:
        await here.kill_broker(1)
        code, text = await change(here, {"log.retention.ms": "5"})
        assert (code, "no broker is live" in text) == (TIMED_OUT, True)
        assert await standing(here) == {}


async def test_hm_1_a_broker_that_does_not_answer_or_cannot_be_understood_leaves_the_configs_as_they_are(
    here: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with silent_server() as silent:
        await register(here, silent.port)
        with monkeypatch.context() as shorter:  # only where nothing else but the silence counts: others may be slow
            shorter.setattr(defaults_judge, "ANSWER_S", 0.3)
            code, text = await change(here, {"log.retention.ms": "5"})
        assert (code, "broker 9 (no answer within 0.3 s)" in text) == (TIMED_OUT, True)
    code, text = await change(here, {"log.retention.ms": "5"})
    assert (code, "No answer came from broker 9 (" in text) == (TIMED_OUT, True)
    await here.zk.set(znode_paths.broker(OTHER), b"garbage")
    code, text = await change(here, {"log.retention.ms": "5"})
    assert (code, "makes no sense" in text) == (TIMED_OUT, True)
    assert await standing(here) == {}
    await here.zk.delete(znode_paths.broker(OTHER))
    assert await change(here, {"log.retention.ms": "5"}) == (0, "")


async def test_hm_1_what_one_of_the_brokers_refuses_is_refused_with_its_id_and_its_words(here: Cluster) -> None:
    broker = scripted(PolicyViolation.code, "not on Fridays")
    await broker.start()
    await register(here, broker.port)
    assert await change(here, {"log.retention.ms": "5"}) == (44, "Broker 9: not on Fridays")
    assert await standing(here) == {}
    asked = [one for one in broker.received if isinstance(one, IncrementalAlterConfigsRequest)]
    assert asked
    assert all(one.validate_only for one in asked)
    await broker.stop()


async def test_hm_1_a_broker_at_which_the_server_may_not_ask_is_named_with_the_missing_right(here: Cluster) -> None:
    broker = scripted(NOT_AUTHORIZED, None)
    await broker.start()
    await register(here, broker.port)
    code, text = await change(here, {"log.retention.ms": "5"})
    assert (code, "ALTER_CONFIGS on the cluster" in text) == (NOT_AUTHORIZED, True)
    assert await standing(here) == {}
    await broker.stop()


async def test_hm_1_a_broker_that_registers_while_others_are_asked_is_asked_too(here: Cluster) -> None:
    late, slow = scripted(INVALID_REQUEST, "not with me"), scripted(0, None)
    await late.start()
    await slow.start()
    accepts = slow.answer
    registered: list[asyncio.Task[None]] = []

    def answer(body: object) -> object:
        if isinstance(body, IncrementalAlterConfigsRequest) and not registered:
            registered.append(asyncio.create_task(register(here, late.port, OTHER + 1)))
        return accepts(body)

    slow.answer = answer
    await register(here, slow.port)
    code, text = await change(here, {"log.retention.bytes": "5"})
    while code == 0:  # it came after the last look: the next change finds it
        code, text = await change(here, {"log.retention.bytes": "6"})
    assert (code, text) == (INVALID_REQUEST, "not with me")
    await slow.stop()
    await late.stop()


REFUSES = Refusal(InvalidRequest("too few"))


@pytest.mark.parametrize(
    ("verdicts", "error", "text"),
    [
        ([Verdict(1, REFUSES), Verdict(2, REFUSES)], InvalidRequest, "too few"),
        ([Verdict(1), Verdict(2, REFUSES)], InvalidRequest, "Broker 2: too few"),
        ([Verdict(1, silence="gone"), Verdict(2, REFUSES)], InvalidRequest, "Broker 2: too few"),
        ([Verdict(1), Verdict(2, silence="gone")], RequestTimedOut, "broker 2 (gone)"),
        (
            [Verdict(1, REFUSES._replace(standing=True, culprits=["log.roll.ms"]))],
            InvalidRequest,
            "delete or correct log.roll.ms first",
        ),
    ],
)
def test_hm_1_one_refusal_or_one_silence_decides(verdicts: list[Verdict], error: type[KafkaError], text: str) -> None:
    with pytest.raises(error) as raised:
        decide(verdicts)
    assert text in str(raised.value)
    decide([Verdict(1), Verdict(2)])
