"""The processes of a campaign on KRaft: three controllers, three brokers and two of our servers.

In a small one, brokers are the controllers as well: half as many JVMs start. Each server reaches brokers by proxies of
its own, and so each broker the controllers.
"""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from kafka_reassign_rpc.client import AsyncReassignmentClient, KafkaError
from kafka_reassign_rpc.client.metadata_calls import TopicInfo
from tests.campaign.generator import INTERNAL_TOPICS, SERVER_NAMES
from tests.campaign.load import Load
from tests.campaign.site import WAIT_S
from tests.kraft.state_log.proxies import add_listener
from tests.processes import Process, Processes, processes
from tests.stock.kraft import VERSION, KRaftNode, kraft_cluster
from tests.stock.ports import kept_ports, ports_in_a_row
from tests.stock.tools import Tools
from tests.waiting import eventually
from tests.zookeeper.proxy import Proxy

from .asked import Requests
from .kraft_plan import BROKER_IDS, CONTROLLER_IDS
from .log_audit import LogAudit
from .rule_checks import Cordon, Lost

LEAD_S = 2.0
STATE_TOPIC = "__kafka_reassign"
SERVER_IDS = {name: 1000 + number for number, name in enumerate(SERVER_NAMES)}
MOST_MOVES = 4
"""In flight at a time, so that others wait."""
CLIENT_MS = {"request_timeout_ms": 12_000}
SETTINGS = {
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "500",
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.fetch.timeout.ms": "2000",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": str(INTERNAL_TOPICS["__consumer_offsets"]),
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": str(INTERNAL_TOPICS["__transaction_state"]),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
JVM = ("-Xms64m", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class KRaftSite:
    """
    proxies   between each server (by name) and the brokers, and between each broker (by id) and the controllers
    topics    the partitions of each topic that exists now as far as the steps know
    created   when each topic was asked for last, in seconds of the epoch
    deleted   topics that were deleted at least once
    lost      brokers that were away for longer than the limit of self-healing
    cordons   brokers that were cordoned
    placing   held by who moves the state log, cordons a broker or has one repaired: each changes where replicas may be
    """

    def __init__(self, directory: Path, started: Processes) -> None:
        self.directory = directory
        self.processes = started
        self.brokers: dict[int, KRaftNode] = {}
        self.controllers: dict[int, KRaftNode] = {}
        self.running: dict[str, Process] = {}
        self.proxies: dict[int | str, list[Proxy]] = {}
        self.topics: dict[str, int] = {}
        self.topic_ids: dict[str, str] = {}
        self.created: dict[str, float] = {}
        self.deleted: set[str] = set()
        self.requests = Requests()
        self.lost: list[Lost] = []
        self.cordons: list[Cordon] = []
        self.placing = asyncio.Lock()
        self._ports = {name: ports_in_a_row(2 + max(BROKER_IDS)) for name in SERVER_NAMES}
        """Of each server; the ports behind it show the brokers, so that no client of ours goes to a broker itself."""
        self._plans = itertools.count()
        self.load: Load
        self.audit: LogAudit
        self._tools = ExitStack()

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{broker.port}" for broker in self.brokers.values())

    @property
    def bootstrap_of_ours(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self._ports.values())

    @property
    def admin(self) -> dict[str, str]:
        """librdkafka's configs."""
        return {"bootstrap.servers": self.bootstrap}

    def ours(self) -> AsyncReassignmentClient:
        """A client of our servers."""
        return AsyncReassignmentClient(bootstrap_servers=self.bootstrap_of_ours, **CLIENT_MS)

    def cluster(self) -> AsyncReassignmentClient:
        """A client of the cluster itself."""
        return AsyncReassignmentClient(bootstrap_servers=self.bootstrap, **CLIENT_MS)

    async def serve(self, name: str) -> None:
        """Start a server of ours."""
        config = self.directory / f"client-{name}.properties"
        config.write_text("request.timeout.ms=3000\n")
        self.running[name] = await self.processes.start(
            f"server-{name}",
            *("serve", "--bootstrap-server", ",".join(one.address for one in self.proxies[name])),
            *("--command-config", str(config), "--listeners", f"PLAINTEXT://127.0.0.1:{self._ports[name]}"),
            *("--front-nodes", "ports"),
            *("--broker-id", str(SERVER_IDS[name]), "--event-log-dir", str(self.directory / f"events-{name}")),
            *("--state-log-lead-ms", str(round(LEAD_S * 1000)), "--reassignment-progress-interval-ms", "500"),
            *("--partition-reassignments-max-per-cluster", str(MOST_MOVES)),
        )

    def leader(self) -> str | None:
        """The server of ours that was elected last, by the event logs."""
        found = [one for one in self.events() if one["event"] == "controller.elected"]
        last = max(found, key=lambda one: one["at"], default=None)
        return None if last is None else next(name for name, id_ in SERVER_IDS.items() if id_ == last["server"])

    def events(self) -> list[Mapping[str, Any]]:
        found = []
        for file in sorted(self.directory.glob("events-*/*.jsonl")):
            for line in file.read_text().splitlines():
                try:
                    found.append(json.loads(line))
                except ValueError:
                    """A server that is killed leaves half a line."""
        return found

    async def found(self, topics: Sequence[str]) -> dict[str, TopicInfo]:
        """As a broker shows them. Raises KafkaError."""
        async with self.cluster() as client:
            return await client.find_topics(topics)

    async def log_leader(self) -> int | None:
        try:
            partitions = (await self.found([STATE_TOPIC]))[STATE_TOPIC].partitions
        except KafkaError:
            return None
        return partitions[0].leader if partitions and partitions[0].leader in self.brokers else None

    async def active_controller(self) -> int | None:
        try:
            async with self.cluster() as client:
                found = (await client.describe_quorum(-1)).leader
        except KafkaError:
            return None
        return found if found in self.controllers else None

    async def unfenced(self, *brokers: int) -> None:
        """Wait until the cluster names them."""

        async def are_named() -> bool:
            try:
                async with self.cluster() as client:
                    return {one.id for one in await client.describe_cluster()} >= set(brokers)
            except KafkaError:
                return False

        await eventually(are_named, within=WAIT_S)

    @cached_property
    def tools(self) -> Tools:
        """Those of one release, whatever the cluster's: their JVM starts when it is needed."""
        return self._tools.enter_context(Tools(VERSION))

    def plan_file(self, document: object) -> Path:
        path = self.directory / f"plan-{next(self._plans)}.json"
        path.write_text(json.dumps(document))
        return path


def _nodes(site: KRaftSite, version: str, *, small: bool) -> Sequence[KRaftNode]:
    """With a listener for each server of ours, whose advertised addresses are those of its proxies."""
    controllers = BROKER_IDS if small else CONTROLLER_IDS
    settings = {one: {**SETTINGS, "broker.rack": "r"} for one in BROKER_IDS}
    nodes = kraft_cluster(
        site.directory,
        BROKER_IDS,
        dict.fromkeys(controllers, SETTINGS) | settings,
        controllers=controllers,
        jvm=JVM,
        version=version,
    )
    site.controllers = {one.id: one for one in nodes if one.id not in BROKER_IDS}
    site.brokers = {one.id: one for one in nodes if one.id in BROKER_IDS}
    voters = [one.partition("@") for one in nodes[0].properties["controller.quorum.voters"].split(",")]
    for broker in site.brokers.values():
        for name in SERVER_NAMES:
            [(proxy, own)] = add_listener([broker], f"SERVER{name.upper()}").items()
            site.proxies.setdefault(name, []).append(Proxy(f"127.0.0.1:{own}", ("127.0.0.1", proxy)))
        shown = []
        for id_, _, at in voters:
            [port] = kept_ports(1)
            is_itself = id_ == str(broker.id)
            if not is_itself:
                site.proxies.setdefault(broker.id, []).append(Proxy(at, ("127.0.0.1", port)))
            shown.append(f"{id_}@{at}" if is_itself else f"{id_}@127.0.0.1:{port}")
        broker.properties["controller.quorum.voters"] = ",".join(shown)
    return nodes


@asynccontextmanager
async def kraft_site(directory: Path, version: str, *, small: bool = False) -> AsyncIterator[KRaftSite]:
    """Everything runs, one of our servers leads, and there is no topic of the load. The block's end ends it all."""
    async with AsyncExitStack() as stack:
        started = await stack.enter_async_context(processes(directory))
        site = KRaftSite(directory, started)
        nodes = _nodes(site, version, small=small)
        for proxy in itertools.chain.from_iterable(site.proxies.values()):
            await stack.enter_async_context(proxy)
        for node in nodes:
            stack.push_async_callback(node.kill)
        await asyncio.gather(*(node.start() for node in nodes))
        await site.unfenced(*BROKER_IDS)
        for name in SERVER_NAMES:
            await site.serve(name)
        site.audit = LogAudit(site.bootstrap, STATE_TOPIC, directory / "state-log.txt")
        stack.enter_context(site._tools)
        site.load = Load(site.admin, directory)
        stack.push_async_callback(site.load.abandon)
        await asyncio.to_thread(site.load.start_readers)
        yield site
