"""236-12: with the same arguments on the same cluster, our tool prints and returns the same as the stock tool.

A play is a sequence of calls on a topic of its own. It runs with our tool; where stock Kafka runs live, it runs with
the stock tool as well, which must print what is recorded of it (see `tests.stock.live`). Our tool leaves out the Java
stack trace that the stock tool prints after "Error: …".
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin import ListPartitionReassignmentsRequest

from kafka_reassign_rpc.core.throttling.replication_throttles import FOLLOWER_RATE
from kafka_reassign_rpc.zookeeper.config_znodes import ConfigStore
from tests.interop.clusters import OUR_BYTES, Ours
from tests.reassign_command.run_command import Files, kafka_reassign
from tests.stock.jars import EACH_TOOL, require
from tests.stock.live import Recordings, Transcript, plain, runs_live
from tests.stock.tools import Output, Tools
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.more, pytest.mark.asyncio(loop_scope="package")]

RECORDED = Recordings(Path(__file__).with_name("recorded"))

Run = Callable[..., Awaitable[Output]]
Call = tuple[str, int, list[str], str]
"""Label, exit code, lines on standard output, first line on standard error."""

NO_MOVES = "None of the specified partition moves are active."
_CLASS = re.compile(r"^(Exception in thread \"main\" )?[\w.]+\.\w*Exception: ")


class Player:
    """One of the two tools on a topic."""

    def __init__(self, run: Run, world: Ours, bootstrap: str, topic: str, files: Files, version: str) -> None:
        self.world = world
        self.topic = topic
        self.files = files
        self.version = version
        self.transcript: list[Call] = []
        self._run = run
        self._bootstrap = bootstrap

    async def bare(self, label: str, *args: str) -> Output:
        output = await self._run(*args)
        self.transcript.append((label, output.code, self._printed(output.out), self._first_error(output.err)))
        return output

    async def call(self, label: str, *args: str) -> Output:
        return await self.bare(label, "--bootstrap-server", self._bootstrap, *args)

    def plan(self, *moves: tuple[int, list[int]], **more: object) -> str:
        return self.files.plan(self.topic, *moves, **more)

    async def settled(self, *partitions: tuple[int, list[int]]) -> None:
        """Wait until nothing moves and every broker shows these replicas."""
        while (await self.world.ask(ListPartitionReassignmentsRequest(timeout_ms=9_000, topics=None), 0))["topics"]:
            await asyncio.sleep(0.05)
        await self.world.until_shown(self.topic, dict(partitions))

    def _printed(self, text: str) -> list[str]:
        lines = text.replace(self.topic, "TOPIC").splitlines()
        for index, line in enumerate(lines):
            if line.startswith("Error: "):
                return lines[: index + 1]
        return lines

    def _first_error(self, text: str) -> str:
        lines = [line for line in text.splitlines() if not line.startswith(("SLF4J", "[", "log4j"))]
        return _CLASS.sub("", lines[0]) if lines else ""


async def a_move(p: Player) -> None:
    await p.world.create_topic(p.topic, {0: [1, 2], 1: [2, 3]}, held=True)
    one, other = p.plan((0, [3, 4])), p.plan((1, [5, 4]))
    await p.call("nothing to list", "--list")
    await p.call("execute", "--execute", "--reassignment-json-file", one, "--throttle", "1")
    await p.call("list", "--list")
    await p.call("verify", "--verify", "--reassignment-json-file", one)
    await p.call("verify both", "--verify", "--reassignment-json-file", p.plan((1, [5, 4]), (0, [3, 4])))
    await p.call("refused while one runs", "--execute", "--reassignment-json-file", other)
    await p.call("in addition", "--execute", "--additional", "--reassignment-json-file", other, "--throttle", "1")
    await p.call("list both", "--list")
    await p.call("cancel one", "--cancel", "--reassignment-json-file", other, "--preserve-throttles")
    await p.world.until_shown(p.topic, {0: [3, 4, 1, 2]}, in_sync=False)
    faster = ("--throttle", "100000000", "--additional")
    await p.call("faster", "--execute", "--reassignment-json-file", one, *faster)
    await p.settled((0, [3, 4]), (1, [2, 3]))
    await p.call("done", "--verify", "--reassignment-json-file", one, "--preserve-throttles")
    await p.call("done, throttles off", "--verify", "--reassignment-json-file", one)
    await p.call("cancel what is over", "--cancel", "--reassignment-json-file", one)
    await p.call("not as planned", "--verify", "--reassignment-json-file", p.plan((0, [4, 3]), (1, [1])))
    await p.call("both throttles", "--execute", "--reassignment-json-file", p.plan((0, [4, 3])), "--throttle", "5000",
                 "--replica-alter-log-dirs-throttle", "6000")  # fmt: skip


async def cancels(p: Player) -> None:
    await p.world.create_topic(p.topic, {0: [1, 2], 1: [2, 3], 2: [3, 4]}, held=True)
    await p.world.set_rates()
    plan = p.plan((0, [4, 5]), (1, [4, 5]), (2, [3, 5]))
    await p.call("execute", "--execute", "--reassignment-json-file", plan)
    await p.call("cancel two", "--cancel", "--reassignment-json-file", p.plan((0, [4, 5]), (2, [3, 5])),
                 "--preserve-throttles")  # fmt: skip
    await p.call("list", "--list")
    await p.call("cancel the rest", "--cancel", "--reassignment-json-file", plan)
    await p.settled((0, [1, 2]))
    await p.call("an empty cancel", "--cancel", "--reassignment-json-file", p.files.json({"version": 1}))
    if p.version.startswith("4"):  # 3.9.1 does not cancel what only adds replicas
        await p.world.set_rates()
        grown = p.plan((0, [1, 2, 3]))
        await p.call("grow", "--execute", "--reassignment-json-file", grown, "--throttle", "1")
        await p.call("cancel growth", "--cancel", "--reassignment-json-file", grown)
        await p.settled()


async def refusals(p: Player) -> None:
    await p.world.create_topic(p.topic, {0: [1, 2], 1: [2, 3]}, held=False)
    entry = {"topic": p.topic, "partition": 0}
    for label, file in {
        "unknown broker": p.plan((0, [1, 99])),
        "unknown brokers": p.plan((0, [98, 70, 99]), (1, [17, 33])),
        "unknown partition": p.plan((7, [1, 2])),
        "unknown topic": p.files.plan("nope", (0, [1, 2])),
        "a broker twice": p.plan((0, [1, 1]), (1, [3, 2, 17, 17, 2, 3])),
        "a partition twice": p.plan((0, [1]), (0, [2])),
        "no partitions": p.files.json({"version": 1, "partitions": []}),
        "nothing": p.files.json({}),
        "no replicas": p.plan((0, [])),
        "negative": p.plan((0, [-1])),
        "log dirs": p.plan((0, [1]), log_dirs=["a", "b"]),
        "log dirs no texts": p.plan((0, [1]), log_dirs=[1]),
        "log dirs no list": p.plan((0, [1]), log_dirs="any"),
        "version 2": p.files.json({"version": 2}),
        "version x": p.files.json({"version": "x"}),
        "no object": p.files.json([]),
        "partitions no list": p.files.json({"partitions": {"a": 1}}),
        "partitions null": p.files.json({"partitions": None}),
        "an entry no object": p.files.json({"partitions": [5]}),
        "no topic": p.files.json({"partitions": [{"partition": 0}]}),
        "topic a number": p.files.json({"partitions": [{"topic": 5, "partition": 0, "replicas": [1]}]}),
        "no partition": p.files.json({"partitions": [{"topic": "t"}]}),
        "partition a text": p.files.json({"partitions": [{"topic": "t", "partition": "0", "replicas": [1]}]}),
        "partition too large": p.files.json({"partitions": [{"topic": "t", "partition": 2**31, "replicas": [1]}]}),
        "partition a half": p.files.json({"partitions": [{"topic": "t", "partition": 0.5, "replicas": [1]}]}),
        "no replicas field": p.files.json({"partitions": [entry]}),
        "replicas a number": p.files.json({"partitions": [{**entry, "replicas": 1}]}),
        "replicas of truth": p.files.json({"partitions": [{**entry, "replicas": [True]}]}),
        "empty": p.files.write(""),
        "more after it": p.files.write('{"version": 3} and so on'),
    }.items():
        await p.call(label, "--execute", "--reassignment-json-file", file)
    await p.call("verify an unknown topic", "--verify", "--reassignment-json-file", p.files.plan("nope", (0, [1])),
                 "--preserve-throttles")  # fmt: skip
    await p.call("no such throttle", "--execute", "--reassignment-json-file", p.plan((0, [2, 1])), "--throttle", "1k")
    await p.call("a throttle twice", "--execute", "--reassignment-json-file", p.plan((0, [2, 1])),
                 "--throttle", "5", "--throttle", "6")  # fmt: skip
    if p.version.startswith("4"):
        guard = "--disallow-replication-factor-change"
        await p.call("guarded", "--execute", "--reassignment-json-file", p.plan((0, [1, 2, 3]), (1, [3])), guard)
        await p.call("guarded and fine", "--execute", "--reassignment-json-file", p.plan((0, [2, 1])), guard)


async def generating(p: Player) -> None:
    await p.world.create_topic(p.topic, {0: [1, 2], 1: [2, 3]}, held=False)
    topics = p.files.topics(p.topic)
    make = ("--generate", "--topics-to-move-json-file")
    # All brokers are needed and there is one partition with one order: nothing is left to chance but that.
    output = await p.call("one broker of one", *make, p.files.topics(p.topic), "--broker-list", "4")
    assert "larger than available brokers" in output.out or "only 1 broker" in output.out
    p.transcript.pop()  # 3.9 and 4.1 have words of their own for it
    await p.call("an unknown topic", *make, p.files.topics("nope"), "--broker-list", "1,2")
    await p.call("a topic twice", *make, p.files.topics(p.topic, p.topic), "--broker-list", "1,2")
    await p.call("a broker twice", *make, topics, "--broker-list", "1,2,1,17,1,17")
    await p.call("no broker id", *make, topics, "--broker-list", "1,x")
    await p.call("an empty broker id", *make, topics, "--broker-list", "1,,2")
    await p.call("no JSON", *make, p.files.write("{"), "--broker-list", "1,2")
    await p.call("version 2", *make, p.files.json({"version": 2}), "--broker-list", "1,2")
    await p.call("no topics", *make, p.files.json({}), "--broker-list", "1,2")
    await p.call("a topic is no text", *make, p.files.json({"topics": [{"topic": 1}]}), "--broker-list", "1,2")
    generated = await p.call("generated", *make, topics, "--broker-list", "3,4", "--disable-rack-aware")
    label, code, lines, error = p.transcript.pop()
    # Who is first is chance; each has both brokers.
    p.transcript.append((label, code, [re.sub(r"\[[34],[34]\]", "[34]", line) for line in lines], error))
    assert generated.code == 0


async def command_lines(p: Player) -> None:
    plan = p.plan((0, [1]))
    await p.bare("nothing")
    await p.bare("help", "--help")
    await p.bare("no such option", "--nope")
    await p.bare("no such short option", "-x")
    await p.bare("abbreviated", "--exec")
    await p.bare("no action", "--bootstrap-server", "localhost:1", "--throttle", "5")
    await p.bare("no value", "--bootstrap-server", "localhost:1", "--execute", "--throttle")
    await p.bare("no such file", "--bootstrap-server", "localhost:1", "--verify", "--reassignment-json-file", "/nope")
    await p.bare("no file", "--bootstrap-server", "localhost:1", "--verify")
    await p.bare("no topics file", "--bootstrap-server", "localhost:1", "--generate", "--broker-list", "1")
    await p.bare("no brokers", "--bootstrap-server", "localhost:1", "--generate", "--topics-to-move-json-file", plan)
    for action, *options in (
        ("list", "--throttle", "5"),
        ("list", "--reassignment-json-file", plan),
        ("list", "--timeout", "5"),
        ("list", "--preserve-throttles"),
        ("list", "--additional"),
        ("verify", "--reassignment-json-file", plan, "--throttle", "5"),
        ("verify", "--reassignment-json-file", plan, "--timeout", "5"),
        ("verify", "--reassignment-json-file", plan, "--disable-rack-aware"),
        ("cancel", "--reassignment-json-file", plan, "--additional"),
        ("cancel", "--reassignment-json-file", plan, "--throttle", "5"),
        ("execute", "--reassignment-json-file", plan, "--preserve-throttles"),
        ("execute", "--reassignment-json-file", plan, "--broker-list", "5"),
        ("generate", "--topics-to-move-json-file", plan, "--broker-list", "1", "--timeout", "5"),
        ("generate", "--topics-to-move-json-file", plan, "--broker-list", "1", "--reassignment-json-file", plan),
    ):
        await p.bare(f"{action} {options}", "--bootstrap-server", "localhost:1", f"--{action}", *options)
    if p.version.startswith("3"):
        await p.bare("server without a value", "--list", "--bootstrap-server")
    else:  # 3.9 has no --bootstrap-controller, so it does not name it
        await p.bare("no server", "--list")
        await p.bare("both", "--list", "--bootstrap-server", "localhost:1", "--bootstrap-controller", "localhost:2")
        await p.bare(
            "of controllers", "--bootstrap-controller", "localhost:1", "--verify", "--reassignment-json-file", plan
        )
    await p.call("words that are no options", "--list", "indeed", "--list=5", "-")


PLAYS = {play.__name__: play for play in (a_move, cancels, refusals, generating, command_lines)}


@pytest.fixture(scope="module", params=EACH_TOOL)
def tools(request: pytest.FixtureRequest) -> Iterator[Tools]:
    require(request.param)
    with Tools(request.param) as tools:
        yield tools


@pytest.mark.parametrize("name", PLAYS)
async def test_236_12_output_and_exit_code_are_those_of_the_stock_tool(
    name: str, tools: Tools, ours: Ours, tmp_path: Path
) -> None:
    host, port = await ours.address(2)
    recording = f"{name}-{tools.version}"

    async def stock(*args: str) -> Output:
        return await tools.run("reassign-partitions", *args)

    async def transcript(run: Run, number: int) -> Transcript:
        await ours.set_rates()
        topic = f"{name}-{tools.version[0]}-{number}"
        (tmp_path / str(number)).mkdir()
        files = Files(tmp_path / str(number))
        player = Player(run, ours, f"{host}:{port}", topic, files, tools.version)
        await PLAYS[name](player)
        await player.settled()
        return [_plain(call, tmp_path) for call in player.transcript]

    if runs_live():
        RECORDED.check(recording, await transcript(stock, 0))
    printed = plain(await transcript(kafka_reassign, 1))
    for theirs, mine in zip(RECORDED.get(recording), printed, strict=True):
        assert _without_our_warning(mine) == _as_ours(theirs)


_OUR_WARNINGS = re.compile(
    r"warning: (?:\d+ moves? (?:is|are) held by a throttle that is already set: |--throttle \d+ asks for a unit: ).*\n?"
)


def _without_our_warning(call: Any) -> Any:
    """A call of ours without what these versions of the stock tool do not say: that a throttle which stands holds the
    moves, that one has no unit, and in which log dirs replicas lie (from 4.3 on: `test_log_dirs_as_stock.py`)."""
    label, (code, lines, error) = call
    return (
        label,
        [
            code,
            [re.sub(r'"/simulated/[^"]*"', '"any"', line) for line in lines],
            _OUR_WARNINGS.sub("", error),
        ],
    )


def _as_ours(call: Any) -> Any:
    """A call of the stock tool with the line end that it forgets after `NO_MOVES`, and without the id of our server:
    ours knows that it is no broker."""
    label, (code, lines, error) = call
    ended = [part for line in lines for part in line.replace(NO_MOVES, f"{NO_MOVES}\n").splitlines() or [line]]
    ended = [line.removesuffix(",1000") if line.startswith("Clearing broker-level") else line for line in ended]
    return (label, [code, ended, error])


async def test_236_11_the_stock_tools_throttle_is_as_on_stock_kafka_ours_is_kept_and_a_lease_comes_back(
    tools: Tools, ours: Ours, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two operators, each with a throttled move; one cancels his."""
    monkeypatch.setattr(ours, "replica_bytes", 20 * OUR_BYTES)  # no move ends while a rate is gone
    host, port = await ours.address(2)
    configs = ConfigStore(ours.znodes)
    files = Files(tmp_path)
    server = ("--bootstrap-server", f"{host}:{port}")

    async def stock(*args: str) -> Output:
        return await tools.run("reassign-partitions", *server, *args)

    async def own(*args: str) -> Output:
        return await kafka_reassign(*server, *args)

    async def rates() -> list[str | None]:
        return [(await configs.get("brokers", str(broker))).get(FOLLOWER_RATE) for broker in (3, 5)]

    async def throttled(topic: str, *options: str) -> str:
        plan = files.plan(topic, (0, [4, 3] if topic == his else [4, 5]))
        execute = ("--execute", "--additional", "--throttle", "2", "--reassignment-json-file", plan, *options)
        assert (await (own if options else stock)(*execute)).code == 0
        return plan

    his, other, leased = (f"{name}-{tools.version[0]}" for name in ("his", "other", "leased"))
    await ours.set_rates()
    for topic in (his, other, leased):
        await ours.create_topic(topic, {0: [1, 2]}, held=True)
    await throttled(other)
    cancelled = await own("--cancel", "--reassignment-json-file", await throttled(his))
    assert cancelled.lines == [
        f"Successfully cancelled partition reassignment for: {his}-0",
        NO_MOVES,
        "Clearing broker-level throttles on broker 3",
        "Keeping broker-level throttles on brokers 1,2,4,5: other reassignments need them",
        f"Clearing topic-level throttles on topic {his}",
    ]
    assert await rates() == [None, "2"], "what stood before the stock tool's --throttle is gone, as on stock Kafka"

    assert (await stock("--cancel", "--reassignment-json-file", await throttled(his))).code == 0
    assert await rates() == [None, None], "which is what the tool asks for"

    await ours.set_rates()
    await throttled(leased, "--lease")
    assert (await stock("--cancel", "--reassignment-json-file", await throttled(his))).code == 0

    async def is_back() -> bool:
        return await rates() == [None, "2"]

    await eventually(is_back)
    assert (await own("--cancel")).code == 0


def _plain(call: Call, directory: Path) -> tuple[str, object]:
    """Without the names of files, and without the list of actions, of which we have more."""
    label, code, lines, error = call
    own = re.compile(rf"{re.escape(str(directory))}/\d/")
    printed = [_OURS_TOO.sub(r"\1", own.sub("", line)) for line in lines]
    return own.sub("", label), [code, printed, own.sub("", _ACTIONS.sub("", error))]


_ACTIONS = re.compile(r"--generate, --execute.*")
_OURS_TOO = re.compile(r"^(Error: Unable to read file /nope).*")
"""The calls to which our tool prints more than the stock tool."""
