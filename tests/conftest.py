"""Fixtures for all tests: one real ZooKeeper for the whole run, and a chroot for each test.

    zookeeper       the running EmbeddedZooKeeper. Do not stop it: a test of ZooKeeper failures starts its own
    zk_connect      "host:port/chroot" of an empty chroot that only this test uses
    zk              a connected ZooKeeper client on that chroot
    tmp_data        an empty directory for a process that keeps data

Async tests run on asyncio. Those marked `both_loops` run twice, on asyncio and on uvloop.
"""

import asyncio
import gc
import itertools
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import pytest_asyncio
import uvloop
from xdist.remote import Producer

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests import first_failures, optional_software, pictures, tiers, unlucky_loop, waiting
from tests.costs import Costs
from tests.ending_loop import EndingLoop
from tests.processes import logs_of_processes
from tests.scheduling import Units

hypothesis.settings.register_profile(
    "default",
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],  # it says how busy the machine is
)
hypothesis.settings.register_profile("explore", derandomize=False)
hypothesis.settings.load_profile("default")
"""Gates judge a change by the same examples each time; `make test-all` looks for what no run has met."""

LOOPS: Mapping[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": EndingLoop,
    "uvloop": uvloop.new_event_loop,
}
ON_SPARK = (
    "tests/pipeline/test_real_clusters",
    "tests/pipeline/test_plan_command",
    "tests/pipeline/test_plan_in_memory",
    "tests/pipeline/test_plan_job",
    "tests/pipeline/test_plan_room",
    "tests/pipeline/test_figures_by_hand",
    "tests/pipeline/test_result_columns",
    "tests/pipeline/test_history",
    "tests/pipeline/test_audit",
    "tests/pipeline/test_bad_input",
    "tests/pipeline/test_export_events",
    "tests/pipeline/test_chunk_callers",
    "tests/pipeline/test_snapshot_files",
    "tests/pipeline/test_waiting_moves",
    "tests/pipeline/test_history_figures_by_hand",
    "tests/pipeline/test_status_of_jobs",
    "tests/pipeline/test_stores",
    "tests/pipeline/test_same_results",
    "tests/pipeline/test_verify_topics",
    "tests/pipeline/test_table_stamps",
    "tests/pipeline/test_verify_changed_plans",
    "tests/pipeline/test_killed_workers",
    "tests/pipeline/test_odd_figures",
)
"""These share a Spark session: to start one and to make it warm takes as long as half of them."""
TOGETHER = (
    ON_SPARK,
    ("tests/foreign_clients/test_",),
    ("tests/kraft/front/", "tests/kraft/upstream/", "tests/kraft/test_zombies"),
)
"""One process of a run has the tests of a group. Those of foreign clients share the clusters of their package: each
file by itself would start five stock brokers of each mode, our server with five simulated ones, and our service. Those
of kraft share three stock brokers; `test_service` has its own, since it takes minutes.
"""
TAKE_MINUTES = (
    *ON_SPARK,
    "tests/pipeline/test_spark_cluster",
    "tests/interop",
    "tests/foreign_clients",
    "tests/mixed_clusters/test_versions",
    "tests/kraft/test_service",
    "tests/kraft/state_log",
    "tests/migration",
    "tests/watch/test_on_kraft_releases",
    "tests/server/test_costs",
    "tests/pipeline/test_failing_stores",
    "tests/campaign",
    "tests/faults",
    "tests/kraft",
    "tests/mixed_clusters",
    "tests/reassign_command",
    "tests/pipeline",
    "tests/watch",
    "tests/fleet/test_stock_controller",
    "tests/protocol/test_round_trips",
    "tests/zookeeper/test_ensemble",
    "tests/cli/test_processes",
    "tests/properties",
    "tests/controller",
)
"""These come before all others, those first that take longest by the clock (`docs/tests.md`): at the end of a run no
process is left alone with what takes minutes.
"""

