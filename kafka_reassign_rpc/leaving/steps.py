"""What is left to do, from facts alone: no step depends on what an earlier run has done.

While a server of ours runs it moves and restores: no new move starts, those in flight end, the operator stops it, and
a broker becomes the controller.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

import msgspec

from kafka_reassign_rpc.controller.store import ConfigWrite
from kafka_reassign_rpc.controller.zookeeper_store.fenced_zookeeper import transactions_of
from kafka_reassign_rpc.core.config_values import BROKERS, DEFAULT
from kafka_reassign_rpc.core.settings.server_settings import divided
from kafka_reassign_rpc.core.state.throttle_leases import NO_RATE
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, TopicMemory, broker_after, topic_after
from kafka_reassign_rpc.leaving.facts import Facts
from kafka_reassign_rpc.preflight.findings import MOVE_REPLICAS, every, partition_names, some
from kafka_reassign_rpc.preflight.own_znodes import OwnZnode, root_of
from kafka_reassign_rpc.support.counted import agreeing, counted
from kafka_reassign_rpc.support.host_port import Address
from kafka_reassign_rpc.support.typed_commands import command
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import announcement, entity_path, written_or_gone
from kafka_reassign_rpc.zookeeper.operations import Create, Delete, Op, SetData
from kafka_reassign_rpc.zookeeper.topic_znodes import MISSING_REPLICAS
from kafka_reassign_rpc.zookeeper.transactions import split_ops

_topic = msgspec.json.Decoder(dict[str, msgspec.Raw])
_CANCEL = command("kafka-reassign", "--cancel", "--preserve-throttles")
_WAITS = (znode_paths.REASSIGNMENT_REQUESTS, *znode_paths.QUEUES)


class Act(StrEnum):
    """DO: `writes`, once the operator agrees. WAIT: until others have done it. STOP: the operator has to do it."""

    DO = "do"
    WAIT = "wait"
    STOP = "stop"


class Step(NamedTuple):
    """Equal steps write the same to the same znodes.

    subject   stays the same from version to version
    writes    transactions, each under the fence of the controller's epoch
    created   czxids of what `writes` deletes: a version alone does not distinguish a znode from a later one
    """

    subject: str
    act: Act
    text: str
    advice: str = ""
    writes: tuple[tuple[Op, ...], ...] = ()
    created: tuple[int, ...] = ()


def steps(facts: Facts, *, hand_over: bool) -> list[Step]:
    """With `hand_over`, moves in flight need not end under a server of ours."""
    left = list(_left(facts))
    if not left:
        return []
    return [*_before(facts, hand_over=hand_over), *left]


def _before(facts: Facts, *, hand_over: bool) -> Iterator[Step]:
    cluster, owner = facts.state.cluster, facts.state.controller.owner
    controls = owner is not None and owner.id in facts.servers
    if facts.unreadable:
        yield Step(
            "unreadable",
            Act.STOP,
            f"what is there cannot be kept or taken back: {every(facts.unreadable)}",
            "correct or delete these znodes",
        )
    if controls and not cluster.disabled_by_znode:
        hold = ((Create(znode_paths.REASSIGN_CANCEL),),)
        text = f"no new move starts from now on, by any route ({znode_paths.REASSIGN_CANCEL} is created)"
        yield Step("hold", Act.DO, text, "", hold)
    moving = partition_names((topic, index) for topic, found in cluster.moving.items() for index in found)
    if moving and controls and not hand_over:
        yield Step(
            "moves",
            Act.WAIT,
            f"{counted(len(moving), 'partition')} {agreeing(len(moving), 'are')} moving ({some(moving)})",
            f"they end by themselves; `{_CANCEL}` takes them back, --hand-over lets a stock controller carry them on,"
            " without throttles of leases",
        )
    if cluster.batch is not None and (controls or owner is None):
        waiting = counted(len(cluster.batch.entries), "move")
        text = f"{znode_paths.REASSIGN_PARTITIONS} is deleted ({waiting}): a stock controller would start all at once"
        op = Delete(znode_paths.REASSIGN_PARTITIONS, cluster.batch.version)
        yield Step("batch", Act.DO, text, "", ((op,),), (cluster.batch.changed,))
    yield from _replicas(facts)
    if facts.servers:
        places = [
            f"{number} ({', '.join(str(Address(one.host, one.port)) for one in found) or 'its address is not known'})"
            for number, found in sorted(facts.servers.items())
        ]
        yield Step(
            "servers",
            Act.WAIT,
            f"{counted(len(places), 'server')} {agreeing(len(places), 'run')}: {every(places)}",
            "stop them with SIGTERM and keep them stopped (`systemctl disable --now kafka-reassign-rpc`): that gives"
            " the controllership to a broker at once",
        )
    brokers = cluster.brokers
    if brokers and (owner is None or (owner.kraft_epoch is None and owner.id not in brokers)):
        yield Step(
            "controller",
            Act.WAIT,
            "no broker is the controller yet: what servers keep stays until one is",
            "a running stock broker takes over by itself; after a kill of the controller its session has to end",
        )


def _replicas(facts: Facts) -> Iterator[Step]:
    """Only a mark says that an id is no broker's: it stays as long as replicas are there. A broker in KRaft mode is not
    registered, so nothing is said of it.
    """
    if facts.state.is_krafts:
        return
    ids = {int(name) for name in facts.state.taken_ids if znode_paths.parse_index(name) is not None}
    held = [
        f"{topic}-{index} on {broker}"
        for topic, index, one in facts.state.cluster.all_partitions()
        for broker in one.replicas
        if broker in ids - facts.state.cluster.brokers.keys()
    ]
    if held:
        text = f"replicas are on ids of servers, where no broker has them: {every(sorted(held))}"
        yield Step("replicas", Act.STOP, text, MOVE_REPLICAS)


def _left(facts: Facts) -> Iterator[Step]:
    kept = {parent for path in facts.own.others for parent in _parents(path)}
    queued = len(facts.state.cluster.queue) + sum(map(len, facts.requests.values()))
    waits = [one for one in facts.own.below(*_WAITS) if one.path not in kept]
    if waits and (queued or facts.requests):
        yield _deletion(
            "queue",
            f"{counted(queued, 'move')} that {agreeing(queued, 'wait')} for a turn never {agreeing(queued, 'start')}",
            waits,
        )
    configs = [*_leases(facts), *_settings(facts), *_topics(facts)]
    if configs and facts.state.is_krafts:
        yield Step(
            "migration",
            Act.STOP,
            f"KRaft has taken over, and what ZooKeeper says of configs does not hold any more: "
            f"{'; '.join(one.text for one in configs)}",
            "`kafka-reassign-rpc check --for-kraft`, with the same --zookeeper-connect, names them, and docs/migrate.md"
            " says how they are taken back; or go back to ZooKeeper first",
        )
    else:
        yield from configs
    rest = [one for one in facts.own.ours if one.path not in kept]
    if rest:
        names = sorted({root_of(one.path) for one in rest})
        yield _deletion("znodes", f"our znodes are deleted: {every(names)}", rest)
    if facts.own.others:
        yield Step(
            "others",
            Act.STOP,
            f"somebody else has put znodes below ours, which stay until these are gone: {every(facts.own.others)}",
            "look what they are, and delete them",
        )


def _deletion(subject: str, text: str, znodes: Iterable[OwnZnode]) -> Step:
    """Children go before parents, and last what keeps servers from starting moves."""
    wanted = sorted(znodes, key=lambda one: (one.path == znode_paths.REASSIGN_CANCEL, -one.path.count("/"), one.path))
    ops = [Delete(one.path, one.version) for one in wanted]
    return Step(subject, Act.DO, text, "", _split(ops), tuple(one.created for one in wanted))


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _split(ops: Iterable[Op]) -> tuple[tuple[Op, ...], ...]:
    return tuple(tuple(batch) for batch in split_ops(ops))


def _leases(facts: Facts) -> Iterator[Step]:
    writes: list[tuple[Op, ...]] = []
    names = []
    defaults = facts.state.cluster.default_configs
    for stored in facts.leased:
        configs = stored.configs or {}
        write = ConfigWrite(stored, configs, TopicMemory())
        if stored.configs is None:  # of a topic or broker that is gone: there is nothing to take back
            write = ConfigWrite(stored, {}, BrokerMemory() if stored.entity.kind == BROKERS else TopicMemory())
        elif isinstance(stored.memory, TopicMemory):
            write = ConfigWrite(stored, *topic_after(configs, stored.memory, (), ()))
        elif isinstance(stored.memory, BrokerMemory):
            write = ConfigWrite(stored, *broker_after(configs, defaults, stored.memory, NO_RATE))
        writes += map(tuple, transactions_of(write))
        names.append(f"{stored.entity.kind}/{stored.entity.name}")
    if writes:
        unthrottled = "; partitions that still move go on without them" if facts.state.cluster.moving else ""
        yield Step(
            "leases",
            Act.DO,
            f"throttles of leases are taken back, as they were before, on {some(sorted(names))}{unthrottled}",
            "",
            tuple(writes),
        )


def _settings(facts: Facts) -> Iterator[Step]:
    ops: list[Op] = []
    texts = []
    for path, (_, stat) in facts.configs.items():
        name = path.rpartition("/")[2]
        if name != DEFAULT:
            ops.append(Delete(path, stat.version))
            texts.append(f"configs of server {name}")
            continue
        own, left = divided(facts.state.cluster.default_configs)
        if own:
            ops += [*written_or_gone(path, left, stat), announcement(entity_path(BROKERS, DEFAULT))]
            texts.append(f"{', '.join(sorted(own))} among the brokers' default configs")
    if ops:
        created = tuple(stat.czxid for _, stat in facts.configs.values())
        text = f"settings of servers are taken back: {every(texts)}"
        yield Step("settings", Act.DO, text, "", (tuple(ops),), created)


def _topics(facts: Facts) -> Iterator[Step]:
    ops = []
    for path, (data, stat) in facts.lacking.items():
        fields = _topic.decode(data)
        fields.pop(MISSING_REPLICAS, None)
        ops.append(SetData(path, msgspec.json.encode(fields), stat.version))
    if ops:
        names = [path.rpartition("/")[2] for path in facts.lacking]
        text = f"the field {MISSING_REPLICAS} leaves the znodes of {counted(len(ops), 'topic')} ({some(names)})"
        yield Step("topics", Act.DO, text, "", _split(ops))
