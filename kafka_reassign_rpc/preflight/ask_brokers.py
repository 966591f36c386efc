"""What each registered broker answers on its inter-broker listener, where a controller would connect to it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple, TypeVar

from kafka_reassign_rpc.controller.duties.defaults_judge import NoAnswer, Refusal, judge_standing
from kafka_reassign_rpc.core.configs.config_rules import applied
from kafka_reassign_rpc.core.state.broker import Broker, Endpoint
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.messages import DescribeLogDirsRequest, StopReplicaRequest
from kafka_reassign_rpc.transport.broker_answers import ConfigsRefused, broker_configs
from kafka_reassign_rpc.transport.broker_links import BrokerLinks, BrokerRefuses
from kafka_reassign_rpc.transport.rpc_client import NoCommonVersion, RpcClient

T = TypeVar("T")

AT_ONCE = 50
NO_REGISTRATION = 0
"""A broker epoch before any other: that of a registration is the czxid of its znode."""
CLUSTER_AUTHORIZATION_FAILED, STALE_BROKER_EPOCH = 31, 77

CONFIGS = (
    "alter.config.policy.class.name",
    "authorizer.class.name",
    "auto.leader.rebalance.enable",
    "broker.id.generation.enable",
    "control.plane.listener.name",
    "controller.listener.names",
    "controller.quorum.bootstrap.servers",
    "controller.quorum.voters",
    "create.topic.policy.class.name",
    "delete.topic.enable",
    "inter.broker.listener.name",
    "inter.broker.protocol.version",
    "listeners",
    "log.dirs",
    "min.insync.replicas",
    "remote.log.storage.system.enable",
    "reserved.broker.max.id",
    "sasl.mechanism.inter.broker.protocol",
    "security.inter.broker.protocol",
    "zookeeper.metadata.migration.enable",
)
"""The configs of a broker that a server has to know."""


class BrokerAnswer(NamedTuple):
    """`problem` says why a broker has not answered; empty: it has.

    versions  of each API that it serves, by key
    configs   those of CONFIGS that are set or have a default
    obeys     it takes this server's principal as a controller; None: it did not say
    defaults  why it cannot live with the present cluster-wide configs; None: it can, unless `defaults_unknown` says
              why it did not say
    certificate
              what it has shown (DER); None without TLS
    log_dirs  its log dirs with their error codes; None: it did not say
    """

    broker: Broker
    endpoint: Endpoint
    problem: str = ""
    versions: Mapping[int, tuple[int, int]] = {}
    configs: Mapping[str, str] = {}
    obeys: bool | None = None
    defaults: Refusal | None = None
    defaults_unknown: str = ""
    certificate: bytes | None = None
    log_dirs: Sequence[tuple[str, int]] | None = None


async def ask_each(brokers: Iterable[Broker], ask: Callable[[Broker], Awaitable[T]]) -> list[T]:
    """In the order of their ids, `AT_ONCE` at a time."""
    room = asyncio.Semaphore(AT_ONCE)

    async def limited(broker: Broker) -> T:
        async with room:
            return await ask(broker)

    return list(await asyncio.gather(*map(limited, sorted(brokers, key=lambda one: one.id))))


@asynccontextmanager
async def connected(broker: Broker, links: BrokerLinks, client_id: str, seconds: float) -> AsyncIterator[RpcClient]:
    """All that it is asked has `seconds`. Raises as `BrokerLinks.open`, and TimeoutError."""
    async with asyncio.timeout(seconds):
        client = await links.open(broker, client_id, seconds)
        try:
            yield client
        finally:
            client.close()


async def ask_all(
    brokers: Iterable[Broker],
    links: BrokerLinks,
    client_id: str,
    seconds: float,
    standing: Mapping[str, str],
) -> list[BrokerAnswer]:
    """Each broker has `seconds` for its answer. `standing` are the cluster-wide configs."""
    return await ask_each(brokers, lambda broker: _ask(broker, links, client_id, seconds, standing))


async def _ask(
    broker: Broker, links: BrokerLinks, client_id: str, seconds: float, standing: Mapping[str, str]
) -> BrokerAnswer:
    endpoint = links.endpoint(broker)
    try:
        async with connected(broker, links, client_id, seconds) as client:
            versions = await client.versions()
            obeys, certificate = await _obeys(client), client.certificate
            dirs = await _log_dirs(client)
            try:
                entries = await broker_configs(client, broker.id, CONFIGS)
            except ConfigsRefused as error:
                return BrokerAnswer(broker, endpoint, str(error), versions, {}, obeys, log_dirs=dirs)
            refusal, unknown = await _defaults(client, broker.id, standing)
    except BrokerRefuses as error:
        return BrokerAnswer(broker, endpoint, error.reason)
    except TimeoutError:
        return BrokerAnswer(broker, endpoint, f"no answer within {seconds:g} s")
    except (OSError, EOFError, ProtocolError) as error:
        return BrokerAnswer(broker, endpoint, str(error) or type(error).__name__)
    configs = {entry.name: entry.value for entry in entries if entry.value is not None}
    return BrokerAnswer(broker, endpoint, "", versions, configs, obeys, refusal, unknown, certificate, dirs)


async def _defaults(client: RpcClient, broker: int, standing: Mapping[str, str]) -> tuple[Refusal | None, str]:
    """Returns why the broker cannot live with these configs, and why that is not known."""
    try:
        return await judge_standing(client, broker, applied(standing)), ""
    except (ConfigsRefused, NoAnswer) as error:
        return None, str(error)


async def _obeys(client: RpcClient) -> bool | None:
    """A StopReplica of nothing asks it, for a registration that it never had: KafkaApis looks for CLUSTER_ACTION
    first, then at the broker's epoch, and does nothing.
    """
    try:
        version = await client.version(StopReplicaRequest)
    except NoCommonVersion:
        return None
    request = StopReplicaRequest(
        version=version, controller_id=-1, controller_epoch=0, broker_epoch=NO_REGISTRATION, topic_states=[]
    )
    answer = await client.call(StopReplicaRequest, request, version)
    return {STALE_BROKER_EPOCH: True, CLUSTER_AUTHORIZATION_FAILED: False}.get(answer.error_code)


async def _log_dirs(client: RpcClient) -> Sequence[tuple[str, int]] | None:
    """Asks for no partition, so that the answer is small. A broker that refuses answers with no log dir."""
    version = await client.version(DescribeLogDirsRequest)
    request = DescribeLogDirsRequest(version=version, topics=[])
    answer = await client.call(DescribeLogDirsRequest, request, version)
    return [(one.log_dir, one.error_code) for one in answer.results] or None
