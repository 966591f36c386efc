"""kr-1: answers that no sound broker gives: watch says one line about them, goes on, and shows what it still knows."""

import json
from pathlib import Path

import pytest

from kafka_reassign_rpc.client import client_configs
from kafka_reassign_rpc.client.polling_pace import Ask
from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.protocol.messages import (
    ApiVersionsResponse,
    DescribeConfigsResponse,
    DescribeLogDirsResponse,
    ListPartitionReassignmentsResponse,
    MetadataResponse,
)
from kafka_reassign_rpc.security.tls.tls_config import TlsConfig
from tests.certificates import Authority
from tests.http_client import get
from tests.python_client.scripted_nodes import API_VERSIONS, LIST, METADATA, Reply, ScriptedCluster, listening
from tests.reassign_command.run_command import Command
from tests.waiting import eventually
from tests.watch.moving_nodes import LOG_DIRS, QUORUM, TOPIC, TWO_MOVE, MovingNode, moving_nodes
from tests.watch.watching import watching

CONFIGS = 32


def cut(answer: bytes) -> bytes:
    """The frame's length is right, and its end is missing."""
    body = answer[4:-6]
    return len(body).to_bytes(4, "big") + body


def lies_of_its_length(answer: bytes) -> bytes:
    return (2**31 - 1).to_bytes(4, "big") + answer[4:]


def late(_: bytes) -> bytes:
    """Later than any caller waits."""
    return b""


@pytest.mark.parametrize(
    "reply", [cut, lies_of_its_length, late, lambda _: None], ids=["cut", "endless", "late", "closed"]
)
@pytest.mark.parametrize("key", [LIST, METADATA], ids=["list", "metadata"])
async def test_kr_1_a_broken_answer_is_said_and_the_next_sound_one_is_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, reply: Reply, key: int
) -> None:
    async with (
        moving_nodes() as (good, other),
        watching(f"127.0.0.1:{good.port}", tmp_path / "events", request_timeout_ms=300) as watch,
    ):
        await eventually(lambda: watch.watcher.answers)
        for node in (good, other):
            node.replies[key] = reply
        await eventually(lambda: not watch.watcher.answers)
        for node in (good, other):
            del node.replies[key]
        await eventually(lambda: watch.watcher.answers)
        assert len(await watch.moves()) == len(TWO_MOVE)
    assert "Traceback" not in caplog.text
    assert "a defect" not in caplog.text


class TellingNode(MovingNode):
    """In KRaft mode. Its answer about configs has nothing of what was asked."""

    quorum_leader = 1

    def _answer(self, key: int, version: int) -> object:
        if key == CONFIGS:
            return DescribeConfigsResponse(version=version, throttle_time_ms=0, results=[])
        answer = super()._answer(key, version)
        if key == API_VERSIONS:
            answer.api_keys = [*answer.api_keys, (CONFIGS, 0, 4)]
        return answer


@pytest.mark.parametrize(
    "reply", [cut, lies_of_its_length, late, lambda _: None], ids=["cut", "endless", "late", "closed"]
)
@pytest.mark.parametrize("key", [LOG_DIRS, QUORUM, CONFIGS], ids=["sizes", "quorum", "configs"])
async def test_kr_1_a_broken_answer_about_something_else_leaves_the_moves_shown_and_a_sound_one_is_taken_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, reply: Reply, key: int
) -> None:
    monkeypatch.setattr("kafka_reassign_rpc.client.broker_questions.LONGEST_PAUSE_S", 1.0)
    monkeypatch.setattr("kafka_reassign_rpc.client.polling_pace.PAUSES_S", dict.fromkeys(Ask, (0.2, 0.2)))
    nodes = ScriptedCluster()
    first, second = TellingNode(nodes, 1), TellingNode(nodes, 2)
    async with (
        listening(first),
        listening(second),
        watching(f"127.0.0.1:{first.port}", tmp_path / "events", request_timeout_ms=300) as watch,
    ):

        async def sizes_are_known() -> bool:
            return {one["bytes_total"] for one in (await watch.moves()).values()} == {1_000}

        async def unseen() -> list[str]:
            return [one["text"] for one in (await watch.document("status"))["problems"] if one["kind"] == "unseen"]

        await eventually(sizes_are_known)
        for node in (first, second):
            node.replies[key] = reply
            node.asked.clear()
        await eventually(lambda: first.asked.count(key) + second.asked.count(key) >= 3)
        if key == LOG_DIRS:
            await eventually(lambda: any("sizes are not known" in one.getMessage() for one in caplog.records))
        assert watch.watcher.answers
        assert len(await watch.moves()) == len(TWO_MOVE)
        for node in (first, second):
            del node.replies[key]
        await eventually(sizes_are_known)

        async def is_silent_no_more() -> bool:
            return not any("no answer" in text for text in await unseen())

        await eventually(is_silent_no_more)
        assert not any(one["throttles_known"] for one in (await watch.document("brokers"))["brokers"])
    assert "Traceback" not in caplog.text
    assert "a defect" not in caplog.text


