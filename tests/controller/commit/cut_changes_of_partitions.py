"""Cases of topics, moves, leaders and what brokers ask for."""

import json
from base64 import urlsafe_b64decode
from collections.abc import Awaitable, Mapping
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from kafka_reassign_rpc.core.settings import healing_settings
from kafka_reassign_rpc.protocol.messages import (
    AllocateProducerIdsRequest,
    AlterPartitionRequest,
    ControlledShutdownRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    InitProducerIdRequest,
)
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.bare_controller import put_topic, queue_json, state_json, topic_json
from tests.vendor_requests import order, told
from tests.waiting import eventually

from .cut_cases import Tried, case, configs_at

LOST = 9
"""A broker that has replicas and is not registered."""
(
    UNKNOWN_TOPIC,
    TOPIC_EXISTS,
    INVALID_PARTITIONS,
    INVALID_REPLICATION_FACTOR,
    INVALID_CONFIG,
    NOT_NEEDED,
    NOTHING_TO_CANCEL,
) = 3, 36, 37, 38, 40, 84, 85


@case("CreateTopics")
async def created(tried: Tried) -> None:
    """Each entry has the first error that Kafka finds, wherever the connection is cut, and only what is answered as
    created is there."""
    new = CreateTopicsRequest.CreatableTopic
    good, bad = {"retention.ms": "1000"}, {"no.such.config": "1"}

    def topic(name: str, replicas: int, configs: Mapping[str, str]) -> Any:
        wanted = [new.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()]
        return new(name=name, num_partitions=2, replication_factor=replicas, assignments=[], configs=wanted)

    names = [f"new-{tried.number}-{kind}" for kind in ("a", "b", "factor", "config")]
    entries = [
        topic(names[0], 2, good),
        topic("standing", 77, bad),
        topic(names[2], 77, bad),
        topic(names[1], 1, good),
        topic(names[3], 2, bad),
    ]
    request = CreateTopicsRequest(topics=entries, timeout_ms=10_000, validate_only=False)
    answer = await tried.ask(request, 7)
    assert {one.name: one.error_code for one in answer.topics} == {
        names[0]: 0,
        names[1]: 0,
        names[2]: INVALID_REPLICATION_FACTOR,
        names[3]: INVALID_CONFIG,
        "standing": TOPIC_EXISTS,
    }
    for one in answer.topics:
        stat = await tried.zk.exists(znode_paths.topic(one.name))
        assert (stat is not None) == (one.error_code in (0, TOPIC_EXISTS))
        if one.error_code == 0:
            found = await topic_json(tried.zk, one.name)
            assert one.topic_id == UUID(bytes=urlsafe_b64decode(found["topic_id"] + "=="))
            assert one.num_partitions == len(found["partitions"]) == 2
            assert {entry.name: entry.value for entry in one.configs}["retention.ms"] == "1000"
            assert await configs_at(tried, znode_paths.config_topic(one.name)) == good
            await recorded(tried, one.name, "topic.created")


async def recorded(tried: Tried, topic: str, *wanted: str) -> None:
    """These events of a topic, and no others, are recorded soon."""

    async def are_there() -> bool:
        found = [event["event"] for event in await tried.world.events() if event.get("topic") == topic]
        assert found == list(wanted)
        return True

    await eventually(are_there)


@case("CreatePartitions")
async def grown(tried: Tried) -> None:
    grow = CreatePartitionsRequest.CreatePartitionsTopic
    size = len((await topic_json(tried.zk, "grown"))["partitions"])
    entries = [
        grow(name=name, count=wanted, assignments=None)
        for name, wanted in (("grown", size + 2), ("none", 3), ("standing", 1))
    ]
    request = CreatePartitionsRequest(topics=entries, timeout_ms=10_000, validate_only=False)
    answer = await tried.ask(request, 2)
    assert {one.name: one.error_code for one in answer.results} == {
        "grown": 0,
        "none": UNKNOWN_TOPIC,
        "standing": INVALID_PARTITIONS,
    }
    assert len((await topic_json(tried.zk, "grown"))["partitions"]) == size + 2


@case("DeleteTopics")
async def deleted(tried: Tried) -> None:
    names = [f"old-{tried.number}-{kind}" for kind in "ab"]
    for name in names:
        await tried.world.create_topic(name, {0: [1, 2]})
    request = DeleteTopicsRequest(topic_names=[names[0], "none", names[1]], timeout_ms=10_000)
    answer = await tried.ask(request, 4)
    assert {one.name: one.error_code for one in answer.responses} == {
        names[0]: 0,
        names[1]: 0,
        "none": UNKNOWN_TOPIC,
    }

    async def are_gone() -> bool:
        return not any([await tried.zk.exists(znode_paths.topic(name)) for name in names])

    await eventually(are_gone)
    for name in names:
        await recorded(tried, name, "topic.created", "topic.deleted")


