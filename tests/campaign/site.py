"""The processes of a campaign: ZooKeeper, stock brokers and our servers, each with a proxy between it and ZooKeeper."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TypeVar

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NoNode, ZkError
from tests.faults.cluster import Address, Cluster, address_of
from tests.processes import NotReady, processes
from tests.raw_client import LOGIN
from tests.stock.cluster import StockBroker, StockCluster
from tests.waiting import eventually, pause_s
from tests.zookeeper.proxy import Proxy

from .generator import BROKER_IDS, HOLDER, INTERNAL_TOPICS, LOG_DIRS, MOST_REPLICAS, SERVER_NAMES
from .history import Absence
from .load import Load
from .security import OPEN, Security

T = TypeVar("T")

CHROOT = "/campaign"
SERVER_IDS = {name: 1000 + number for number, name in enumerate(SERVER_NAMES)}
BROKER_SESSION_S = 6.0
"""`zookeeper.session.timeout.ms` in tests/stock/cluster.py."""
SERVER_SESSION_MS = 7_000
"""Longer than those of brokers: else each outage of ZooKeeper makes a stock broker the controller."""
SERVER_OPTIONS = (
    "--reassignment-progress-interval-ms",
    "500",
    "--reassignment-stall-timeout-ms",
    "5000",
    "--zookeeper-session-timeout-ms",
    str(SERVER_SESSION_MS),
)
WAIT_S = 420.0
"""For what has to come about: a broker's start, an election, the end of a move that waits for a broker. It only delays
a failure: on a busy machine a broker alone starts for minutes."""
SEIZED_WITHIN_S = 30.0
"""A server of ours that has started is the controller by then, or a stock broker was elected meanwhile."""

STARTS = 5
OLD_VERSION = "2.8.2"
OLD_PROTOCOL = {"inter.broker.protocol.version": "2.8"}

BROKER_SETTINGS = {
    "broker.rack": "r",
    "offsets.topic.replication.factor": str(MOST_REPLICAS),
    "offsets.topic.num.partitions": str(INTERNAL_TOPICS["__consumer_offsets"]),
    "transaction.state.log.replication.factor": str(MOST_REPLICAS),
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": str(INTERNAL_TOPICS["__transaction_state"]),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "controlled.shutdown.retry.backoff.ms": "1000",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "unclean.leader.election.enable": "false",
}
"""A log dir that is gone is noticed when its checkpoint is written, so often."""


class Site:
    """One cluster and its load.

    proxies      between each broker (by id) or server (by name), and ZooKeeper
    topics       the partitions of each topic that exists now as far as the steps know; internal topics are not in it
    disturbed    brokers with a log dir that is away
    older        znodes of topics whose replicas somebody has edited, as they were before that
    absences     when brokers could not be reached, or were not registered
    ours         set but while a stock broker is to be the controller: no deletion begins then
    deletions    how many are being asked for: until a topic is marked, only this tells of its deletion
    servers      held by the step that ends and starts servers of ours
    """

    def __init__(
        self, directory: Path, zookeeper: EmbeddedZooKeeper, zk: ZooKeeper, cluster: Cluster, security: Security
    ) -> None:
        self.directory = directory
        self.security = security
        self.zookeeper = zookeeper
        self.zk = zk
        self.cluster = cluster
        self.proxies: dict[int | str, Proxy] = {}
        self.topics: dict[str, int] = {}
        self.topic_ids: dict[str, str] = {}
        self.older: dict[str, Sequence[Create]] = {}
        self.disturbed: set[int] = set()
        self.absences: list[Absence] = []
        self.stock: StockCluster
        self.ours = asyncio.Event()
        self.ours.set()
        self.deletions = 0
        self.servers = asyncio.Lock()
        self._last_controller: int | None = None
        self.load: Load

    @property
    def brokers(self) -> dict[int, StockBroker]:
        return self.stock.brokers

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers, running or not: they keep their ports."""
        return ",".join(broker.address for broker in self.brokers.values())

    @property
    def admin(self) -> dict[str, str]:
        """librdkafka's configs of who may do everything."""
        return {"bootstrap.servers": self.bootstrap, **self.security.admin}

    @contextmanager
    def absence(self, *brokers: int, lives_on: bool = False) -> Iterator[None]:
        """For the time of the block these brokers are away, or one of their log dirs is.

        A broker that lives on may lose its registration after the block: its session ends, and it registers anew.
        """
        begin = time.time()
        try:
            yield
        finally:
            end = time.time() + (BROKER_SESSION_S if lives_on else 0)
            self.absences += [Absence(broker, begin, end) for broker in brokers]

    async def serve(self, name: str) -> None:
        """Start a server of ours."""
        options = (*SERVER_OPTIONS, *self.security.servers)
        connect = self.proxies[name].address + CHROOT
        await as_by_an_init(
            lambda: self.cluster.server(name, *options, connect=connect, broker_id=SERVER_IDS[name]), NotReady
        )

    async def take_over(self) -> None:
        """A server of ours becomes the controller.

        A stock broker may be it by now: its session outlives a failure of ZooKeeper that ends ours. A server seizes the
        controllership only at its start.
        """
        ours = frozenset(SERVER_IDS.values())
        deadline = time.monotonic() + WAIT_S
        while True:
            if await self.read(self.controller) not in ours:
                for name in SERVER_NAMES:
                    await self.cluster.servers[name].stop()
                    await self.serve(name)
            # What was read may have been the znode of a session that is over, and a stock broker the next controller.
            try:
                return await self.controlled_by(ours, within=SEIZED_WITHIN_S)
            except (AssertionError, ZkError):
                if time.monotonic() > deadline:
                    raise

    @property
    def nodes(self) -> dict[int, Address]:
        """By id: brokers, and servers of ours."""
        brokers = {broker.id: address_of(broker.address) for broker in self.brokers.values()}
        return brokers | {SERVER_IDS[name]: self.cluster.address(name) for name in SERVER_NAMES}

    @property
    def broker_logs(self) -> dict[int, Path]:
        return {broker.id: broker.log for broker in self.brokers.values()}

    def log_dirs(self, broker: int) -> list[Path]:
        return [self.directory / str(broker) / f"data-{number}" for number in range(LOG_DIRS[broker])]

    async def controller(self) -> int | None:
        """The controller's id, None where there is none. Raises ZkError."""
        try:
            found = int(json.loads((await self.zk.get(znode_paths.CONTROLLER))[0])["brokerid"])
        except NoNode:
            return None
        self._last_controller = found
        return found

    async def _known_controller(self) -> int | None:
        """The last known one where ZooKeeper does not answer."""
        try:
            return await self.controller()
        except ZkError:
            return self._last_controller

    async def controller_address(self) -> Address:
        """The last known one where ZooKeeper does not answer. Raises LookupError where there is none."""
        found = await self._known_controller()
        for name, node_id in SERVER_IDS.items():
            if node_id == found:
                return self.cluster.address(name)
        if found is None:
            raise LookupError("there is no controller")
        return address_of(self.brokers[found].address)

    async def stock_controls(self) -> bool:
        """Whether the controller is a stock broker; where none is known now, whether the last one was."""
        await self._known_controller()
        return self._last_controller in self.brokers

    async def registered(self, broker: int) -> None:
        """Wait until a broker is in ZooKeeper."""
        await eventually(lambda: self.zk.exists(znode_paths.broker(broker)), within=WAIT_S)

    async def unregistered(self, broker: int) -> None:
        """Wait until a killed broker's session is over: before that, it cannot register again."""

        async def is_gone() -> bool:
            return await self.zk.exists(znode_paths.broker(broker)) is None

        await eventually(is_gone, within=WAIT_S)

    @asynccontextmanager
    async def deletion(self) -> AsyncIterator[None]:
        """A topic is to be marked in this block. No hand-over ends our control meanwhile."""
        while not self.ours.is_set():  # cleared again, maybe, before this went on
            await self.ours.wait()
        self.deletions += 1
        try:
            yield
        finally:
            self.deletions -= 1

    async def nothing_is_deleted(self) -> bool:
        """Whether no topic is in deletion or about to be. Raises ZkError where that cannot be known for WAIT_S."""
        return not self.deletions and not await self.read(lambda: self.zk.children(znode_paths.DELETE_TOPICS))

    async def controlled_by(self, node_ids: frozenset[int], *, within: float = WAIT_S) -> None:
        async def is_one() -> bool:
            return await self.controller() in node_ids

        await eventually(is_one, within=within)

    async def read(self, question: Callable[[], Awaitable[T]]) -> T:
        """What ZooKeeper answers, as soon as it does. Raises ZkError where that takes longer than WAIT_S."""
        began = time.monotonic()
        while True:
            try:
                return await question()
            except ZkError:
                if (waited := time.monotonic() - began) > WAIT_S:
                    raise
            await asyncio.sleep(pause_s(waited))