_chroots = itertools.count(1)
_CHOSEN = pytest.StashKey[list[str]]()
_IN_GATE = "in_gate"
"""What each process of a run tells the one that started it: the files of `tiers.chosen`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run", choices=tiers.RUNS, default=tiers.RUNS[0], help="which tests: see tests/tiers.py")
    parser.addoption("--record", action="store_true", help="write the recordings of stock Kafka again")
    parser.addoption("--keep-first-failures", action="store_true", help="append them to tests/first_failures.jsonl")
    parser.addoption("--costs", type=Path, help="append what each test costs to this file: tests/costs.py")
    parser.addoption("--pictures", type=Path, help="keep pictures of pages in this directory: tests/pictures.py")
    parser.addoption("--no-skips", action="store_true", help="a skipped test fails the run")
    parser.addoption("--unlucky", type=int, metavar="SEED", help="nothing keeps its usual order: tests/unlucky_loop.py")


def pytest_configure(config: pytest.Config) -> None:
    tiers.begin(config.getoption("--run"), records=config.getoption("--record"))
    if tiers.is_whole():
        hypothesis.settings.load_profile("explore")
    pictures.begin(config.getoption("--pictures"))
    if config.getoption("--unlucky") is not None:
        waiting.LEAST_S = unlucky_loop.LEAST_S
    if (costs := config.getoption("--costs")) is not None:
        config.pluginmanager.register(Costs(costs))
    config.addinivalue_line("markers", "both_loops: run the async test on asyncio and on uvloop")
    config.addinivalue_line("markers", "in_order: says who of two is quicker, so that --unlucky leaves it in its order")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # the run was started in the background of a shell
        signal.signal(signal.SIGINT, signal.default_int_handler)  # commands that tests interrupt would ignore it too


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected lives as long as the run: the collections of garbage that tests ask for, hundreds, need not
    look through its half a million objects each time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_left_out = config.getoption("--run") == "gate" and collection_path.is_file()
    return True if is_left_out and not tiers.may_be_in_gate(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what this run does not have. Of several processes none is left at the end with what takes minutes:
    that comes first.
    """
    run, in_gate = config.getoption("--run"), set[str]()
    if run == "gate":
        files, changed = tiers.files_of_all(items), tiers.changed_files()
        in_gate = tiers.chosen(files, tiers.submissions(), changed, tiers.helpers())
        if (output := getattr(config, "workeroutput", None)) is not None:
            output[_IN_GATE] = sorted(in_gate)
    left_out = set(tiers.left_out(items, run, in_gate))
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]
    if hidden := tiers.hide_their_marks(items):
        raise pytest.UsageError(f"a gate would not find its tests in {', '.join(map(str, hidden))}: see tests/tiers.py")
    if apart := {
        item.path.name for item in items if "spark" in _fixtures(item) and not item.nodeid.startswith(ON_SPARK)
    }:
        raise pytest.UsageError(f"ON_SPARK in tests/conftest.py lacks {', '.join(apart)}")
    first_failures.allow_second_attempts(items)
    if hasattr(config, "workerinput"):
        order = (*TAKE_MINUTES, "")
        items.sort(key=lambda item: next(n for n, name in enumerate(order) if item.nodeid.startswith(name)))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[_CHOSEN] = getattr(node, "workeroutput", {}).get(_IN_GATE, ())


def _fixtures(item: pytest.Item) -> Sequence[str]:
    return getattr(item, "fixturenames", ())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Units | None:
    """Takes the place of `--dist loadfile`; with another --dist, pytest-xdist has its way."""
    return Units(config, log, TOGETHER) if config.getvalue("dist") == "loadfile" else None


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    if (seed := config.getoption("--unlucky")) is not None and not item.get_closest_marker("in_order"):
        return {"asyncio": unlucky_loop.unlucky_loops(seed)}
    names = LOOPS if item.get_closest_marker("both_loops") else ("asyncio",)
    return {name: LOOPS[name] for name in names}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails shows the logs of its processes: a failure that comes once a month is not seen again."""
    report = yield
    if report.failed:
        first_failures.failed(item)
        report.sections += [(f"log of {name}", text) for name, text in logs_of_processes().items()]
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    first_failures.end_fixtures(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> Generator[None]:
    """Before pytest's closing line: what was left out, and each first failure."""
    first_failures.show_logs(terminalreporter)
    yield
    has = optional_software
    for line in has.left_out(kdc=has.HAS_KDC, prometheus=has.HAS_PROMETHEUS, systemd=has.HAS_SYSTEMD):
        terminalreporter.write_line(line, yellow=True)
    if config.getoption("--run") == "gate":
        files: list[str] = config.stash.get(_CHOSEN, [])
        had = " ".join(files) or "nothing"
        terminalreporter.write_line(f"This run had, of what only `make test-all` has whole: {had}")
    if skipped := _skipped_in_vain(config, terminalreporter):
        terminalreporter.write_line(f"{skipped} tests were skipped: here that is a failure", red=True)
    for line in first_failures.lines(first_failures.of_run(terminalreporter)):
        terminalreporter.write_line(line, yellow=True)


@pytest.hookimpl(trylast=True)  # after pytest has noted what failed
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Many first failures fail the run, and where nothing may be missing a skipped test does."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(session.config, "workerinput"):
        return
    first = first_failures.of_run(reporter)
    if len(first) > first_failures.MOST or _skipped_in_vain(session.config, reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if session.config.getoption("--keep-first-failures"):
        first_failures.keep(first, first_failures.FILE)


def _skipped_in_vain(config: pytest.Config, reporter: pytest.TerminalReporter) -> int:
    return len(reporter.stats.get("skipped", [])) if config.getoption("--no-skips") else 0


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in its own event loop. The loops of the tests are not touched."""
    loop = asyncio.SelectorEventLoop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedZooKeeper]:
    server = EmbeddedZooKeeper(tmp_path_factory.mktemp("zookeeper"))
    run(server.start())
    yield server
    run(server.stop())


@pytest.fixture
def zk_connect(zookeeper: EmbeddedZooKeeper) -> str:
    chroot = f"/test-{next(_chroots)}"

    async def make() -> None:
        async with ZooKeeper(zookeeper.address) as client:
            await client.ensure_path(chroot)

    run(make())
    return zookeeper.address + chroot


@pytest_asyncio.fixture
async def zk(zk_connect: str) -> AsyncIterator[ZooKeeper]:
    async with ZooKeeper(zk_connect) as client:
        yield client


@pytest.fixture
def tmp_data(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    return data
