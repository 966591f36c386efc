"""The facts from which `leave` decides what is left to do. `preflight.own_znodes` says what is ours."""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_reassign_rpc.controller.store import Entity, StoredConfigs
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import stored_configs
from kafka_reassign_rpc.core.config_values import DEFAULT, TOPICS
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.core.state.partition import MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, TopicMemory
from kafka_reassign_rpc.preflight import own_znodes, read_state
from kafka_reassign_rpc.preflight.own_znodes import OwnZnodes
from kafka_reassign_rpc.preflight.read_state import FoundState
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.own_server_znodes import decode_memory, decode_registered_server
from kafka_reassign_rpc.zookeeper.reassignment_request_znodes import decode_request
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

Znode = tuple[bytes, Stat]


class Facts(NamedTuple):
    """epoch       the version of `/controller_epoch`, which fences every write; None: there was never a controller
    servers     those of ours that run: their endpoints
    leased      configs that leases have changed, with their former values
    requests    in the order in which they were created
    configs     the brokers' defaults, and those of our servers' ids
    lacking     topic znodes with our field `missing_replicas`
    unreadable  znodes of ours that cannot be understood, and why
    """

    state: FoundState
    own: OwnZnodes
    epoch: int | None
    servers: Mapping[int, tuple[Endpoint, ...]]
    leased: list[StoredConfigs]
    requests: Mapping[str, Mapping[TopicPartition, MoveTerms]]
    configs: Mapping[str, Znode]
    lacking: Mapping[str, Znode]
    unreadable: list[str]


async def read(zk: ZooKeeper) -> Facts:
    """Raises ZkError."""
    fence = await zk.exists(znode_paths.CONTROLLER_EPOCH)
    state = await read_state.read(zk)
    own = await own_znodes.read(zk)
    broken = read_state.unreadable_requests(state)
    broken += [znode_paths.SETTINGS] if state.cluster.settings_problem else []
    unreadable = [f"{path}: it cannot be understood" for path in broken]
    servers = await _servers(zk, own)
    leased = await _leased(zk, own, unreadable)
    requests: dict[str, Mapping[TopicPartition, MoveTerms]] = {}
    asked = sorted(own.below(znode_paths.REASSIGNMENT_REQUESTS), key=lambda one: one.created)
    waiting = [one.path for one in asked if one.path.count("/") > 2]
    for path, (data, _) in (await _standing(zk, waiting)).items():
        try:
            requests[path] = decode_request(data, path).moves
        except BadZnode as error:
            unreadable.append(str(error))
    ids = {*map(str, servers), *state.taken_ids} - set(state.registered)
    configs = [znode_paths.config_broker(name) for name in (DEFAULT, *sorted(ids))]
    lacking = [znode_paths.topic(topic.name) for topic in state.cluster.topics.values() if topic.missing]
    return Facts(
        state,
        own,
        None if fence is None else fence.version,
        servers,
        leased,
        requests,
        await _standing(zk, configs),
        await _standing(zk, lacking),
        unreadable,
    )


async def _standing(zk: ZooKeeper, paths: list[str]) -> dict[str, Znode]:
    read = zip(paths, await zk.multi_get(paths), strict=True)
    return {path: znode for path, znode in read if znode is not None}


async def _servers(zk: ZooKeeper, own: OwnZnodes) -> dict[int, tuple[Endpoint, ...]]:
    """A server whose registration cannot be understood runs all the same."""
    paths = [one.path for one in own.below(znode_paths.REASSIGNMENT_SERVERS) if one.session]
    found: dict[int, tuple[Endpoint, ...]] = {}
    for path, (data, _) in (await _standing(zk, paths)).items():
        number = int(path.rpartition("/")[2])
        try:
            found[number] = decode_registered_server(data, path).endpoints
        except BadZnode:
            found[number] = ()
    return found


async def _leased(zk: ZooKeeper, own: OwnZnodes, unreadable: list[str]) -> list[StoredConfigs]:
    memories = [one.path for one in own.below(znode_paths.THROTTLES) if one.path.count("/") > 3]
    found = []
    for path, memory in (await _standing(zk, memories)).items():
        *_, kind, name = path.split("/")
        entity = Entity(kind, name)
        try:
            if kind == TOPICS:
                decode_memory(memory[0], path, TopicMemory)
            else:
                decode_memory(memory[0], path, BrokerMemory)
        except BadZnode as error:
            unreadable.append(f"{error}: which throttle was there before is not known")
            continue
        config = znode_paths.config(f"{kind}/{name}")
        one = stored_configs(entity, (await _standing(zk, [config])).get(config), memory)
        if one.problem is not None:
            unreadable.append(one.problem)
        else:
            found.append(one)
    return found
