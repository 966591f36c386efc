"""Watch over real sockets: our own server with simulated brokers, and addresses where no Kafka answers."""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kafka_reassign_rpc.client import AsyncReassignmentClient
from kafka_reassign_rpc.core.status.moves import MoveFilter
from kafka_reassign_rpc.support.human_units import utc_time
from kafka_reassign_rpc.support.slices import finished
from kafka_reassign_rpc.support.wall_clock import now_ms
from tests.controller.cluster import Cluster, cluster
from tests.http_client import get
from tests.python_client.scripted_nodes import LIST, METADATA, ScriptedCluster, accepting, listening
from tests.status_page.documented import Documented
from tests.waiting import eventually
from tests.watch.moving_nodes import LOG_DIRS, TWO_MOVE, MovingNode, moving_nodes
from tests.watch.watching import Watch, watching


@pytest_asyncio.fixture
async def world(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect) as made:
        yield made


async def test_kr_1_moves_their_bytes_and_their_ends_are_seen(world: Cluster, tmp_path: Path) -> None:
    await world.create_topic("slow", {0: [1, 2]}, held=True)
    await world.create_topic("back", {0: [1, 2]}, held=True)
    async with (
        watching(world.bootstrap, tmp_path / "events") as watch,
        AsyncReassignmentClient(bootstrap_servers=world.bootstrap) as client,
    ):
        await eventually(lambda: watch.watcher.answers)
        await client.alter_partition_reassignments({("slow", 0): [1, 3], ("back", 0): [1, 4]})

        async def measured() -> bool:
            moves = await watch.moves()
            return len(moves) == 2 and all(one["bytes_total"] for one in moves.values())

        await eventually(measured)
        one = (await watch.moves())["slow-0"]
        assert (one["original"], one["target"], one["adding"], one["leader"]) == ([1, 2], [1, 3], [3], 1)
        assert one["since"] is not None
        assert b"kafka_reassign_moves_in_flight 2.0" in (await get(watch.served.address, "/metrics")).body
        await client.alter_partition_reassignments({("back", 0): None})
        await world.release("slow")

        async def ended() -> bool:
            return {("move.completed", "slow"), ("move.cancelled", "back")} <= set(await watch.events())

        await eventually(ended)
        assert not await watch.moves()
        ready = await get(watch.served.address, "/ready")
        assert (ready.status, json.loads(ready.body)) == (200, {"ready": True, "role": "watch", "controller": 1000})
        await _shows_what_it_knows(watch)


async def _shows_what_it_knows(watch: Watch) -> None:
    """Nothing that only the controller knows is shown as known."""
    api = Documented(watch.served.address)
    await api.ask_all(departure=False)
    status = await api.ask("status")
    assert (status["role"], status["server"], status["controller"]["id"]) == ("watch", None, 1000)
    assert (status["enabled"], status["caps"], status["problems"]) == (None, None, [])
    brokers = (await api.ask("brokers"))["brokers"]
    assert all(one["throttles_known"] for one in brokers)
    assert {(one["shutting_down"], one["cordoned"], one["disk"]) for one in brokers} == {(None, None, None)}
    assert status["totals"]["held"] is None
    assert 1000 not in {one["id"] for one in brokers}, "a server is no broker"
    assert status["brokers_live"] == len(brokers)
    metrics = (await get(watch.served.address, "/metrics")).body
    assert b"\nkafka_reassign_brokers_live " in metrics
    assert b"\nkafka_reassign_brokers_cordoned " not in metrics, "it cannot know of a setting of servers"
    assert b"<title>Reassignments \xc2\xb7 watch</title>" in (await get(watch.served.address, "/")).body


