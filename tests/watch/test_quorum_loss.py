"""kr-3: while no controller of a KRaft cluster is active, that is said, and the brokers that answer are not accused."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.client import AsyncReassignmentClient
from kafka_reassign_rpc.client.client_errors import NoActiveController
from kafka_reassign_rpc.core.state.broker import LostQuorum
from kafka_reassign_rpc.support.human_units import utc_time
from kafka_reassign_rpc.support.wall_clock import now_ms
from kafka_reassign_rpc.watch.seen_cluster import dated
from tests.http_client import get
from tests.python_client.scripted_nodes import ALTER, LIST, METADATA, ScriptedCluster, listening
from tests.reassign_command.run_command import Command
from tests.stock.jars import require
from tests.stock.kraft import VERSION, kraft_cluster
from tests.tables import for_each
from tests.waiting import eventually
from tests.watch.kraft_world import BROKERS
from tests.watch.moving_nodes import QUORUM, TWO_MOVE, MovingNode
from tests.watch.watching import Watch, watching

FORWARDED = (LIST, QUORUM, ALTER)
"""What a broker passes on, and keeps while nobody takes it."""
FIRST, SECOND, THIRD = 1_764_194_400_000, 1_764_194_500_000, 1_764_194_600_000


class Voter(MovingNode):
    """One of two brokers that are the voters as well."""

    quorum_leader = 2


def loses_the_quorum(*nodes: MovingNode) -> None:
    for node in nodes:
        node.replies.update(dict.fromkeys(FORWARDED, lambda _: b""))


@asynccontextmanager
async def voters() -> AsyncIterator[tuple[Voter, Voter, Any]]:
    """The third one ends the second."""
    cluster = ScriptedCluster()
    first, second = Voter(cluster, 1), Voter(cluster, 2)
    async with listening(first):
        life = listening(second)
        await life.__aenter__()
        is_over = False

        async def end() -> None:
            nonlocal is_over
            if not is_over:
                is_over = True
                await life.__aexit__(None, None, None)

        try:
            yield first, second, end
        finally:
            await end()


async def problem(watch: Watch) -> Any:
    found = (await watch.document("status"))["problems"]
    return next((one for one in found if one["kind"] == "no_controller"), None)


async def test_kr_3_a_lost_quorum_is_said_with_its_dead_nodes_for_as_long_as_it_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("kafka_reassign_rpc.client.node_questions.ANSWER_S", 0.5)
    monkeypatch.setattr("kafka_reassign_rpc.watch.watcher.STALE_S", 1.0)
    monkeypatch.setattr("kafka_reassign_rpc.watch.watcher.LONGEST_WAIT_S", 0.5)
    caplog.set_level("INFO")
    patience: dict[str, Any] = {"request_timeout_ms": 500, "bootstrap_timeout_ms": 500}
    async with (
        voters() as (first, second, end),
        watching(f"127.0.0.1:{second.port}", tmp_path / "events", **patience) as watch,
    ):

        async def is_seen() -> bool:
            return len(await watch.moves()) == len(TWO_MOVE)

        await eventually(is_seen)
        began = now_ms()
        loses_the_quorum(first)
        await end()

        async def is_said() -> Any:
            found = await problem(watch)
            return found if found and "No controller is active" in found["text"] else None

        one = await eventually(is_said)
        assert began - 10_000 < one["since"] <= now_ms()
        since = f"since {utc_time(one['since'])} UTC"
        told = f"broker 1 answers, and gets no answer from the quorum; dead: 2 {since}"
        assert one["text"].startswith(f"No controller is active {since}: {told}")
        assert f"127.0.0.1:{first.port}" not in one["text"], "it is not to blame"
        tries = watch.watcher._failures
        while watch.watcher._failures < tries + 5:  # more than make the client begin again with the given addresses
            assert await problem(watch) == one
            await asyncio.sleep(0.05)
        said = [text.getMessage() for text in caplog.records if text.levelname == "WARNING"]
        then = "the cluster is asked again and again, and its moves are not shown until it answers"
        assert [text for text in said if "controller" in text or then in text] == [f"{one['text']}; {then}"]
        assert not any(f"127.0.0.1:{first.port}" in text for text in said)
        ready = await get(watch.served.address, "/ready")
        assert b"No controller is active" in ready.body
        first.replies.clear()

        async def is_over() -> bool:
            return await problem(watch) is None and bool(await watch.moves())

        await eventually(is_over, within=30)


async def test_kr_3_commands_name_a_lost_quorum_and_its_dead_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka_reassign_rpc.client.node_questions.ANSWER_S", 0.5)
    why = "No controller is active: broker 1 answers, and gets no answer from the quorum; dead: 2."
    async with voters() as (first, _, end):
        loses_the_quorum(first)
        await end()
        async with AsyncReassignmentClient(
            bootstrap_servers=f"127.0.0.1:{first.port}", request_timeout_ms=500
        ) as client:
            with pytest.raises(NoActiveController) as found:
                await client.list_partition_reassignments()
            assert found.value.message == why
            with pytest.raises(NoActiveController) as found:
                await client.describe_quorum(1)
            assert (found.value.found.answering, found.value.found.dead) == ([1], {2: None})
            with pytest.raises(NoActiveController) as found:
                await client.alter_partition_reassignments({("t", 0): [1]})
            assert found.value.message == f"{why} It is not known whether the request had its effect."
        config = tmp_path / "client.properties"
        config.write_text("default.api.timeout.ms=500\nrequest.timeout.ms=500\n")
        output = await Command(f"127.0.0.1:{first.port}")("status", "--command-config", str(config))
        assert (output.code, output.out) == (1, f"Error: org.apache.kafka.common.errors.TimeoutException: {why}\n")


async def test_kr_3_a_broker_that_alone_gets_no_answer_from_its_controller_is_not_a_lost_quorum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is cut off from the controllers, or hangs; another one passes on what it is asked."""
    monkeypatch.setattr("kafka_reassign_rpc.client.node_questions.ANSWER_S", 0.5)
    async with voters() as (first, second, _):
        first.replies.update(dict.fromkeys(FORWARDED, lambda _: b""))
        second.replies[LIST] = lambda _: b""
        async with AsyncReassignmentClient(
            bootstrap_servers=f"127.0.0.1:{first.port}", request_timeout_ms=500
        ) as client:
            with pytest.raises(Exception, match="no answer within") as found:
                await client.list_partition_reassignments()
            assert not isinstance(found.value, NoActiveController)
    assert METADATA in first.asked


