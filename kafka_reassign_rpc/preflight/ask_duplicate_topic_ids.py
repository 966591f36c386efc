"""What brokers say of topics that have one id: under which id they know each, and where its logs are."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.topics import duplicate_topic_ids
from kafka_reassign_rpc.preflight.ask_brokers import AT_ONCE
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.messages import DescribeLogDirsRequest, MetadataRequest
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.topic_znodes import TopicZnode
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

MOST_TOPICS, MOST_PARTITIONS = 20, 1000
"""How many topics are asked about, and how many partitions of each, at most."""
_NO_ID = UUID(int=0)
_WITH_IDS = 10
"""The first version of Metadata that has topic ids."""


class Log(NamedTuple):
    """`path`: its folder."""

    topic: str
    broker: int
    path: str


class Twins(NamedTuple):
    """znodes  of topics with one id, those that can be read
    told    by topic, the ids under which brokers know it
    logs    in the order of brokers
    silent  brokers that did not list their logs
    asked   the topics that brokers were asked about
    """

    znodes: Mapping[str, TopicZnode] = {}
    told: Mapping[str, frozenset[UUID]] = {}
    logs: Sequence[Log] = ()
    silent: Sequence[int] = ()
    asked: Collection[str] = ()


async def look(zk: ZooKeeper, cluster: Cluster, links: BrokerLinks, client_id: str, seconds: float) -> Twins:
    """Each broker has `seconds` for its answer. Raises ZkError."""
    names = [name for group in duplicate_topic_ids.groups(cluster.twins).values() for name in group][:MOST_TOPICS]
    paths = {znode_paths.topic(name): name for name in names}
    znodes = {}
    for (path, name), read in zip(paths.items(), await zk.multi_get(list(paths)), strict=True):
        with suppress(BadZnode):
            if read is not None:
                znodes[name] = topic_znodes.decode_topic(read[0], path)
    asked = {name: sorted(znode.partitions) for name, znode in znodes.items()}
    asked = {name: indexes for name, indexes in asked.items() if len(indexes) <= MOST_PARTITIONS}
    if not asked:
        return Twins(znodes)
    told: dict[str, set[UUID]] = {}
    logs: list[Log] = []
    silent = []
    brokers = sorted(cluster.brokers.values(), key=lambda one: one.id)
    for broker, answer in zip(brokers, await _ask_all(brokers, links, client_id, seconds, asked), strict=True):
        if answer is None:
            silent.append(broker.id)
            continue
        ids, found = answer
        logs += found
        for name, id_ in ids.items():
            told.setdefault(name, set()).add(id_)
    return Twins(znodes, {name: frozenset(ids) for name, ids in told.items()}, logs, silent, asked)


_Answer = tuple[dict[str, UUID], list[Log]] | None


async def _ask_all(
    brokers: Iterable[Broker], links: BrokerLinks, client_id: str, seconds: float, asked: Mapping[str, Sequence[int]]
) -> list[_Answer]:
    room = asyncio.Semaphore(AT_ONCE)

    async def limited(broker: Broker) -> _Answer:
        async with room:
            try:
                async with asyncio.timeout(seconds):
                    client = await links.open(broker, client_id, seconds)
                    try:
                        return await _ids(client, asked), await _logs(client, broker.id, asked)
                    finally:
                        client.close()
            except (OSError, EOFError, ProtocolError, TimeoutError, _NotTold):
                return None

    return list(await asyncio.gather(*map(limited, brokers)))


class _NotTold(Exception):
    """The broker does not let this login see its log dirs."""


async def _ids(client: RpcClient, names: Iterable[str]) -> dict[str, UUID]:
    version = await client.version(MetadataRequest)
    if version < _WITH_IDS:
        return {}
    topics = [MetadataRequest.MetadataRequestTopic(version=version, name=name, topic_id=_NO_ID) for name in names]
    request = MetadataRequest(version=version, topics=topics, allow_auto_topic_creation=False)
    answer = await client.call(MetadataRequest, request, version)
    known = [one for one in answer.topics if not one.error_code]
    return {one.name: one.topic_id for one in known if one.name is not None and one.topic_id not in (None, _NO_ID)}


async def _logs(client: RpcClient, broker: int, asked: Mapping[str, Sequence[int]]) -> list[Log]:
    """Raises _NotTold: without a log dir nothing is known."""
    version = await client.version(DescribeLogDirsRequest)
    topic = DescribeLogDirsRequest.DescribableLogDirTopic
    topics = [topic(version=version, topic=name, partitions=list(indexes)) for name, indexes in asked.items()]
    request = DescribeLogDirsRequest(version=version, topics=topics)
    answer = await client.call(DescribeLogDirsRequest, request, version)
    if not answer.results or any(one.error_code for one in answer.results):
        raise _NotTold
    return [
        Log(found.name, broker, f"{one.log_dir}/{found.name}-{partition.partition_index}")
        for one in answer.results
        for found in one.topics
        for partition in found.partitions
    ]