# ----------------------------------------------------------------------------------------------------------- moves


@case("AlterPartitionReassignments")
async def moved(tried: Tried) -> None:
    """Start, another target, a throttle, a cancel; in the queue, and out of it."""
    name = ("moved", 0)
    for target, options in (
        ((2, 3), {}),
        ((3, 1), {"throttle": 1000}),
        (None, {}),
        ((3, 2), {"queue": True, "reason": "queued"}),
        (None, {}),
    ):
        with tried.cut():
            answer = await tried.world.alter({name: target, ("none", 0): (1, 2)}, **options)
        assert {one: code for one, (code, _) in answer.items()} == {name: 0, ("none", 0): UNKNOWN_TOPIC}
        if target is None:
            await eventually(lambda: tried.world.has((*name, [1, 2])))
        elif not options.get("queue"):
            assert (await tried.world.assignment(*name))[:2] == list(target)
    with tried.cut():
        assert (await tried.world.alter({name: None}))[name][0] == NOTHING_TO_CANCEL


@case("DoCommand throttle")
async def rated(tried: Tried) -> None:
    """A move in flight gets another rate, and goes on."""
    name, rate = ("moved", 0), 1000 + tried.number
    await tried.world.alter({name: (2, 3)}, throttle=1)
    record = znode_paths.reassignment(*name)
    _, before = await tried.zk.get(record)
    answer = await tried.ask(order("throttle", rate=rate), 0)
    assert told(answer) == {"moving": 1, "waiting": 0, "repairs": 0}
    data, now = await tried.zk.get(record)
    assert (json.loads(data)["throttle"], now.czxid) == (rate, before.czxid)
    await tried.world.alter({name: None})
    await eventually(lambda: tried.world.has((*name, [1, 2])))


@case("DoCommand hold", "DoCommand release")
async def held(tried: Tried) -> None:
    """A move that waits is held and released, each once and durably. Reassignments are disabled, so that it waits."""
    name = ("standing", 1)

    async def switched(event: str, change: Awaitable[Any]) -> None:
        async def times() -> int:
            return sum(one["event"] == event for one in await tried.world.events())

        async def is_seen() -> bool:
            return await times() > before

        before = await times()
        await change
        await eventually(is_seen)

    async def set_to(*, hold: bool) -> None:
        request = order("hold", topics=[name[0]], reason="disks") if hold else order("release", topics=[name[0]])
        assert told(await tried.ask(request, 0)) == {"changed": 1, "unchanged": 0, "in_flight": 0}
        assert ("held" in (await queue_json(tried.zk) or {})[name]) is hold

    await switched("reassignments.disabled", tried.zk.create(znode_paths.REASSIGN_CANCEL, b""))
    assert (await tried.world.alter({name: (2, 3)}, queue=True))[name][0] == 0
    await set_to(hold=True)
    await set_to(hold=False)
    assert (await tried.world.alter({name: None}))[name][0] == 0
    await switched("reassignments.enabled", tried.zk.delete(znode_paths.REASSIGN_CANCEL))
    assert await tried.world.has((*name, [1, 2]))


@case("ElectLeaders")
async def elected(tried: Tried) -> None:
    name = ("elected", 0)
    leader = (await state_json(tried.zk, name))["leader"]
    other = 3 - leader
    await tried.world.alter({name: (other, leader)})
    await eventually(lambda: tried.world.has((*name, [other, leader])))
    await eventually(lambda: tried.world.in_sync(name, other))
    partitions = ElectLeadersRequest.TopicPartitions
    request = ElectLeadersRequest(
        election_type=0,
        topic_partitions=[partitions(topic="elected", partitions=[0, 1]), partitions(topic="none", partitions=[0])],
        timeout_ms=10_000,
    )
    answer = await tried.ask(request, 2)
    found = {
        (topic.topic, one.partition_id): one.error_code
        for topic in answer.replica_election_results
        for one in topic.partition_result
    }
    assert found == {name: 0, ("elected", 1): NOT_NEEDED, ("none", 0): UNKNOWN_TOPIC}
    assert await tried.world.led_by(name, other)