@for_each(
    ("before", "lost", "expected", "since"),
    [
        (None, {}, {2: SECOND}, SECOND),  # it died when the controller was heard last
        (None, {2: FIRST, 3: FIRST}, {2: FIRST, 3: FIRST}, SECOND),  # the controller had found them dead
        (None, {1: FIRST}, {2: SECOND}, SECOND),  # it answers again
        (None, None, {2: None}, None),  # it was so before the first look
        ({2: FIRST}, {}, {2: FIRST}, SECOND),
        ({3: FIRST}, {}, {2: THIRD}, SECOND),  # 3 is back, 2 has died since the look before
        ({}, None, {2: THIRD}, None),
    ],
)
def test_kr_3_nodes_are_dead_since_they_were_first_missed(before: Any, lost: Any, expected: Any, since: int) -> None:
    former = None if before is None else LostQuorum([1], before)
    found = dated(LostQuorum([1], {2: None}), former, lost, [1, 2, 3], SECOND, THIRD)
    assert (found.dead, found.since, found.voters) == (expected, since, [1, 2, 3])


@for_each(
    ("found", "text"),
    [
        (
            LostQuorum([1], {2: FIRST, 3: None}, FIRST, [1, 2, 3]),
            "No controller is active since 2025-11-26 22:00:00 UTC: broker 1 answers, and gets no answer from the"
            " quorum; dead: 2 since 2025-11-26 22:00:00 UTC, 3. Most of the voters have to run: 1, 2, 3",
        ),
        (
            LostQuorum([1, 2], {}, None, [101]),
            "No controller is active: brokers 1, 2 answer, and get no answer from the quorum; no broker is dead, so"
            " look at the controllers. Most of the voters have to run: 101",
        ),
    ],
)
def test_kr_3_a_lost_quorum_is_one_sentence(found: LostQuorum, text: str) -> None:
    assert found.text == text


@pytest.mark.stock
@pytest.mark.gate
async def test_kr_3_a_stock_quorum_that_is_lost_and_comes_back_is_shown_as_it_is(tmp_path: Path) -> None:
    require(VERSION)
    nodes = kraft_cluster(tmp_path, BROKERS, controllers=BROKERS, version=VERSION)
    living, *dead = nodes
    bootstrap = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    try:
        await asyncio.gather(*(node.start() for node in nodes))
        async with watching(bootstrap, tmp_path / "events") as watch:
            await eventually(lambda: watch.watcher.answers)
            await asyncio.gather(*(node.kill() for node in dead))

            async def is_said() -> Any:
                found = await problem(watch)
                return found if found and "No controller is active" in found["text"] else None

            one = await eventually(is_said)
            since = f"since {utc_time(one['since'])} UTC"
            assert one["text"] == (
                f"No controller is active {since}: broker 1 answers, and gets no answer from the quorum; dead:"
                f" 2 {since}, 3 {since}. Most of the voters have to run: 1, 2, 3"
            )
            tries = watch.watcher._failures
            await eventually(lambda: watch.watcher._failures >= tries + 4, within=60)
            assert await problem(watch) == one
            config = tmp_path / "client.properties"
            config.write_text("default.api.timeout.ms=3000\nrequest.timeout.ms=3000\n")
            output = await Command(f"127.0.0.1:{living.port}")("status", "--command-config", str(config))
            assert output.code == 1
            assert (
                "No controller is active: broker 1 answers, and gets no answer from the quorum; dead: 2, 3."
                in output.out
            )
            await asyncio.gather(*(node.start() for node in dead))

            async def is_over() -> bool:
                return await problem(watch) is None and watch.watcher.answers

            await eventually(is_over, within=120)
    finally:
        await asyncio.gather(*(node.kill() for node in nodes))
