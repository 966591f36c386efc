"""The connection to ZooKeeper is cut at every write of every command, before and after ZooKeeper has carried it out.

Each write is a transaction of its own. Each command is answered as if nothing had happened, decides once, and leaves
what it leaves without a cut; the epoch stays.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from random import Random
from uuid import uuid4

import pytest

from kafka_reassign_rpc.api.ports import CreatedTopic, NewPartitions, NewTopic
from kafka_reassign_rpc.controller.commands.leadership_commands import (
    ControlledShutdownCommand,
    ElectLeadersCommand,
)
from kafka_reassign_rpc.controller.commands.topic_commands import (
    CreatePartitionsCommand,
    CreateTopicsCommand,
    DeleteTopicsCommand,
    TopicsVanished,
)
from kafka_reassign_rpc.controller.duties.delegation_tokens import remove_expired_tokens
from kafka_reassign_rpc.controller.duties.producer_ids import BLOCK, ProducerIds
from kafka_reassign_rpc.controller.duties.topic_deletion import remove_topic
from kafka_reassign_rpc.controller.lifecycle.term import ensure_feature_znode
from kafka_reassign_rpc.core.acls.acl_binding import (
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafka_reassign_rpc.core.quotas.client_quotas import USER
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper import topic_znodes, transactions, znode_paths, zookeeper_session
from kafka_reassign_rpc.zookeeper.acl_znodes import AclStore
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore, QuotaStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import (
    BareController,
    batch,
    batch_json,
    elected_controller,
    put_request,
    put_topic,
    queue_json,
    register,
    topic_json,
)
from tests.waiting import eventually
from tests.zookeeper.cutting_proxy import Cut, CuttingProxy, When

Case = Callable[[BareController, ZooKeeper, int], Awaitable[None]]
"""Does its work and checks the answers. The number is another one each time."""

BEFORE, AFTER = When.BEFORE, When.AFTER
CUTS: Mapping[str, Sequence[tuple[When, bool]]] = {
    "before, reset": [(BEFORE, False)],
    "after, reset": [(AFTER, False)],
    "before, closed": [(BEFORE, True)],
    "after, closed": [(AFTER, True)],
    "after, and before the question what became of it": [(AFTER, False), (BEFORE, False)],
    "in bursts": [(AFTER, False), (AFTER, True), (BEFORE, False), (AFTER, False)],
}


QUICK = ("before, closed", "after, reset")
"""These are made at every write; the others at every fourth, from another one on each: together they come to all."""
PLACES = {
    **dict.fromkeys(QUICK, (0, 1)),
    **{name: (at, 4) for at, name in enumerate(name for name in CUTS if name not in QUICK)},
}
"""For each kind of cuts: the first write, and the step to the next."""


async def created(controller: BareController, zk: ZooKeeper, number: int) -> None:
    names = [f"new{number}a", f"new{number}b"]
    wanted = [NewTopic(name, 2, 2, {}, {"retention.ms": "1000"}) for name in names]
    answers = await controller.loop.submit(
        CreateTopicsCommand(wanted, validate_only=False, new_id=uuid4, random=Random(1))
    )
    for name in names:
        assert answers[name] == CreatedTopic(controller.cluster.topics[name].id, 2, 2)  # type: ignore[arg-type]
        assert (await topic_json(zk, name))["partitions"].keys() == {"0", "1"}


async def grown(controller: BareController, zk: ZooKeeper, _: int) -> None:
    size = len(controller.cluster.topics["t"].partitions) + 2
    answers = await controller.loop.submit(CreatePartitionsCommand([NewPartitions("t", size)], validate_only=False))
    assert answers == {"t": None}
    assert len((await topic_json(zk, "t"))["partitions"]) == size


async def deleted(controller: BareController, zk: ZooKeeper, number: int) -> None:
    """A deletion begins, and the znodes go."""
    name = f"d{number}"
    topic = controller.cluster.topics[name]
    assert await controller.loop.submit(DeleteTopicsCommand([name])) == {name: None}
    assert await zk.exists(znode_paths.delete_topic(name)) is not None
    await remove_topic(controller.zk, controller.store, topic)
    await controller.loop.submit(TopicsVanished({name: topic.created}))
    assert await zk.exists(znode_paths.topic(name)) is None
    assert await zk.exists(znode_paths.delete_topic(name)) is None


async def moved(controller: BareController, zk: ZooKeeper, _: int) -> None:
    """Start, another target, a cancel, a start to the end."""
    for target in ((3, 4), (4, 1), None, (3, 1)):
        answers = await controller.alter({("m", 0): target, ("m", 1): target})
        assert answers == {("m", 0): None, ("m", 1): None}
    changed = await controller.caught_up(("m", 0))
    assert isinstance(changed, Partition)
    assert {1, 3} <= set(changed.isr)
    await controller.stopped(("m", 0))
    assert await controller.alter({("m", 1): None}) == {("m", 1): None}
    assert await controller.alter({("m", 0): (1, 2)}) == {("m", 0): None}
    await controller.finish_moves()
    assert (await topic_json(zk, "m"))["partitions"] == {"0": [1, 2], "1": [1, 2]}


async def queued(controller: BareController, zk: ZooKeeper, _: int) -> None:
    names = [("m", 0), ("m", 1)]
    assert set((await controller.alter(dict.fromkeys(names, (3, 4)), queue=True)).values()) == {None}
    assert set((await controller.alter(dict.fromkeys(names, None))).values()) == {None}
    assert await queue_json(zk) is None
    await controller.alter({("m", 0): (3, 4)}, queue=True)
    await controller.start_queued_moves()
    assert controller.partition("m", 0).target == (3, 4)
    assert await controller.alter({("m", 0): None}) == {("m", 0): None}


async def by_znodes(controller: BareController, zk: ZooKeeper, _: int) -> None:
    """A request znode, a batch and a queue by hand are each carried out, and go."""
    await put_request(zk, {("m", 0): (3, 4)})
    await controller.start_requests()
    assert await zk.children(znode_paths.REASSIGNMENT_REQUESTS) == []
    await zk.create(znode_paths.REASSIGN_PARTITIONS, batch({("m", 1): (3, 4)}))
    await zk.create(znode_paths.REASSIGN_QUEUE, batch({("t", 0): (3, 4)}))
    await controller.read_admin_znodes()
    await controller.start_queued_moves()
    for name in (("m", 0), ("m", 1), ("t", 0)):
        assert controller.partition(*name).target == (3, 4)
        await controller.caught_up(name)
    await controller.finish_moves()
    assert (await batch_json(zk), await queue_json(zk)) == (None, None)
    for name in (("m", 0), ("m", 1), ("t", 0)):
        await controller.alter({name: (1, 2)})
    await controller.finish_moves()


async def led(controller: BareController, zk: ZooKeeper, number: int) -> None:
    """Elections, an ISR that shrinks and grows, a controlled shutdown."""
    name = (f"e{number}", 0)
    answers = await controller.loop.submit(ElectLeadersCommand([TopicPartition(*name)], unclean=False))
    assert list(answers) == [(*name, None)]
    for isr in ((1,), (1, 2)):
        changed = await controller.isr(name, isr)
        assert isinstance(changed, Partition)
        assert changed.isr == isr
    epoch = controller.cluster.brokers[5].epoch
    left = await controller.loop.submit(ControlledShutdownCommand(5, epoch))
    assert list(left) == []
    assert controller.partition("s").leader == 1
    controller.cluster.soft.shutting_down.clear()
    assert await controller.isr(("s", 0), (5, 1)) == controller.partition("s")
    answers = await controller.loop.submit(ElectLeadersCommand([TopicPartition("s", 0)], unclean=False))
    assert list(answers) == [("s", 0, None)]


async def throttled(controller: BareController, zk: ZooKeeper, _: int) -> None:
    configs = ConfigStore(zk)
    assert await controller.alter({("m", 0): (3, 4)}, throttle=1000) == {("m", 0): None}
    assert (await configs.get("topics", "m"))["leader.replication.throttled.replicas"] == "0:1,0:2"
    assert await controller.alter({("m", 0): None}) == {("m", 0): None}

    async def is_gone() -> bool:
        return not await configs.get("topics", "m") and not await configs.get("brokers", "3")

    await eventually(is_gone)


async def given_out(controller: BareController, zk: ZooKeeper, number: int) -> None:
    """Blocks of producer ids: none is left out, none is given twice."""
    ids = ProducerIds(controller.store, 1000)
    _, stat = await zk.get(znode_paths.PRODUCER_ID_BLOCK) if number else (b"", None)
    first = 0 if stat is None else (stat.version + 1) * BLOCK
    assert [await ids.allocate(1), await ids.allocate(2)] == [(first, BLOCK), (first + BLOCK, BLOCK)]


async def configured(controller: BareController, zk: ZooKeeper, number: int) -> None:
    """Configs, quotas and ACLs, which no round writes: each change is announced once."""
    before = await zk.children(znode_paths.CONFIG_CHANGES) if await zk.exists(znode_paths.CONFIG_CHANGES) else []
    times = []

    def append(current: Mapping[str, str]) -> Mapping[str, str]:
        times.append(current)
        return {"x": current.get("x", "") + "+"}

    await ConfigStore(controller.zk).alter("topics", f"c{number}", append)
    await ConfigStore(controller.zk).alter("topics", f"c{number}", append)
    await QuotaStore(controller.zk).alter(((USER, f"u{number}"),), append)
    assert await ConfigStore(zk).get("topics", f"c{number}") == {"x": "++"}
    assert await QuotaStore(zk).get(((USER, f"u{number}"),)) == {"x": "+"}
    assert len(await zk.children(znode_paths.CONFIG_CHANGES)) == len(before) + 3
    one = frozenset({AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)})
    pattern = ResourcePattern(ResourceType.TOPIC, f"t{number}", PatternType.LITERAL)
    store = AclStore(controller.zk)
    assert await store.change(pattern, lambda _: one) == (frozenset(), one)
    assert await store.change(pattern, lambda _: frozenset()) == (one, frozenset())
    assert await zk.exists(f"/kafka-acl/Topic/t{number}") is None


async def kept(controller: BareController, zk: ZooKeeper, number: int) -> None:
    """Expired tokens go; the feature znode comes."""
    await zk.ensure_path(znode_paths.DELEGATION_TOKENS)
    await zk.ensure_path(znode_paths.DELEGATION_TOKEN_CHANGES)
    await zk.create(
        znode_paths.delegation_token(f"old{number}"), b'{"expiryTimestamp":1,"maxTimestamp":1,"tokenId":"t"}'
    )
    await remove_expired_tokens(controller.zk, controller.store, lambda: 1000)
    if await zk.exists(znode_paths.FEATURE) is not None:
        await zk.delete(znode_paths.FEATURE)
    await ensure_feature_znode(controller.store)
    assert await zk.exists(znode_paths.FEATURE) is not None
    await controller.store.confirm()


CASES: Sequence[Case] = (
    created,
    grown,
    deleted,
    moved,
    queued,
    by_znodes,
    led,
    throttled,
    given_out,
    configured,
    kept,
)
MOST, FEW = 60, 15
"""A case makes fewer writes, or far fewer writes."""


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every write is a transaction, and the client does not wait long for the next connection."""
    monkeypatch.setattr(transactions, "MAX_OPERATIONS", 1)
    monkeypatch.setattr(zookeeper_session, "MIN_BACKOFF", 0.001)
    monkeypatch.setattr(zookeeper_session, "MAX_BACKOFF", 0.001)