@case("DoCommand heal")
async def healed(tried: Tried) -> None:
    """The moves that the answer shows are those of the queue, each once."""
    name = f"lost-{tried.number}"
    await put_topic(tried.zk, name, {0: (1, LOST), 1: (LOST, 2)}, topic_id=uuid4())

    async def is_shown() -> bool:
        answer = await tried.world.ask(order("heal", broker=LOST), 0)
        return not answer.error_code and [one["topic"] for one in told(answer)["moves"]] == [name] * 2

    await eventually(is_shown)
    repair = told(await tried.ask(order("heal", broker=LOST, dry_run=False), 0))
    assert repair["left_out"] == []
    assert {(one["topic"], one["partition"]) for one in repair["moves"]} == {(name, 0), (name, 1)}
    for one in repair["moves"]:
        await eventually(partial(tried.world.has, (name, one["partition"], one["target"])))


@case("DoCommand approve")
async def approved(tried: Tried) -> None:
    """The moves of a repair that waits for approval are approved once, and start."""
    name = f"unapproved-{tried.number}"
    await put_topic(tried.zk, name, {0: (1, LOST), 1: (LOST, 2)}, topic_id=uuid4())
    await tried.world.settings({healing_settings.APPROVAL: "required", healing_settings.INTERVAL: "1"})

    async def waits() -> bool:
        found = await queue_json(tried.zk) or {}
        return sum("unapproved_since" in one for one in found.values()) == 2

    await eventually(waits)
    answer = await tried.ask(order("approve", brokers=[LOST]), 0)
    assert told(answer) == {"approved": 2, "held": 0, "brokers": [LOST]}
    await tried.world.settings({})
    for index, kept in ((0, 1), (1, 2)):
        await eventually(partial(_left, tried, (name, index), kept))


async def _left(tried: Tried, name: tuple[str, int], kept: int) -> bool:
    """Whether the partition has left the lost broker and has kept this one."""
    replicas = (await topic_json(tried.zk, name[0]))["partitions"][str(name[1])]
    return kept in replicas and LOST not in replicas and len(replicas) == 2


# ---------------------------------------------------------------------------------------------------- from brokers


async def broker_epoch(tried: Tried, broker: int) -> int:
    return (await tried.zk.get(znode_paths.broker(broker)))[1].czxid


@case("AlterPartition")
async def shrunk(tried: Tried) -> None:
    name = (f"shrunk-{tried.number}", 0)
    await tried.world.create_topic(name[0], {0: [1, 2]})
    state = await state_json(tried.zk, name)
    assert state["leader"] == 1
    epoch = (await tried.zk.get(znode_paths.partition_state(*name)))[1].version
    topic = AlterPartitionRequest.TopicData
    one = topic.PartitionData(
        partition_index=0,
        leader_epoch=state["leader_epoch"],
        new_isr=[1],
        leader_recovery_state=0,
        partition_epoch=epoch,
    )
    request = AlterPartitionRequest(
        broker_id=1,
        broker_epoch=await broker_epoch(tried, 1),
        topics=[topic(topic_name=name[0], partitions=[one])],
    )
    answer = await tried.ask(request, 1)
    [[found]] = [each.partitions for each in answer.topics]
    assert (answer.error_code, found.error_code, found.isr, found.partition_epoch) == (0, 0, [1], epoch + 1)


@case("ControlledShutdown")
async def shut_down(tried: Tried) -> None:
    name = (f"left-{tried.number}", 0)
    await tried.world.start_broker(4)
    await tried.world.fleets[4].ready()
    await eventually(lambda: tried.world.fleets[4].brokers)
    await tried.world.create_topic(name[0], {0: [4, 1]})
    await eventually(lambda: tried.world.led_by(name, 4))
    answer = await tried.ask(ControlledShutdownRequest(broker_id=4, broker_epoch=await broker_epoch(tried, 4)), 3)
    assert (answer.error_code, list(answer.remaining_partitions)) == (0, [])
    assert await tried.world.led_by(name, 1)
    assert not await tried.world.in_sync(name, 4)
    await tried.world.kill_broker(4)


@case("InitProducerId", "AllocateProducerIds")
async def given_out(tried: Tried) -> None:
    """No id is left out, none is given twice."""
    found = []
    for _ in range(2):
        init = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
        answer = await tried.ask(init, 1)
        assert answer.error_code == 0
        found.append(answer.producer_id)
        allocate = AllocateProducerIdsRequest(broker_id=1, broker_epoch=await broker_epoch(tried, 1))
        answer = await tried.ask(allocate, 0)
        assert (answer.error_code, answer.producer_id_len) == (0, 1)
        found.append(answer.producer_id_start)
    assert found == list(range(4 * tried.number, 4 * tried.number + 4))
