"""What happens beside the edits: requests of clients, and what befalls brokers and the server."""

import asyncio
from collections.abc import Mapping
from functools import partial

from kafka_reassign_rpc.protocol.messages import CreatePartitionsRequest, ElectLeadersRequest
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.bad_znodes.edited_cluster import ASSIGNMENT, EditedCluster, Step
from tests.waiting import eventually

# Requests


async def alter(here: EditedCluster) -> str:
    name, target = here.partition(), here.replicas()
    return f"{target} {await here.world.alter({name: target})}"


async def alter_with_lease(here: EditedCluster) -> str:
    name, target, rate = here.partition(), here.replicas(), here.chance.choice([1, 10_000_000])
    return f"{target} {rate} B/s {await here.world.alter({name: target}, throttle=rate)}"


async def queue(here: EditedCluster) -> str:
    name, target = here.partition(), here.replicas()
    return f"{target} {await here.world.alter({name: target}, queue=True)}"


async def cancel(here: EditedCluster) -> str:
    return f"{await here.world.alter({here.partition(): None})}"


async def elect(here: EditedCluster) -> str:
    name, kind = here.partition(), here.chance.choice([0, 1])
    wanted = ElectLeadersRequest.TopicPartitions(version=1, topic=name.topic, partitions=[name.partition])
    request = ElectLeadersRequest(version=1, election_type=kind, topic_partitions=[wanted], timeout_ms=5_000)
    answer = await here.world.ask(request, 1)
    codes = [one.error_code for topic in answer.replica_election_results for one in topic.partition_result]
    return f"{name}, kind {kind}: {codes}"


async def create_again(here: EditedCluster) -> str:
    """As soon as the name is free, or a drawn time after the deletion was asked for."""
    topic = here.topic()
    assignment = {index: here.replicas(2) for index in ASSIGNMENT}
    await here.world.delete_topic(topic)
    if here.may():
        await asyncio.sleep(here.chance.random())
    await eventually(partial(here.has_created, topic, assignment), within=6)
    return f"{topic} {assignment}"


async def create_partition(here: EditedCluster) -> str:
    topic = here.topic()
    count = len((await here.read(znode_paths.topic(topic)))["partitions"]) + 1
    wanted = CreatePartitionsRequest.CreatePartitionsTopic(name=topic, count=count, assignments=None)
    request = CreatePartitionsRequest(topics=[wanted], timeout_ms=5_000, validate_only=False)
    answer = await here.world.ask(request, 1)
    return f"{topic} to {count}: {[one.error_code for one in answer.results]}"


REQUESTS: Mapping[Step, float] = {
    alter: 10, alter_with_lease: 4, queue: 2, cancel: 3, elect: 1, create_again: 2, create_partition: 1,
}  # fmt: skip

# Brokers


async def kill_broker(here: EditedCluster) -> str:
    if here.away:
        raise LookupError("one is away")
    here.away.add(broker := here.broker())
    await here.world.kill_broker(broker)
    return f"{broker}"


async def start_broker(here: EditedCluster) -> str:
    return f"{await here.start_broker()}"


async def same_registration(here: EditedCluster) -> str:
    path = znode_paths.broker(here.broker())
    await here.zk.set(path, (await here.zk.get(path))[0])
    return path


async def garbage_registration(here: EditedCluster) -> str:
    broker = here.broker()
    await here.spoil(znode_paths.broker(broker), b"?")
    return f"{broker}"


BROKERS: Mapping[Step, float] = {kill_broker: 1, start_broker: 2, same_registration: 1, garbage_registration: 1}

# The server


async def take_over(here: EditedCluster) -> str:
    await here.take_over()
    return ""


async def no_controller(here: EditedCluster) -> str:
    await here.zk.delete(znode_paths.CONTROLLER)
    return ""


async def other_controller_epoch(here: EditedCluster) -> str:
    now = (await here.zk.get(znode_paths.CONTROLLER_EPOCH))[0]
    data = here.chance.choice([now, b"1", b"100"])
    await here.zk.set(znode_paths.CONTROLLER_EPOCH, data)
    return f"{data!r}"


async def no_server_id(here: EditedCluster) -> str:
    path = f"{here.chance.choice(znode_paths.SERVERS)}/{here.world.server_id}"
    await here.zk.delete(path)
    return path


SERVER: Mapping[Step, float] = {take_over: 1, no_controller: 0.5, other_controller_epoch: 0.5, no_server_id: 0.6}

BESIDE: Mapping[Step, float] = {**REQUESTS, **BROKERS, **SERVER}