class OddNode(MovingNode):
    """`odd`: what is wrong with its list."""

    odd = ""

    def _answer(self, key: int, version: int) -> object:
        if key == API_VERSIONS and self.odd == "newer":
            return ApiVersionsResponse(version=version, error_code=0, api_keys=[(LIST, 7, 9), (METADATA, 90, 99)])
        answer = super()._answer(key, version)
        if key == LIST and isinstance(answer, ListPartitionReassignmentsResponse):
            if self.odd == "twice":
                answer.topics = [*answer.topics, *answer.topics]
            if self.odd == "negative":
                answer.topics[0].partitions[0].partition_index = -7
                answer.topics[0].partitions[0].replicas = [-1, -1]
            if self.odd == "refused":
                answer.error_code, answer.topics = ClusterAuthorizationFailed.code, []
        if key == LOG_DIRS and self.odd == "sizes" and isinstance(answer, DescribeLogDirsResponse):
            answer.results[0].topics[0].partitions[0].partition_size = -5
            other = answer.results[0].topics[0].partitions[1]
            answer.results = [*answer.results, *super()._answer(key, version).results]
            other.partition_size += 1
        if key == METADATA and self.odd == "same" and isinstance(answer, MetadataResponse):
            answer.brokers = [*answer.brokers, *answer.brokers]
            answer.topics = [*answer.topics, *answer.topics]
            answer.topics[0].partitions = [*answer.topics[0].partitions, *answer.topics[0].partitions]
            answer.topics[0].partitions[0].replica_nodes = [2, 2, 1, -5]
            answer.topics[0].partitions[0].isr_nodes = [1, 1, -5]
        if key == METADATA and self.odd == "null" and isinstance(answer, MetadataResponse) and version >= 12:
            answer.topics[0].name = None
        return answer


@pytest.mark.parametrize(
    ("odd", "shown"), [("twice", len(TWO_MOVE)), ("negative", None), ("null", len(TWO_MOVE)), ("same", len(TWO_MOVE))]
)
async def test_kr_1_ids_that_come_twice_or_make_no_sense_do_not_end_the_look(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, odd: str, shown: int | None
) -> None:
    node = OddNode(ScriptedCluster(), 1)
    node.odd = odd
    node.cluster.members[2] = 1
    async with listening(node), watching(f"127.0.0.1:{node.port}", tmp_path / "events") as watch:
        await eventually(lambda: watch.watcher.answers)
        moves = await watch.moves()
        assert f"{TOPIC}-1" in moves
        assert shown is None or len(moves) == shown
    assert "a defect" not in caplog.text


async def test_kr_1_sizes_below_0_and_two_sizes_of_one_replica_are_said_and_count_as_unknown(tmp_path: Path) -> None:
    node = OddNode(ScriptedCluster(), 1)
    node.odd = "sizes"
    async with listening(node), watching(f"127.0.0.1:{node.port}", tmp_path / "events") as watch:

        async def is_said() -> bool:
            return "Broker 1: sizes below 0 were reported, and count as unknown" in await watch.problems()

        await eventually(is_said)
        moves = await watch.moves()
        assert len(moves) == len(TWO_MOVE)
        assert {(one["bytes_total"], one["rate"], one["remaining_ms"]) for one in moves.values()} == {
            (None, None, None)
        }


async def test_kr_1_a_certificate_that_is_not_trusted_is_named_and_watch_goes_on(tmp_path: Path) -> None:
    ca, strange = Authority("CN=ca"), Authority("CN=other").pem_truststore(tmp_path / "other.pem")
    trust = ca.pem_truststore(tmp_path / "ca.pem")
    context = (
        TlsConfig.of({**ca.issue("CN=broker").pem_keystore(tmp_path / "server.pem"), **trust}).load_server().context
    )
    node = MovingNode(ScriptedCluster(), 1)
    async with listening(node, context):
        place = f"127.0.0.1:{node.port}"
        configs = client_configs(place, {"security.protocol": "SSL", **strange})
        async with watching(place, tmp_path / "events", **{**configs, "bootstrap_timeout_ms": 500}) as watch:

            async def is_said() -> bool:
                problems = await watch.problems()
                return any(
                    text.startswith(f"the cluster cannot be seen: {place}: its certificate") for text in problems
                )

            await eventually(is_said)


async def test_kr_1_a_node_of_unknown_versions_is_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    node = OddNode(ScriptedCluster(), 1)
    node.odd = "newer"
    async with (
        listening(node),
        watching(f"127.0.0.1:{node.port}", tmp_path / "events", bootstrap_timeout_ms=300) as watch,
    ):

        async def is_said() -> bool:
            return any("does not support" in text for text in await watch.problems())

        await eventually(is_said)
    assert "a defect" not in caplog.text


async def test_kr_1_a_principal_without_any_right_learns_which_it_needs(tmp_path: Path) -> None:
    node = OddNode(ScriptedCluster(), 1)
    node.odd = "refused"
    async with listening(node), watching(f"127.0.0.1:{node.port}", tmp_path / "events") as watch:

        async def is_said() -> bool:
            needs = "this principal needs the operation DESCRIBE on the cluster"
            return any(needs in text for text in await watch.problems())

        await eventually(is_said)
        answer = json.loads((await get(watch.served.address, "/api/v1/moves")).body)
        assert answer["error"] == (await watch.document("status"))["reason"], "and no word of a controller"
        told = await Command(f"127.0.0.1:{node.port}")("status")
        (said,) = [line for line in (told.out + told.err).splitlines() if "Exception" in line]
        assert said.endswith("Exception: to see moves this principal needs the operation DESCRIBE on the cluster")
