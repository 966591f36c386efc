"""The topic of the state log: found, or created, with settings that lose nothing."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from kafka_reassign_rpc.client.client_errors import Unreachable, UnsupportedHere, name_of
from kafka_reassign_rpc.client.config_calls import TOPIC, Config, change_configs, describe_configs
from kafka_reassign_rpc.client.metadata_calls import describe_cluster
from kafka_reassign_rpc.client.request_routing import RequestRouter
from kafka_reassign_rpc.core.kafka_errors import KafkaError, UnknownTopicOrPartition
from kafka_reassign_rpc.kraft.state_log.leader_calls import LOOK_AGAIN_S, LOOKS
from kafka_reassign_rpc.kraft.state_log.log_errors import LogRefused, LogUnavailable, NotBrokers
from kafka_reassign_rpc.kraft.state_log.log_format import LEAST_ROOM
from kafka_reassign_rpc.protocol.messages import (
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeQuorumRequest,
    DescribeTransactionsRequest,
    FindCoordinatorRequest,
    MetadataRequest,
)
from kafka_reassign_rpc.support import typed_commands
from kafka_reassign_rpc.support.counted import counted

log = logging.getLogger(__name__)

REPLICAS, MIN_INSYNC = 3, 2
KNOWN_S, PAUSE_S = 30.0, 0.2
"""How long brokers may take to learn of a new topic, and a new `__transaction_state` to have leaders."""
MAX_MESSAGE_BYTES = 1_048_588
"""Kafka's default of `max.message.bytes`."""
CREATE, ROOM, SEGMENT, NEEDED = "--create", "max.message.bytes", "segment.bytes", "min.insync.replicas"
_NOTHING_DELETED = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_DEFAULTS = {
    "cleanup.policy": "delete",
    "retention.ms": "604800000",
    "retention.bytes": "-1",
    NEEDED: "1",
    "message.timestamp.type": "CreateTime",
    "unclean.leader.election.enable": "false",
    "compression.type": "producer",
    ROOM: str(MAX_MESSAGE_BYTES),
}
"""Kafka's, where a broker tells none."""
_TRANSACTIONAL_ID = 1
_ALREADY_EXISTS, _UNKNOWN, _UNKNOWN_ID = 36, 3, 100
_NO_COORDINATOR_YET = frozenset({14, 15, 16})
_OF_COORDINATORS = "__transaction_state"
_NEVER_USED = 105
"""TRANSACTIONAL_ID_NOT_FOUND"""


class Topic(NamedTuple):
    """`room`: bytes of the largest batch."""

    id: UUID
    room: int


class _Found(NamedTuple):
    id: UUID
    partitions: int
    replicas: int
    has_leader: bool


def settings_for(replicas: int) -> dict[str, str]:
    """`segment.bytes` stays as it is: what a snapshot has replaced takes room until its segment is full."""
    return {
        **_NOTHING_DELETED,
        NEEDED: str(MIN_INSYNC if replicas >= REPLICAS else 1),
        "message.timestamp.type": "LogAppendTime",
        "unclean.leader.election.enable": "false",
        "compression.type": "uncompressed",
    }


class Changes(NamedTuple):
    """Of a topic's settings: name -> (is, should be).

    safe    with what is, it could lose decisions
    usable  with what is, all replicas are needed: nothing is committed while one of them is away
    """

    safe: dict[str, tuple[str, str]]
    usable: dict[str, tuple[str, str]]


def changes_of(told: Iterable[Config], replicas: int) -> Changes:
    """More in-sync replicas than needed are fine, while one can be away. Brokers never ask for more than there are."""
    has = {**_DEFAULTS, **{one.name: one.value for one in told if one.value is not None}}
    wanted = settings_for(replicas)
    differ = {name: (has[name], value) for name, value in wanted.items() if has[name] != value}
    needed = int(has[NEEDED]) if has[NEEDED].isdigit() else 0
    if needed <= int(wanted[NEEDED]):
        return Changes(differ, {})
    lower = differ.pop(NEEDED)
    return Changes(differ, {NEEDED: lower} if 1 < replicas <= needed else {})


def room_of(told: Iterable[Config]) -> tuple[int, str]:
    """Of a batch, and the setting that says so: a broker takes none that is larger than a segment (UnifiedLog.append),
    and one that is larger than Kafka's default keeps the event loop."""
    sizes = ((one.value, one.name) for one in told if one.name in (ROOM, SEGMENT))
    return min([(MAX_MESSAGE_BYTES, ROOM), *((int(has), name) for has, name in sizes if has and has.isdigit())])


