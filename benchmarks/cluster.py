"""The cluster of a benchmark: one chroot of one ZooKeeper, six simulated brokers in one process, and controllers.

A controller is our server, or a stock broker 3.9.1 without replicas (with Kafka's own thread counts and the JVM options
of Kafka's start scripts). A benchmark starts one after the other, or several as standbys.
"""

import asyncio
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks import frames, protection
from benchmarks.client import Address, Wire, until_controller
from benchmarks.protection import PROPERTIES
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Stat
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.stock.cluster import StockBroker
from tests.stock.process import LoggedProcess

STOCK_ID = 900
SERVER_ID = 1000
SESSION_MS = 6_000
START_S = 180.0

_BOOTSTRAP = re.compile(rb"^ready bootstrap=([^:\s]+):(\d+)", re.MULTILINE)
_PAGE = re.compile(rb"^ready .* metrics=(\S+)", re.MULTILINE)
_BROKERS = re.compile(rb"^ready brokers=", re.MULTILINE)
_PROGRAM = ("-m", "kafka_reassign_rpc.cli.main")
_CLI = (sys.executable, *_PROGRAM)
_STOCK_OVERRIDES = {
    "num.network.threads": "3",
    "num.io.threads": "8",
    "background.threads": "10",
    "zookeeper.session.timeout.ms": str(SESSION_MS),
    "socket.request.max.bytes": str(100 << 20),
}


class Server(LoggedProcess):
    """Our server, started by its command."""

    def __init__(
        self, zookeeper: str, server_id: int, directory: Path, *options: str, program: Sequence[str] = _PROGRAM
    ) -> None:
        """`program`: how Python starts the command, where something else is to be measured in its process."""
        directory.mkdir(parents=True, exist_ok=True)
        self._program = program
        super().__init__(directory / f"server-{server_id}.log")
        self._options = options
        self._zookeeper = zookeeper
        self._directory = directory
        self.id = server_id
        self.address: Address = ("", 0)
        self.page = ""

    async def start(self) -> None:
        command = [sys.executable, *self._program, "serve"]
        command += ["--zookeeper-connect", self._zookeeper, "--listeners", "PLAINTEXT://127.0.0.1:0"]
        command += ["--broker-id", str(self.id), "--zookeeper-session-timeout-ms", str(SESSION_MS)]
        command += ["--event-log-dir", str(self._directory / f"events-{self.id}")]
        self.launch([*command, *self._options])
        ready = await self.wait_for_line(_BOOTSTRAP, START_S)
        self.address = (ready[1].decode(), int(ready[2]))
        if "--metrics-listener" in self._options:
            self.page = (await self.wait_for_line(_PAGE, START_S))[1].decode()

    def cpu_seconds(self) -> float:
        """CPU time of the server's process since its start."""
        return cpu_seconds(self.pid)

    def mebibytes(self, kind: str) -> float:
        return mebibytes(self.pid, kind)

    async def stop(self) -> None:
        """Stop the server as an operator does: it resigns at once."""
        self.send(signal.SIGTERM)
        await self.ended()


class Stock(StockBroker):
    """A stock broker that only serves as the controller."""

    jvm: Sequence[str] = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:-UsePerfData")

    def __init__(self, zookeeper: str, directory: Path, properties: Mapping[str, str] | None = None) -> None:
        super().__init__(STOCK_ID, zookeeper, directory / "stock", {**_STOCK_OVERRIDES, **(properties or {})})

    @property
    def where(self) -> Address:
        return "127.0.0.1", self.port