async def put_world(zk: ZooKeeper) -> None:
    await register(zk, 1, 2, 3, 4, 5)
    await put_topic(zk, "s", {0: (5, 1)}, topic_id=uuid4())
    await zk.ensure_path(znode_paths.CONFIG_CHANGES)
    for name in ("t", "m"):
        await put_topic(zk, name, {0: (1, 2), 1: (1, 2)}, topic_id=uuid4())
    for number in range(FEW):
        await put_topic(zk, f"d{number}", {0: (1, 2)}, topic_id=uuid4())
        await put_topic(zk, f"e{number}", {0: (1, 2)}, topic_id=uuid4())
        # as after a restart of broker 1
        await zk.set(znode_paths.partition_state(f"e{number}", 0), topic_znodes.encode_state(2, 4, (2, 1), 1))


@pytest.mark.parametrize(
    "kind", [pytest.param(name, marks=() if name in QUICK else [pytest.mark.gate]) for name in CUTS]
)
@pytest.mark.parametrize("case", CASES, ids=[case.__name__ for case in CASES])
async def test_hm_3_and_sv_3_commands_are_answered_as_done_wherever_the_connection_is_cut(
    zookeeper: EmbeddedZooKeeper,
    zk: ZooKeeper,
    zk_connect: str,
    case: Case,
    kind: str,
) -> None:
    cuts, (first, step) = CUTS[kind], PLACES[kind]
    await put_world(zk)
    async with (
        CuttingProxy(zookeeper.address) as proxy,
        elected_controller(f"{proxy.address}/{zk_connect.partition('/')[2]}") as controller,
    ):
        session = controller.zk.session_id

        async def reload(_: object) -> None:
            raise AssertionError("a lost connection is no reason to decide again")

        controller.store.reload = reload  # type: ignore[assignment, method-assign]
        for number in count():
            assert number < MOST
            skip = first + step * number
            proxy.plan(*(Cut(0 if place else skip, when, fin) for place, (when, fin) in enumerate(cuts)))
            controller.events.clear()
            await case(controller, zk, number)
            events = [(event.event, event.topic, event.partition, event.reason) for event in controller.events]
            if case in (created, deleted):
                assert len(set(events)) == len(events), events
            if proxy.made < len(cuts):
                break
        proxy.plan()
        await eventually(lambda: controller.zk.connected and not proxy.is_cutting)
        assert number > 0 or step > 1
        assert controller.loop.is_open
        assert controller.zk.session_id == session
        assert int((await zk.get(znode_paths.CONTROLLER_EPOCH))[0]) == controller.epoch
        await controller.check()