def command(topic: str, replicas: int) -> str:
    """What creates the topic for a server that may not."""
    configs = [word for name, value in settings_for(replicas).items() for word in ("--config", f"{name}={value}")]
    size = ("--partitions", 1, "--replication-factor", replicas)
    return typed_commands.command("kafka-topics.sh", "--create", "--topic", topic, *size, *configs)


async def _find(router: RequestRouter, topic: str) -> _Found | None:
    """Raises LogRefused, LogUnavailable."""
    one = MetadataRequest.MetadataRequestTopic(topic_id=None, name=topic)
    request = MetadataRequest(topics=[one], allow_auto_topic_creation=False)
    answer = await router.ask_any(lambda _: request, MetadataRequest)
    (found,) = answer.topics
    if found.error_code == _UNKNOWN:
        return None
    if found.error_code == 29:
        raise LogRefused(f"this server may not see the topic {topic}: allow it DESCRIBE, READ and WRITE there")
    if found.error_code == 17:
        raise LogRefused(f"{topic} is no name of a topic")
    if found.error_code and not found.partitions:
        raise LogUnavailable(f"{name_of(found.error_code)}, of the topic {topic}")
    if found.topic_id is None or not found.topic_id.int:
        raise LogRefused(f"the cluster gives the topic {topic} no id: it is older than Kafka 3.3 in KRaft mode")
    by_index = {one.partition_index: one for one in found.partitions}
    first = by_index.get(0)
    return _Found(
        found.topic_id,
        len(by_index),
        0 if first is None else len(first.replica_nodes),
        first is not None and first.leader_id >= 0,
    )


async def is_there(router: RequestRouter, topic: str) -> bool:
    """Raises LogRefused, LogUnavailable."""
    return await _find(router, topic) is not None


async def found(router: RequestRouter, topic: str) -> Topic:
    """Raises LogRefused where there is none. For reading: `room` is Kafka's default."""
    one = await _find(router, topic)
    if one is None:
        raise LogRefused(f"there is no topic {topic}")
    return Topic(one.id, MAX_MESSAGE_BYTES)


async def found_or_created(router: RequestRouter, topic: str) -> Topic:
    """Raises LogRefused, LogUnavailable; KafkaError if nobody answers."""
    await require_kraft(router)
    found = await _find(router, topic)
    if found is None:
        await _require_coordinator(router, topic)
        await _require_not_deleted(router, topic)
        await _create(router, topic)
    found = await _known(router, topic)
    if more := _more_partitions(topic, found):
        log.warning("%s", more)
    told = await _told(router, topic)
    await _mend(router, topic, found.replicas, changes_of(told, found.replicas))
    if few := await _few_replicas(router, topic, found):
        log.warning("%s", few)
    room = _room(topic, told)
    await _require_coordinator(router, topic)
    return Topic(found.id, room)


async def examined(router: RequestRouter, topic: str) -> list[str]:
    """What a server would change or warn of at its start, which this does not. Raises LogRefused for what would end its
    start, LogUnavailable; KafkaError if nobody answers.
    """
    await require_kraft(router)
    found = await _find(router, topic)
    if await _find(router, _OF_COORDINATORS) is not None:  # to ask for a coordinator creates it
        await _require_coordinator(router, topic)
        if found is None:
            await _require_not_deleted(router, topic)
    if found is None:
        await _create(router, topic, only_tries=True)
        return [
            f"the topic {topic} is not there: a server creates it, with {counted(await _replicas(router), 'replica')}"
        ]
    more, told = _more_partitions(topic, found), await _told(router, topic)
    _room(topic, told)
    changes = changes_of(told, found.replicas)
    _require_not_compacted(topic, changes)
    few = await _few_replicas(router, topic, found)
    return [
        *filter(None, (more, few)),
        *([f"a server changes settings of {topic}: {_listed(changes.safe)}"] if changes.safe else []),
        *([f"a server sets {_listed(changes.usable)}: {_all_needed(topic, found.replicas)}"] if changes.usable else []),
    ]


def _more_partitions(topic: str, found: _Found) -> str:
    """ "" if there are none. Somebody may add some at any time, and nobody can take them away."""
    if found.partitions == 1:
        return ""
    has = counted(found.partitions, "partition")
    return f"the topic {topic} has {has}: the state log is in the first, others are not used"


