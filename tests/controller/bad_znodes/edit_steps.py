"""What hands do to znodes: a table of steps for each subject, with how often each is drawn."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create, Delete
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError
from tests.controller.bad_znodes.edited_cluster import BROKERS, EditedCluster, Step
from tests.controller.bare_controller import batch, put_request
from tests.controller.cluster import RATE, THROTTLED
from tests.zookeeper.trees import delete_tree

# Topics


async def other_replicas(here: EditedCluster) -> str:
    name = here.partition()
    async with here.edited(znode_paths.topic(name.topic)) as znode:
        znode["partitions"][str(name.partition)] = here.replicas()
        return f"{name} {znode['partitions']}"


async def other_order(here: EditedCluster) -> str:
    name = here.partition()
    async with here.edited(znode_paths.topic(name.topic)) as znode:
        here.chance.shuffle(znode["partitions"][str(name.partition)])
        return f"{name} {znode['partitions']}"


async def no_move_any_more(here: EditedCluster) -> str:
    topic = here.topic()
    async with here.edited(znode_paths.topic(topic)) as znode:
        znode |= {"adding_replicas": {}, "removing_replicas": {}}
    return topic


async def a_move(here: EditedCluster) -> str:
    """As another controller leaves one: a replica joins in front, and the last one leaves."""
    name, new = here.partition(), here.broker()
    index = str(name.partition)
    async with here.edited(znode_paths.topic(name.topic)) as znode:
        before = znode["partitions"][index]
        if new in before:
            raise LookupError(f"{name} has a replica on {new}")
        znode["partitions"][index] = [new, *before]
        znode["adding_replicas"] = {**znode.get("adding_replicas", {}), index: [new]}
        znode["removing_replicas"] = {**znode.get("removing_replicas", {}), index: before[-1:]}
        return f"{name} {znode}"


async def lose_partition(here: EditedCluster) -> str:
    name = here.partition()
    index, path = str(name.partition), znode_paths.topic(name.topic)
    async with here.edited(path) as znode:
        gone = znode["partitions"].pop(index)

    async def repair() -> None:
        async with here.edited(path) as znode:
            znode["partitions"].setdefault(index, gone)

    here.undo.append(repair)
    return f"{name}"


async def one_more_partition(here: EditedCluster) -> str:
    topic = here.topic()
    async with here.edited(znode_paths.topic(topic)) as znode:
        znode["partitions"][str(len(znode["partitions"]))] = here.replicas(2)
        return f"{topic} {znode['partitions']}"


async def no_id(here: EditedCluster) -> str:
    """As tools from before 2.8 write it."""
    topic = here.topic()
    async with here.edited(znode_paths.topic(topic)) as znode:
        znode.pop("topic_id", None)
    return topic


async def garbage_topic(here: EditedCluster) -> str:
    topic = here.topic()
    await here.spoil(znode_paths.topic(topic), b"{")
    return topic


async def gone_and_back(here: EditedCluster) -> str:
    """At once or a drawn time later, now and then without its states."""
    topic = here.topic()
    paths = sorted(await here.zk.tree(znode_paths.topic(topic)))
    kept = [Create(path, (await here.zk.get(path))[0]) for path in paths]
    await here.zk.multi([Delete(path) for path in reversed(paths)])
    if here.may():
        await asyncio.sleep(0.3 * here.chance.random())
    if here.may(0.3):
        kept = [one for one in kept if not one.path.endswith("/state")]
    await here.zk.multi(kept)
    return f"{topic}: {len(kept)} of {len(paths)} znodes"


async def mark_for_deletion(here: EditedCluster) -> str:
    topic = here.topic()
    path = znode_paths.delete_topic(topic)
    await here.zk.create(path, b"")
    if here.may():
        with suppress(ZkError):  # the controller may have been faster
            await here.zk.delete(path)
            return f"{topic} and back"
    return topic


TOPICS: Mapping[Step, float] = {
    other_replicas: 3, other_order: 1, no_move_any_more: 2, a_move: 2, lose_partition: 1, one_more_partition: 1,
    no_id: 1, garbage_topic: 1, gone_and_back: 2, mark_for_deletion: 0.5,
}  # fmt: skip

# States


async def same_state(here: EditedCluster) -> str:
    name = here.partition()
    path = znode_paths.partition_state(*name)
    await here.zk.set(path, (await here.zk.get(path))[0])
    return f"{name}"


async def other_leader(here: EditedCluster) -> str:
    name = here.partition()
    async with here.edited(znode_paths.partition_state(*name)) as state:
        state["leader"] = here.chance.choice([-1, *state["isr"]])
        state["leader_epoch"] += here.chance.choice([0, 0, 1])
        return f"{name} {state}"


async def smaller_isr(here: EditedCluster) -> str:
    name = here.partition()
    async with here.edited(znode_paths.partition_state(*name)) as state:
        del state["isr"][1:]
        return f"{name} {state}"


async def older_state(here: EditedCluster) -> str:
    """What was there when this was drawn for the first time."""
    name = here.partition()
    path = znode_paths.partition_state(*name)
    older = here.first_states.setdefault(name, (await here.zk.get(path))[0])
    await here.zk.set(path, older)
    return f"{name} {older!r}"


async def no_state(here: EditedCluster) -> str:
    name = here.partition()
    await here.zk.delete(znode_paths.partition_state(*name))
    return f"{name}"


async def garbage_state(here: EditedCluster) -> str:
    name = here.partition()
    await here.spoil(znode_paths.partition_state(*name), b"x")
    return f"{name}"


STATES: Mapping[Step, float] = {
    same_state: 2, other_leader: 2, smaller_isr: 1, older_state: 2, no_state: 2, garbage_state: 1,
}  # fmt: skip

# Records of moves


async def no_record(here: EditedCluster) -> str:
    name = here.partition()
    await here.zk.delete(znode_paths.reassignment(*name))
    return f"{name}"


async def other_record(here: EditedCluster) -> str:
    name = here.partition()
    async with here.edited(znode_paths.reassignment(*name)) as record:
        record["target"] = here.replicas()
        return f"{name} {record}"


async def record_without_move(here: EditedCluster) -> str:
    name = here.partition()
    await here.zk.ensure_path(znode_paths.reassignment_topic(name.topic))
    record = {"version": 1, "target": [1, 2], "original_replicas": [1]}
    await here.zk.create(znode_paths.reassignment(*name), json.dumps(record).encode())
    return f"{name}"


RECORDS: Mapping[Step, float] = {no_record: 1, other_record: 1, record_without_move: 1}

# Admin znodes


async def create_batch(here: EditedCluster) -> str:
    targets = here.targets()
    await here.zk.create(znode_paths.REASSIGN_PARTITIONS, batch(targets))
    return f"{targets}"


async def other_batch(here: EditedCluster) -> str:
    targets = here.targets()
    await here.zk.set(znode_paths.REASSIGN_PARTITIONS, batch(targets))
    return f"{targets}"


async def no_batch(here: EditedCluster) -> str:
    await here.zk.delete(znode_paths.REASSIGN_PARTITIONS)
    return ""


async def cancel_batch(here: EditedCluster) -> str:
    await here.zk.create(znode_paths.CANCEL_IN_PROGRESS, b"")
    return ""


async def disable(here: EditedCluster) -> str:
    async def repair() -> None:
        await here.zk.delete(znode_paths.REASSIGN_CANCEL)

    await here.zk.create(znode_paths.REASSIGN_CANCEL, b"")
    here.undo.append(repair)
    return ""


async def enable(here: EditedCluster) -> str:
    await here.zk.delete(znode_paths.REASSIGN_CANCEL)
    return ""


async def create_queue(here: EditedCluster) -> str:
    targets = here.targets()
    await here.zk.create(znode_paths.REASSIGN_QUEUE, batch(targets))
    return f"{targets}"


async def other_queue(here: EditedCluster) -> str:
    path = here.chance.choice(sorted(await here.zk.tree(znode_paths.REASSIGN_EXTRA)))
    await here.zk.set(path, batch(targets := here.targets()))
    return f"{path} {targets}"


async def request_move(here: EditedCluster) -> str:
    targets = here.targets()
    return f"{await put_request(here.zk, batch(targets))} {targets}"


async def elect_preferred(here: EditedCluster) -> str:
    name = here.partition()
    wanted = {"version": 1, "partitions": [{"topic": name.topic, "partition": name.partition}]}
    await here.zk.create(znode_paths.PREFERRED_REPLICA_ELECTION, json.dumps(wanted).encode())
    return f"{name}"


async def other_failure(here: EditedCluster) -> str:
    broker = here.chance.choice([*BROKERS, 9])
    path = here.chance.choice([znode_paths.failed_broker, znode_paths.failed_log_dirs])(broker)
    data = here.chance.choice([b"", b"{", b'{"version":1,"failed_since":1}'])
    await here.zk.ensure_path(path.rpartition("/")[0])
    await here.zk.create(path, data)
    return f"{path} {data!r}"


async def announce_states(here: EditedCluster) -> str:
    names = [{"topic": "t", "partition": 0}, {"topic": "no", "partition": 7}]
    data = here.chance.choice([b"{", json.dumps({"version": 1, "partitions": names}).encode()])
    await here.zk.ensure_path(znode_paths.ISR_CHANGES)
    await here.zk.create(f"{znode_paths.ISR_CHANGES}/isr_change_", data, sequence=True)
    return f"{data!r}"


async def no_subtree(here: EditedCluster) -> str:
    path = here.chance.choice(SUBTREES)
    await delete_tree(here.zk, path)
    return path


SUBTREES = (
    znode_paths.REASSIGNMENTS, znode_paths.REASSIGNMENT_REQUESTS, *znode_paths.QUEUES, znode_paths.RECEIPTS,
    znode_paths.THROTTLES, znode_paths.SETTINGS, znode_paths.LAST_CONTROL, znode_paths.FAILED_BROKERS,
    znode_paths.FAILED_LOG_DIRS, znode_paths.DELETE_TOPICS, znode_paths.ISR_CHANGES, znode_paths.LOG_DIR_EVENTS,
    znode_paths.config_type("topics"), znode_paths.config_type("brokers"), znode_paths.CONFIG_CHANGES,
    znode_paths.FEATURE, znode_paths.PRODUCER_ID_BLOCK,
)  # fmt: skip

ADMIN: Mapping[Step, float] = {
    create_batch: 1, other_batch: 1, no_batch: 1, cancel_batch: 1, disable: 0.5, enable: 0.5, create_queue: 1,
    other_queue: 1, request_move: 2, elect_preferred: 1, other_failure: 1, announce_states: 0.7, no_subtree: 4,
}  # fmt: skip

# Configs and settings


async def topic_configs(here: EditedCluster) -> str:
    topic = here.topic()
    values = here.chance.choice([{}, {THROTTLED: "*"}, {THROTTLED: "0:1"}, {"min.insync.replicas": "2"}])
    await here.world.configure("topics", topic, values)
    return f"{topic} {values}"


async def no_topic_configs(here: EditedCluster) -> str:
    topic = here.topic()
    await here.zk.delete(znode_paths.config_topic(topic))
    return topic


async def garbage_topic_configs(here: EditedCluster) -> str:
    topic = here.topic()
    await here.spoil(znode_paths.config_topic(topic), b"[")
    return topic


async def broker_rates(here: EditedCluster) -> str:
    broker = here.broker()
    values = here.chance.choice([{}, {RATE.replace("follower", "leader"): "10000000"}])
    await here.world.configure("brokers", str(broker), values)
    here.undo.append(lambda: here.world.configure("brokers", str(broker), {}))
    return f"{broker} {values}"


async def settings(here: EditedCluster) -> str:
    values = here.chance.choice(
        [
            {},
            {"cordoned.brokers": "4"},
            {"cordoned.brokers": "x"},
            {"partition.reassignments.max.moves.per.broker": "1"},
        ]
    )
    await here.world.settings(values)
    here.undo.append(lambda: here.world.settings({}))
    return f"{values}"


async def garbage_settings(here: EditedCluster) -> str:
    await here.spoil(znode_paths.SETTINGS, b"{{")
    return ""


CONFIGS: Mapping[Step, float] = {
    topic_configs: 2, no_topic_configs: 1, garbage_topic_configs: 1, broker_rates: 1, settings: 2,
    garbage_settings: 0.7,
}  # fmt: skip

BY_HAND: Mapping[Step, float] = {**TOPICS, **STATES, **RECORDS, **ADMIN, **CONFIGS}