async def as_by_an_init(start: Callable[[], Awaitable[object]], not_started: type[Exception]) -> None:
    """Start a process. One that loses ZooKeeper while it starts ends, with `not_started`, and is started again."""
    for left in reversed(range(STARTS)):
        with suppress(not_started) if left else nullcontext():
            await start()
            return


async def start_broker(broker: StockBroker) -> None:
    await as_by_an_init(lambda: broker.start(WAIT_S), RuntimeError)


@asynccontextmanager
async def site(directory: Path, *, upgrade: bool = False, security: Security = OPEN) -> AsyncIterator[Site]:
    """Everything runs, our server `a` is the controller, and there is no topic. The end of the block ends it all.

    upgrade    the brokers begin with OLD_VERSION
    """
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(
            EmbeddedZooKeeper(directory / "zookeeper", jvm=security.zookeeper_jvm, settings=security.zookeeper_settings)
        )
        async with ZooKeeper(zookeeper.address) as outside:
            await outside.ensure_path(CHROOT)
        zk = await stack.enter_async_context(
            ZooKeeper(zookeeper.address + CHROOT, session_timeout_ms=60_000, access=security.access)
        )
        await security.prepare(zk)
        LOGIN.set(security.login)
        group = await stack.enter_async_context(processes(directory))
        made = Site(directory, zookeeper, zk, Cluster(group, zk, zookeeper.address + CHROOT, directory), security)
        for name in (*BROKER_IDS, *SERVER_NAMES):
            made.proxies[name] = await stack.enter_async_context(Proxy(zookeeper.address))
        own = {
            broker: {
                "zookeeper.connect": made.proxies[broker].address + CHROOT,
                "log.dirs": ",".join(map(str, made.log_dirs(broker))),
            }
            for broker in BROKER_IDS
        }
        settings = {**BROKER_SETTINGS, **security.brokers}
        made.stock = StockCluster(zookeeper.address + CHROOT, directory, BROKER_IDS, overrides=settings, per_broker=own)
        for broker in made.brokers.values():
            broker.protocol = security.protocol
            broker.jvm = (*broker.jvm, *security.jvm)
        for broker in made.brokers.values() if upgrade else ():
            broker.version = OLD_VERSION
            broker.properties |= OLD_PROTOCOL
        stack.push_async_callback(made.stock.kill)
        await asyncio.gather(*map(start_broker, made.brokers.values()))
        for name in SERVER_NAMES:
            await made.serve(name)
        await made.controlled_by(frozenset([SERVER_IDS[SERVER_NAMES[0]]]))
        made.load = Load({"bootstrap.servers": made.bootstrap, **security.load}, directory)
        stack.push_async_callback(made.load.abandon)
        await asyncio.to_thread(made.load.start_readers)
        await eventually(lambda: zk.exists(znode_paths.topic(HOLDER)), within=WAIT_S)
        yield made
