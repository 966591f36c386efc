"""kr-4: clusters by the dozen in one process, of which a bad one disturbs no other."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.controller.telemetry.event_log import EventLog
from kafka_reassign_rpc.controller.telemetry.metrics import metrics_of_clusters
from kafka_reassign_rpc.controller.telemetry.webhook_requests import WebhookConfig
from kafka_reassign_rpc.core.events.notifications import kinds
from kafka_reassign_rpc.security.properties import Password
from kafka_reassign_rpc.server.http_server import HttpSecurity
from kafka_reassign_rpc.support.bounded_log import BoundedFormatter
from kafka_reassign_rpc.support.turns import in_turns
from kafka_reassign_rpc.watch.clusters import MOST_CLUSTERS, WatchedCluster, clusters
from kafka_reassign_rpc.watch.served_http import ClusterWatch, ServedWatch
from kafka_reassign_rpc.watch.watcher import Watcher
from tests.controller.test_server_parts import free_port
from tests.http_client import get
from tests.longest_turn import tries
from tests.processes import processes
from tests.python_client.scripted_nodes import ScriptedCluster, accepting, listening
from tests.status_page.documented import Documented
from tests.tables import for_each
from tests.waiting import eventually
from tests.watch.moving_nodes import TWO_MOVE, moving_nodes
from tests.watch.test_watch import EndingNode

UNKNOWN = (
    *("moves_in", "moves_bytes", "moves_remaining", "moves_stalled", "moves_waiting", "moves_held", "partitions"),
    *("broker", "cap", "repairs", "healing", "reassignments", "all_", "window", "zookeeper_round"),
)
"""What is not known of a cluster that is not seen: metrics whose names begin so."""


def table(name: Any = "a", **more: Any) -> dict[str, Any]:
    return {"name": name, "bootstrap-server": "h:9092", **more}


def test_kr_4_clusters_are_read_from_the_settings_file() -> None:
    found = clusters([table("east"), table("West_2", **{"command-config": "/c"})])
    assert found == (WatchedCluster("east", "h:9092"), WatchedCluster("West_2", "h:9092", "/c"))


@for_each(
    ("value", "why"),
    [
        ({"name": "a"}, r"write \[\[cluster\]\]"),
        (["a"], r"write \[\[cluster\]\]"),
        ([], "0 clusters: one process watches 1 to 50"),
        ([table(f"c{one}") for one in range(MOST_CLUSTERS + 1)], "51 clusters"),
        ([table("a"), table("A")], "two clusters have the name A"),
        ([table("../up")], "cluster 1: name: it has 1 to 63"),
        ([table("a b")], "cluster 1: name"),
        ([table("a\n")], "cluster 1: name"),
        ([table("x" * 64)], "cluster 1: name"),
        ([table("")], "cluster 1: name"),
        ([table(7)], "cluster 1: name is a text in quotes"),
        ([table(), {"name": "b"}], r"cluster 2 \(b\): bootstrap-server is missing"),
        ([table(**{"command-config": " "})], r"cluster 1 \(a\): command-config is empty: name a file, or leave it out"),
        ([table(**{"command.config": "/c"})], "cluster 1: unknown key command.config: there are bootstrap-server"),
    ],
)
def test_kr_4_a_bad_table_of_a_cluster_is_refused_with_its_place(value: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        clusters(value)


async def test_kr_4_a_cluster_that_does_not_answer_leaves_the_others_as_they_are() -> None:
    async with moving_nodes() as (good, _):
        watches = [
            ClusterWatch(
                {"bootstrap_servers": [address], "request_timeout_ms": 500, "bootstrap_timeout_ms": 500},
                None,
                name=name,
                full=True,
            )
            for name, address in (("east", f"127.0.0.1:{good.port}"), ("west", f"127.0.0.1:{free_port()}"))
        ]
        async with ServedWatch(watches, ("127.0.0.1", 0), HttpSecurity(), page=True) as served:

            async def document(path: str) -> Any:
                answer = await get(served.address, path)
                assert answer.status == 200, answer
                return json.loads(answer.body)

            async def both_are_told() -> bool:
                east, west = (await document("/api/v1/clusters"))["clusters"]
                (problem,) = west["status"]["problems"] or [{"text": ""}]
                return (
                    east["status"]["totals"] is not None
                    and east["status"]["totals"]["in_flight"] == len(TWO_MOVE)
                    and west["status"]["totals"] is None
                    and "connection refused" in problem["text"]
                )

            await eventually(both_are_told)
            found = await document("/api/v1/clusters")
            Documented(served.address).check("Clusters", found)
            east, west = found["clusters"]
            assert [one["name"] for one in (east, west)] == ["east", "west"]
            assert len((await document(east["api"] + "moves"))["moves"]) == len(TWO_MOVE)
            assert (await document("/ready")) == {"ready": True, "role": "watch", "clusters": 2, "seen": 1}
            metrics = (await get(served.address, "/metrics")).body.decode()
            assert 'kafka_reassign_moves_in_flight{cluster="east"} 2.0' in metrics
            of_west = [line for line in metrics.split("\n") if 'cluster="west"' in line]
            assert 'kafka_reassign_ready{cluster="west"} 0.0' in of_west
            assert {line for line in of_west if line.removeprefix("kafka_reassign_").startswith(UNKNOWN)} == set()
            assert metrics.count("# TYPE kafka_reassign_moves_in_flight ") == 1
            assert metrics.count("\nprocess_start_time_seconds ") == 1, "there is one process"
            page = (await get(served.address, "/")).body.decode()
            assert '<a href="/clusters/east/">east</a>' in page
            assert "connection refused" in page
            own = (await get(served.address, "/clusters/east/")).body.decode()
            assert 'data-api="/api/v1/clusters/east/"' in own
            assert '<a href="/">All clusters</a>' in own
            assert (await get(served.address, "/api/v1/clusters/north/status")).status == 404


def lines_of_log(stream: io.StringIO) -> list[str]:
    return [one for one in stream.getvalue().splitlines() if not one.startswith((" ", "Traceback", "ZeroDivision"))]


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What a process of watch writes on standard error."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(BoundedFormatter("%(message)s"))
    ours = logging.getLogger("kafka_reassign_rpc")
    before = ours.level
    ours.addHandler(handler)
    ours.setLevel(logging.INFO)
    yield stream
    ours.removeHandler(handler)
    ours.setLevel(before)


async def test_kr_4_each_line_of_the_log_and_each_problem_names_its_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: io.StringIO
) -> None:
    """Whichever part of the process writes it: watch, the recorder of events, the event log, a webhook."""
    nobody, taken = free_port(), tmp_path / "file"
    taken.touch()
    hook = WebhookConfig((f"http://127.0.0.1:{nobody}/",), Password("x" * 16), kinds(["default"]))
    both = {name: ScriptedCluster() for name in ("east", "west")}
    async with AsyncExitStack() as stack:
        watches = []
        for name, nodes in both.items():
            first, second = EndingNode(nodes, 1), EndingNode(nodes, 2)
            await stack.enter_async_context(listening(first))
            await stack.enter_async_context(listening(second))
            configs = {"bootstrap_servers": [f"127.0.0.1:{first.port}"]}
            watches.append(ClusterWatch(configs, EventLog(taken / name), hook, name, full=True))
        served = ServedWatch(watches, ("127.0.0.1", 0), HttpSecurity(), page=True)
        await stack.enter_async_context(served)
        await eventually(lambda: all(one.watcher.view().watch.unseen for one in watches))
        monkeypatch.setattr(EndingNode, "is_over", True)
        parts = ("no event log is kept in", "move.completed", "takes no notification", "Throttles are not all seen")
        for part in parts:
            of_each = [f"cluster {name}: " for name in both]
            await eventually(
                lambda part=part, of_each=of_each: all(  # type: ignore[misc]
                    any(one.startswith(whose) and part in one for one in lines_of_log(log)) for whose in of_each
                )
            )
        for one in json.loads((await get(served.address, "/api/v1/clusters")).body)["clusters"]:
            problems = one["status"]["problems"]
            assert problems
            assert {text["text"].partition(": ")[0] for text in problems} == {f"cluster {one['name']}"}
        page = (await get(served.address, "/")).body.decode()
        assert "Throttles are not all seen" in page
        assert "cluster east: " not in page, "its row has the name"
        monkeypatch.setattr(Watcher, "_silent_since", property(lambda _: 1 // 0))
        assert (await get(served.address, "/api/v1/clusters/east/status")).status == 500
        assert "cluster east: the page /api/v1/clusters/east/status cannot be made" in log.getvalue()
        monkeypatch.undo()
    assert [one for one in lines_of_log(log) if not one.startswith(("cluster east: ", "cluster west: "))] == []


async def test_kr_4_clusters_that_do_not_answer_are_one_line_each_however_often_they_are_asked(tmp_path: Path) -> None:
    asked = 0

    async def end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        await reader.read(1_000)  # else it might be a reset
        writer.close()

    (tmp_path / "client.properties").write_text("default.api.timeout.ms=300\n")
    async with accepting(end) as port, processes(tmp_path) as commands:
        tables = [
            f'[[cluster]]\nname = "{name}"\nbootstrap-server = "127.0.0.1:{port}"\n'
            f'command-config = "{tmp_path / "client.properties"}"\n'
            for name in ("east", "west")
        ]
        (tmp_path / "watch.toml").write_text("\n".join(['"metrics.listener" = "127.0.0.1:0"', *tables]))
        watch = await commands.start("watch", "watch", "--config", str(tmp_path / "watch.toml"))
        await eventually(lambda: all(f"cluster {one}: the cluster cannot" in watch.log for one in ("east", "west")))
        told, before = watch.log, asked
        await eventually(lambda: asked > before + 8)
        assert watch.log == told
        assert len(told.splitlines()) == 2


async def test_kr_4_the_metrics_of_as_many_clusters_as_there_may_be_leave_others_their_turn() -> None:
    names = [f"c{one}" for one in range(MOST_CLUSTERS)]
    metrics = {one: ClusterWatch({"bootstrap_servers": ["127.0.0.1:1"]}, None, name=one).metrics for one in names}
    page = asyncio.create_task(in_turns(metrics_of_clusters(metrics)))
    turns = 0
    while not page.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 10, "made at once they hold up everything for 70 ms"
    body = (await page).body
    assert body.count(b"# TYPE kafka_reassign_moves_in_flight ") == 1
    assert body.count(b"\nkafka_reassign_ready{") == MOST_CLUSTERS


async def test_kr_4_as_many_clusters_as_there_may_be_have_a_row_each_on_one_page() -> None:
    """The page is made in one go, in half of the time that a turn may take."""
    names = [f"c{one}" for one in range(MOST_CLUSTERS)]
    refused = {"bootstrap_servers": [f"127.0.0.1:{free_port()}"], "bootstrap_timeout_ms": 1_000}
    watches = [ClusterWatch(refused, None, name=one, full=True) for one in names]
    async with ServedWatch(watches, ("127.0.0.1", 0), HttpSecurity(), page=True) as served:
        await eventually(lambda: all("connection refused" in one.watcher.view().reason for one in watches), within=60)
        for measured in tries():
            async with measured:
                page = (await get(served.address, "/")).body.decode()
                told = json.loads((await get(served.address, "/api/v1/clusters")).body)
        assert [f'<a href="/clusters/{one}/">{one}</a>' in page for one in names] == [True] * MOST_CLUSTERS
        assert page.count("connection refused") == MOST_CLUSTERS
        assert [one["name"] for one in told["clusters"]] == names


async def test_kr_4_the_process_is_ready_only_where_a_cluster_is_seen(tmp_path: Path) -> None:
    watches = [ClusterWatch({"bootstrap_servers": [f"127.0.0.1:{free_port()}"]}, None, name=one) for one in "ab"]
    async with ServedWatch(watches, ("127.0.0.1", 0), HttpSecurity(), page=False) as served:
        assert (await get(served.address, "/ready")).status == 503
        assert (await get(served.address, "/")).status == 404, "no page was asked for"


async def test_kr_4_a_viewer_who_sees_only_counts_learns_no_address_of_a_cluster_that_is_not_seen() -> None:
    port = free_port()
    watch = ClusterWatch({"bootstrap_servers": [f"127.0.0.1:{port}"], "bootstrap_timeout_ms": 200}, None)
    async with ServedWatch([watch], ("127.0.0.1", 0), HttpSecurity(), page=True) as served:
        await eventually(lambda: str(port) in watch.watcher.view().reason)
        for path in ("/ready", "/api/v1/status"):
            told = (await get(served.address, path)).body.decode()
            assert "the cluster cannot be seen: the log of watch says why" in told
            assert str(port) not in told


ONE = '[[cluster]]\nname = "a"\nbootstrap-server = "h:1"\n'


@pytest.mark.parametrize(
    ("text", "flags", "why"),
    [
        (None, [], "--bootstrap-server or KAFKA_REASSIGN_BOOTSTRAP_SERVER is missing"),
        (ONE, ["--bootstrap-server", "h:1"], "has [[cluster]]: its bootstrap-server and command-config belong there"),
        (ONE + 'command-config = "/none"\n', [], "cluster a: command-config: "),
        (ONE + ONE, [], "two clusters have the name a"),
    ],
)
def test_kr_4_wrong_settings_of_clusters_are_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, flags: list[str], why: str
) -> None:
    files = []
    if text is not None:
        (tmp_path / "watch.toml").write_text(text)
        files = ["--config", str(tmp_path / "watch.toml")]
    assert main(["watch", *files, *flags]) == 2
    assert why in capsys.readouterr().err