async def _few_replicas(router: RequestRouter, topic: str, found: _Found) -> str:
    """ "" if there are enough."""
    if found.replicas >= REPLICAS or len(await describe_cluster(router)) < REPLICAS:
        return ""
    has = counted(found.replicas, "replica")
    return f"the topic {topic} has {has}, and not {REPLICAS}: a lost broker can lose decisions; add replicas"


def _room(topic: str, told: Iterable[Config]) -> int:
    room, setting = room_of(told)
    if room < LEAST_ROOM:
        raise LogRefused(f"the topic {topic} has {setting}={room}: a state log needs at least {LEAST_ROOM}")
    return room


async def delete(router: RequestRouter, topic: str) -> None:
    """By its id. Raises LogRefused, LogUnavailable; KafkaError."""
    found = await _find(router, topic)
    if found is None:
        return
    one = DeleteTopicsRequest.DeleteTopicState(name=None, topic_id=found.id)
    request = DeleteTopicsRequest(topics=[one], timeout_ms=router.timeout_ms)
    (deleted,) = (await router.ask_any(lambda _: request, DeleteTopicsRequest, changes=True)).responses
    if deleted.error_code not in (0, _UNKNOWN, _UNKNOWN_ID):
        why = deleted.error_message or name_of(deleted.error_code)
        by_hand = typed_commands.command("kafka-topics.sh", "--delete", "--topic", topic)
        raise LogRefused(f"the topic {topic} cannot be deleted ({why}): {by_hand}")


async def _require_not_deleted(router: RequestRouter, topic: str) -> None:
    if await _was_deleted(router, topic):
        raise LogRefused(
            f"the topic {topic} is gone, and servers have led by it in the last week: what waited, original orders"
            " and former values of throttles are lost. Look for throttles that are left; to begin an empty log,"
            f" create it: {command(topic, await _replicas(router))}"
        )


async def require_kraft(router: RequestRouter) -> None:
    request = DescribeQuorumRequest(topics=[])
    try:
        await router.ask_any(lambda _: request, DescribeQuorumRequest)
    except UnsupportedHere:
        raise LogRefused("this cluster is in ZooKeeper mode, and a state log needs KRaft mode") from None


async def _was_deleted(router: RequestRouter, topic: str) -> bool:
    """Servers claim the transactional id only once the topic is there, and the cluster remembers it for a week
    (transactional.id.expiration.ms). A broker may not have heard of a new topic yet, so several looks say that it is
    gone."""
    request, error = DescribeTransactionsRequest(transactional_ids=[topic]), 0
    for _ in range(int(KNOWN_S / PAUSE_S)):
        error, broker = await coordinator(router, topic)
        if not error:
            answer = await router.ask_node_once(broker, lambda _: request, DescribeTransactionsRequest)
            error = answer.transaction_states[0].error_code
        if error not in _NO_COORDINATOR_YET:
            break
        await asyncio.sleep(PAUSE_S)
    if error == _NEVER_USED:
        return False
    if error:
        raise LogUnavailable(f"{name_of(error)}, of the transactional id {topic}")
    for _ in range(LOOKS):
        if await _find(router, topic) is not None:
            return False
        await asyncio.sleep(LOOK_AGAIN_S)
    return True


async def _replicas(router: RequestRouter) -> int:
    return min(REPLICAS, len(await describe_cluster(router)))


async def _create(router: RequestRouter, topic: str, *, only_tries: bool = False) -> None:
    replicas = await _replicas(router)
    creatable = CreateTopicsRequest.CreatableTopic
    configs = [creatable.CreatableTopicConfig(name=name, value=value) for name, value in settings_for(replicas).items()]
    one = creatable(name=topic, num_partitions=1, replication_factor=replicas, assignments=[], configs=configs)
    request = CreateTopicsRequest(topics=[one], timeout_ms=router.timeout_ms, validate_only=only_tries)
    answer = await router.ask_any(lambda _: request, CreateTopicsRequest, changes=True)
    (made,) = answer.topics
    if made.error_code and made.error_code != _ALREADY_EXISTS:
        why = made.error_message or name_of(made.error_code)
        raise LogRefused(f"the topic {topic} cannot be created ({why}): {command(topic, replicas)}")
    if not made.error_code and not only_tries:
        log.info("created the topic %s with %s for the state log", topic, counted(replicas, "replica"))