async def _refused(bootstrap: str, tmp_path: Path) -> str:
    """What watch says, while it goes on."""
    async with watching(bootstrap, tmp_path / "events", request_timeout_ms=500, bootstrap_timeout_ms=500) as watch:

        async def said() -> str:
            problems = await watch.problems()
            return problems[0] if "the first look" not in problems[0] else ""

        text: str = await eventually(said)
        ready = await get(watch.served.address, "/ready")
        assert ready.status == 503
        await Documented(watch.served.address).ask("status")
        return text


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(200), b"\0\0\0\x08" + bytes(4)])
async def test_kr_1_a_bootstrap_that_is_no_kafka_is_one_clear_line_and_watch_goes_on(
    tmp_path: Path, answer: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(answer)
        writer.close()

    async with accepting(serve) as port:
        text = await _refused(f"127.0.0.1:{port}", tmp_path)
    assert text.startswith("the cluster cannot be seen: ")
    assert f"127.0.0.1:{port}" in text
    if not answer.startswith(b"\0"):
        assert ", asked by PLAINTEXT" in text, "that may be the mistake"
    assert "Traceback" not in caplog.text
    warned = [one.getMessage() for one in caplog.records if "cannot be seen" in one.getMessage()]
    assert len(warned) == len(set(warned)) >= 1


async def test_kr_1_a_cluster_that_does_not_answer_is_one_line_of_the_log_and_its_moves_that_wait_are_unknown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # no process listens there
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        async with watching(place, tmp_path / "events", bootstrap_timeout_ms=500) as watch:
            page = watch.served.watches[0].api
            selection = finished(page._select(MoveFilter()))
            assert selection.sums.waiting is None
            await eventually(lambda: watch.watcher._failures >= 3)
    (line,) = [one.getMessage() for one in caplog.records if place in one.getMessage()]
    assert line.startswith("the cluster cannot be seen: ")


async def test_kr_1_a_refused_cluster_is_one_line_of_the_log_whichever_of_its_addresses_was_tried_last(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with ExitStack() as stack:
        places = []
        for _ in range(3):
            taken = stack.enter_context(socket.socket())
            taken.bind(("127.0.0.1", 0))  # no process listens there
            places.append(f"127.0.0.1:{taken.getsockname()[1]}")
        async with watching(",".join(places), tmp_path / "events", bootstrap_timeout_ms=400) as watch:
            await eventually(lambda: watch.watcher._failures >= 1)
            told = watch.watcher.view().reason
            await eventually(lambda: watch.watcher._failures >= 6)
            assert watch.watcher.view().reason == told, "the page does not change its mind either"
    (line,) = [one.getMessage() for one in caplog.records if any(place in one.getMessage() for place in places)]
    assert [line.count(f"{place}: connection refused") for place in places] == [1, 1, 1]


async def test_kr_1_a_cluster_whose_brokers_all_go_is_one_line_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whichever broker was asked last, and also after watch has begun again with the given addresses."""
    monkeypatch.setattr("kafka_reassign_rpc.watch.watcher.STALE_S", 0.5)
    monkeypatch.setattr("kafka_reassign_rpc.watch.watcher.LONGEST_WAIT_S", 0.5)
    patience: dict[str, Any] = {"request_timeout_ms": 500, "bootstrap_timeout_ms": 500}
    async with AsyncExitStack() as stack:
        async with moving_nodes() as nodes:
            given = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
            watch = await stack.enter_async_context(watching(given, tmp_path / "events", **patience))
            await eventually(lambda: watch.watcher.answers)
        await eventually(lambda: watch.watcher._failures >= 7, within=40)
        (problem,) = [one for one in await watch.problems() if "cannot be seen" in one]
        assert [problem.count(f"127.0.0.1:{node.port}: connection refused") for node in nodes] == [1, 1]
    assert [one.getMessage() for one in caplog.records if "cannot be seen" in one.getMessage()][1:] == []


async def test_kr_1_tls_at_a_listener_without_it_is_said_and_watch_goes_on(world: Cluster, tmp_path: Path) -> None:
    context = ssl.create_default_context()
    async with watching(
        world.bootstrap, tmp_path / "events", security_protocol="SSL", ssl_context=context, bootstrap_timeout_ms=500
    ) as watch:

        async def said() -> bool:
            (text, *_) = await watch.problems()
            return "cannot be seen" in text and world.bootstrap in text

        await eventually(said)


async def test_kr_1_a_tls_handshake_without_an_answer_is_named(tmp_path: Path) -> None:
    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while await reader.read(1_000):
                pass
        writer.close()

    async with accepting(take) as port:
        address = f"127.0.0.1:{port}"
        context = ssl.create_default_context()
        async with watching(
            address, tmp_path / "events", security_protocol="SSL", ssl_context=context, bootstrap_timeout_ms=300
        ) as watch:

            async def said() -> bool:
                (text, *_) = await watch.problems()
                return address in text and "no answer within 0.3 s, asked by SSL" in text

            await eventually(said)


async def test_kr_2_one_broker_that_hangs_does_not_keep_the_sizes_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka_reassign_rpc.client.broker_questions.ANSWER_S", 0.5)
    async with moving_nodes() as (good, hung):
        hung.replies[LOG_DIRS] = lambda _: b""  # it takes the request, and says nothing
        async with watching(f"127.0.0.1:{good.port}", tmp_path / "events") as watch:

            async def is_named() -> bool:
                silent = "Broker 2 (has never answered): sizes are not known, there is no answer"
                return silent in await watch.problems()

            await eventually(is_named, within=30)
            await eventually(lambda: good.asked.count(LOG_DIRS) >= 3, within=40)
            assert hung.asked.count(LOG_DIRS) <= 2
            moves = await watch.moves()
            assert len(moves) == len(TWO_MOVE)
            assert {one["bytes_total"] for one in moves.values()} == {1_000}


async def test_kr_1_nodes_of_other_versions_are_each_asked_in_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the midst of an upgrade, where any node may be asked first."""
    monkeypatch.setattr(MovingNode, "newest", {LOG_DIRS: 4, METADATA: 12})
    async with moving_nodes() as (newer, older):
        older.newest = {LOG_DIRS: 1, METADATA: 7}
        for asked in (newer, older):
            async with watching(f"127.0.0.1:{asked.port}", tmp_path / f"events-{asked.node}") as watch:

                async def are_measured() -> bool:
                    moves = await watch.moves()
                    return {one["bytes_total"] for one in moves.values()} == {1_000} and all(
                        one["copied"] == {"2": 500} for one in moves.values()
                    )

                await eventually(are_measured)
                others = [one for one in await watch.problems() if not one.startswith("Throttles are not all seen")]
                assert others == [], "of DescribeConfigs these nodes know nothing"


async def test_kr_1_throttles_that_are_not_reported_are_unknown_and_the_moves_are_shown(tmp_path: Path) -> None:
    """These nodes do not serve DescribeConfigs."""
    async with moving_nodes() as (good, _), watching(f"127.0.0.1:{good.port}", tmp_path / "events") as watch:

        async def are_shown() -> bool:
            return len(await watch.moves()) == len(TWO_MOVE)

        await eventually(are_shown)

        async def is_said() -> bool:
            return any(text.startswith("Throttles are not all seen") for text in await watch.problems())

        await eventually(is_said)
        brokers = (await watch.document("brokers"))["brokers"]
        assert [one["throttles_known"] for one in brokers] == [False, False]
        assert watch.watcher.answers


async def test_kr_1_while_no_broker_reports_the_moves_one_line_says_since_when(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a KRaft cluster without an active controller: brokers answer, and keep each List."""
    monkeypatch.setattr("kafka_reassign_rpc.watch.watcher.SILENT_S", 1.0)
    monkeypatch.setattr("kafka_reassign_rpc.watch.watcher.STALE_S", 5.0)
    began = now_ms()
    async with moving_nodes() as nodes, watching(f"127.0.0.1:{nodes[0].port}", tmp_path / "events") as watch:

        async def problem() -> Any:
            return next((one for one in (await watch.document("status"))["problems"] if one["since"]), None)

        await eventually(lambda: watch.watcher.answers)
        assert await problem() is None
        for node in nodes:
            node.replies[LIST] = lambda _: b""
        one = await eventually(problem)
        assert one["kind"] == "unseen"
        assert began < one["since"] <= now_ms(), "the question may have been under way already"
        assert one["text"].startswith(f"No broker has said since {utc_time(one['since'])} UTC which moves there are: ")
        assert len(await watch.moves()) == len(TWO_MOVE), "as they were then"

        async def is_blind() -> Any:
            found = await problem()
            return found if found["kind"] == "no_controller" else None

        blind = await eventually(is_blind)
        assert blind["since"] == one["since"], "the same silence"
        assert blind["text"].endswith(f" (since {utc_time(one['since'])} UTC)")
        for node in nodes:
            del node.replies[LIST]

        async def is_over() -> bool:
            return await problem() is None

        await eventually(is_over, within=30)


async def test_kr_1_moves_that_are_shown_as_they_were_are_said_to_be_old_whichever_question_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brokers list the moves, and keep each Metadata."""
    monkeypatch.setattr("kafka_reassign_rpc.watch.watcher.SILENT_S", 0.5)
    monkeypatch.setattr("kafka_reassign_rpc.watch.watcher.STALE_S", 60.0)
    async with moving_nodes() as nodes, watching(f"127.0.0.1:{nodes[0].port}", tmp_path / "events") as watch:

        async def since() -> Any:
            found = (await watch.document("status"))["problems"]
            return next((one["since"] for one in found if one["text"].startswith("No broker has said since ")), None)

        await eventually(lambda: watch.watcher.answers)
        for node in nodes:
            node.replies[METADATA] = lambda _: b""
        first = await eventually(since)
        assert len(await watch.moves()) == len(TWO_MOVE), "as they were then"
        await eventually(lambda: not watch.watcher.answers, within=30)
        assert await since() == first, "the same silence"
        for node in nodes:
            del node.replies[METADATA]

        async def is_over() -> bool:
            return await since() is None

        await eventually(is_over, within=30)


@pytest.mark.parametrize("leader", [None, 3000])
async def test_kr_1_the_controller_of_kraft_is_the_leader_of_its_quorum(tmp_path: Path, leader: int | None) -> None:
    """In KRaft mode Metadata names any broker. None: ZooKeeper mode, where it names the controller."""
    async with moving_nodes() as nodes:
        for node in nodes:
            node.quorum_leader = leader
        async with watching(f"127.0.0.1:{nodes[0].port}", tmp_path / "events") as watch:
            await eventually(lambda: watch.watcher.answers)
            status = await watch.document("status")
            assert status["controller"]["id"] == (leader or nodes[0].cluster.controller)
            assert (status["server"], status["role"]) == (None, "watch")


class EndingNode(MovingNode):
    """`is_over`: all moves are completed."""

    is_over = False

    def _answer(self, key: int, version: int) -> Any:
        answer = super()._answer(key, version)
        if self.is_over and key == LIST:
            answer.topics = []
        if self.is_over and key == METADATA:
            for one in answer.topics[0].partitions:
                one.leader_id, one.replica_nodes, one.isr_nodes = 2, [2], [2]
        return answer


async def test_kr_1_the_end_of_the_last_move_is_reported_and_no_figure_of_it_goes_into_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At rest nothing is sampled: a rate over that time would be that of the moves before."""
    nodes = ScriptedCluster()
    first, second = EndingNode(nodes, 1), EndingNode(nodes, 2)
    async with listening(first), listening(second), watching(f"127.0.0.1:{first.port}", tmp_path / "events") as watch:

        async def has_a_rate() -> bool:
            totals = (await watch.document("status"))["totals"]
            return totals["in_flight"] == len(TWO_MOVE) and totals["rate"] is not None

        await eventually(lambda: watch.watcher.answers)
        await eventually(has_a_rate)
        monkeypatch.setattr(EndingNode, "is_over", True)

        async def is_told() -> bool:
            return "moves.done" in {name for name, _ in await watch.events()}

        await eventually(is_told)
        assert watch.watcher.tracker.is_idle
        assert (await watch.document("status"))["work"]["moves"] == 0
        assert not {one.get("route") for one in (await watch.document("events"))["events"]} - {None}
        monkeypatch.setattr(EndingNode, "is_over", False)

        async def moves_again() -> Any:
            found = (await watch.document("status"))["totals"]
            return found if found["in_flight"] else None

        totals = await eventually(moves_again)
        assert not totals["rate"]
        assert totals["remaining_ms"] is None