class Cluster:
    """A fleet on its own chroot. The end of the block ends every process that was started in it."""

    def __init__(
        self,
        zookeeper: str,
        name: str,
        directory: Path,
        *,
        bandwidth: int = 10_000_000_000,
        brokers: Sequence[int] = frames.BROKERS,
        racks: Callable[[int], str] | None = None,
        protected: bool = False,
    ) -> None:
        """`racks`: the rack of each broker. `protected`: its controllers have quotas and ACLs (`protection`)."""
        self.zookeeper = f"{zookeeper}/{name}"
        self.directory = directory / name
        self.brokers = brokers
        self._bandwidth = bandwidth
        self._racks = racks
        self._protected = protected
        self._fleet = LoggedProcess(self.directory / "fleet.log")
        self._zk = ZooKeeper(self.zookeeper)
        self._started: list[LoggedProcess] = [self._fleet]

    async def __aenter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            await self._zk.start()
            await self._zk.ensure_path("/")
            if self._protected:
                await protection.protect(self._zk)
            await self._start_fleet(self._fleet, self.brokers)
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    async def _end(self) -> None:
        for process in reversed(self._started):
            await process.kill()
        await self._zk.close()

    async def more_brokers(self, *brokers: int) -> LoggedProcess:
        """Start brokers in one process."""
        fleet = LoggedProcess(self.directory / f"fleet-{brokers[0]}.log")
        self._started.append(fleet)
        await self._start_fleet(fleet, brokers)
        self.brokers = [*self.brokers, *brokers]
        return fleet

    async def _start_fleet(self, process: LoggedProcess, brokers: Sequence[int]) -> None:
        command = [*_CLI, "fleet", "--zookeeper-connect", self.zookeeper]
        command += ["--data-dir", str(self.directory / "data")]
        command += ["--broker-ids", ",".join(map(str, brokers)), "--bandwidth", str(self._bandwidth)]
        if self._racks is not None:
            command += [part for broker in brokers for part in ("--rack", f"{broker}:{self._racks(broker)}")]
        process.launch(command)
        await process.wait_for_line(_BROKERS, START_S)

    async def server(self, server_id: int = SERVER_ID, *options: str, program: Sequence[str] = _PROGRAM) -> Server:
        """Start our server. It becomes the controller, or the standby if there is a controller."""
        if self._protected:
            options = (*options, *(part for name, value in PROPERTIES.items() for part in (_flag(name), value)))
        server = Server(self.zookeeper, server_id, self.directory, *options, program=program)
        self._started.append(server)
        await server.start()
        return server

    async def stock(self) -> Stock:
        """Start the stock broker. It becomes the controller when no other node is the controller."""
        stock = Stock(self.zookeeper, self.directory, PROPERTIES if self._protected else None)
        self._started.append(stock)
        await stock.start()
        return stock

    def fleet_megabytes(self) -> float:
        """Resident memory of the fleet's process, all brokers together (Linux)."""
        return mebibytes(self._fleet.pid, "VmRSS")

    async def elected(self) -> Stat:
        """The present `/controller` znode."""
        return (await self._zk.get(znode_paths.CONTROLLER))[1]

    async def create(
        self,
        address: Address,
        topics: Mapping[str, int],
        replicas: int,
        size: int,
        timeout: float = 600,
        *,
        place: Callable[[int, int], list[int]] = frames.home,
    ) -> None:
        """Create topics (name -> partitions), `size` bytes per partition; returns when every broker shows them all."""
        await self._zk.ensure_path("/simulated_fleet")
        for topic, partitions in topics.items():
            await self._zk.create(f"/simulated_fleet/{topic}", b"%d" % size)
            with Wire(address, timeout) as wire:
                answer = await asyncio.to_thread(wire.ask, frames.create(topic, partitions, replicas, place))
            if failed := frames.created(answer):
                raise RuntimeError(f"not created: {failed}")
        await self.shown(topics, timeout)

    async def shown(self, topics: Mapping[str, int], timeout: float = 600) -> None:
        """Wait until every broker shows a leader for every partition."""
        for broker in self.brokers:
            await asyncio.to_thread(until_shown, await self._broker(broker), topics, timeout)

    async def _broker(self, broker: int) -> Address:
        data, _ = await self._zk.get(f"{znode_paths.BROKER_IDS}/{broker}")
        found = re.search(rb'"port": ?(\d+)', data)
        assert found is not None
        return "127.0.0.1", int(found[1])


def _flag(name: str) -> str:
    """The flag of a setting."""
    return "--" + name.replace(".", "-")


def cpu_seconds(pid: int) -> float:
    """CPU time of a process since its start (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def mebibytes(pid: int, kind: str) -> float:
    """Memory of a process (Linux). `kind` is VmRSS (resident now) or VmHWM (the highest so far)."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith(f"{kind}:")).split()[1]) / 1024


def until_shown(address: Address, topics: Mapping[str, int], timeout: float) -> None:
    """Wait until the broker shows a leader for every partition of the topics."""
    end = time.perf_counter() + timeout
    with Wire(address, timeout) as wire:
        for topic, partitions in topics.items():
            while frames.led(wire.ask(frames.metadata([topic]))) < partitions:
                if time.perf_counter() > end:
                    raise TimeoutError(f"{topic} is not known everywhere")
                time.sleep(0.1)


async def start_moves(address: Address, topics: Mapping[str, int], replicas: int) -> None:
    """Moves every partition of these topics to other brokers; returns when the server has answered."""
    with Wire(address, 600) as wire:
        frames.accepted(await asyncio.to_thread(wire.ask, frames.alter(topics, replicas)))


async def controlling(address: Address, timeout: float = START_S) -> None:
    """Wait until the node at `address` answers as the controller."""
    await asyncio.to_thread(until_controller, address, timeout, 0.02)


def zipf(partitions: int, smallest: int) -> Mapping[str, tuple[int, int]]:
    """Topics of Zipf sizes: name -> (partitions, bytes of each). `smallest` is the least of these bytes."""
    found: dict[str, tuple[int, int]] = {}
    left = partitions
    while left > 0:
        rank = len(found) + 1
        count = min(left, max(1, partitions // (4 * rank)))
        found[f"t{rank}"] = (count, smallest * (1 + rank * 7 % 13))
        left -= count
    return found


def spread(partitions: int, topics: int, prefix: str) -> Mapping[str, int]:
    """Spreads the partitions evenly over the topics: name -> partitions."""
    each = partitions // topics
    return {f"{prefix}-{number}": each for number in range(topics)}