async def _known(router: RequestRouter, topic: str) -> _Found:
    for _ in range(int(KNOWN_S / PAUSE_S)):
        found = await _find(router, topic)
        if found is not None and found.has_leader:
            return found
        await asyncio.sleep(PAUSE_S)
    raise LogUnavailable(f"the topic {topic} has no leader after {KNOWN_S:g} s")


async def _told(router: RequestRouter, topic: str) -> list[Config]:
    for _ in range(int(KNOWN_S / PAUSE_S)):
        (found,) = (await describe_configs(router, [(TOPIC, topic)])).values()
        if not isinstance(found, UnknownTopicOrPartition):  # else this broker has not heard of a new topic yet
            break
        await asyncio.sleep(PAUSE_S)
    if isinstance(found, UnknownTopicOrPartition):
        raise LogUnavailable(f"a broker does not know the topic {topic} after {KNOWN_S:g} s")
    if isinstance(found, KafkaError):
        raise LogRefused(
            f"the settings of the topic {topic} are not seen ({found.message}): allow this server DESCRIBE_CONFIGS"
        )
    return found


async def _mend(router: RequestRouter, topic: str, replicas: int, changes: Changes) -> None:
    """A compacted topic has lost records, and is refused."""
    _require_not_compacted(topic, changes)
    safe, usable = changes
    if not safe and not usable:
        return
    values = {name: value for name, (_, value) in (safe | usable).items()}
    (error,) = (await change_configs(router, {(TOPIC, topic): dict(values)})).values()
    if error is not None and safe:
        raise LogRefused(
            f"the topic {topic} could lose decisions and its settings cannot be changed ({error.message}): set"
            f" {_listed(safe | usable)}"
        )
    if safe:
        log.warning("changed settings of the topic %s, with which it could lose decisions: %s", topic, _listed(safe))
    if usable and error is not None:
        why = f"{_all_needed(topic, replicas)}, and its settings cannot be changed ({error.message})"
        log.warning("%s: set %s", why, _listed(usable))
    elif usable:
        log.warning("set %s: %s", _listed(usable), _all_needed(topic, replicas))


def _require_not_compacted(topic: str, changes: Changes) -> None:
    policy, _ = changes.safe.get("cleanup.policy", ("", ""))
    if "compact" in policy:
        raise LogRefused(
            f"the topic {topic} is compacted (cleanup.policy={policy}), which loses decisions: delete it or name"
            " another one"
        )


def _all_needed(topic: str, replicas: int) -> str:
    all_of_them = counted(replicas, "replica")
    return f"the topic {topic} needs all of its {all_of_them}, so nothing is committed while one of them is away"


def _listed(changes: Mapping[str, tuple[str, str]]) -> str:
    return ", ".join(f"{name}={value} (it was {before})" for name, (before, value) in changes.items())


async def _require_coordinator(router: RequestRouter, topic: str) -> None:
    """The first question creates `__transaction_state`, which takes a while, or never succeeds."""
    error = 0
    for _ in range(int(KNOWN_S / PAUSE_S)):
        error, _node = await coordinator(router, topic)
        if error not in _NO_COORDINATOR_YET:
            break
        await asyncio.sleep(PAUSE_S)
    if error == 53:
        raise LogRefused(f"this server may not use the transactional id {topic}: allow it WRITE and DESCRIBE there")
    if error:
        raise LogRefused(
            f"no broker coordinates transactions (error {error}), which fences servers: transaction.state.log."
            "replication.factor (3 by default) may be more than there are brokers"
        )


async def coordinator(router: RequestRouter, transactional_id: str, asked: int | None = None) -> tuple[int, int]:
    """(error, broker). `asked`: the broker that is asked, None: any. Raises NotBrokers, LogUnavailable."""

    def build(version: int) -> FindCoordinatorRequest:
        if version >= 4:
            return FindCoordinatorRequest(key_type=_TRANSACTIONAL_ID, coordinator_keys=[transactional_id])
        return FindCoordinatorRequest(key=transactional_id, key_type=_TRANSACTIONAL_ID)

    try:
        if asked is None:
            answer = await router.ask_any(build, FindCoordinatorRequest)
        else:
            answer = await router.ask_node_once(asked, build, FindCoordinatorRequest)
    except Unreachable as error:
        raise LogUnavailable(error.message) from error
    except UnsupportedHere:  # every broker has a coordinator's address to tell
        raise NotBrokers from None
    found = answer.coordinators[0] if getattr(answer, "coordinators", None) else answer
    return found.error_code, found.node_id
