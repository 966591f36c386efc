"""kr-1: answers that no sound broker gives: watch says one line about them, goes on, and shows what it still knows."""

from pathlib import Path

import pytest

from kafka_reassign_rpc.core.kafka_errors import ClusterAuthorizationFailed
from kafka_reassign_rpc.protocol.messages import (
    ApiVersionsResponse,
    ListPartitionReassignmentsResponse,
    MetadataResponse,
)
from tests.python_client.scripted_nodes import API_VERSIONS, LIST, METADATA, Reply, ScriptedCluster, listening
from tests.waiting import eventually
from tests.watch.moving_nodes import TOPIC, TWO_MOVE, MovingNode, moving_nodes
from tests.watch.watching import watching


def cut(answer: bytes) -> bytes:
    """The frame's length is right, and its end is missing."""
    body = answer[4:-6]
    return len(body).to_bytes(4, "big") + body


def lies_of_its_length(answer: bytes) -> bytes:
    return (2**31 - 1).to_bytes(4, "big") + answer[4:]


@pytest.mark.parametrize("reply", [cut, lies_of_its_length, lambda _: None], ids=["cut", "endless", "closed"])
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
        if key == METADATA and self.odd == "null" and isinstance(answer, MetadataResponse) and version >= 12:
            answer.topics[0].name = None
        return answer


@pytest.mark.parametrize(("odd", "shown"), [("twice", len(TWO_MOVE)), ("negative", None), ("null", len(TWO_MOVE))])
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


async def test_kr_1_a_principal_without_any_right_is_told_which_it_needs(tmp_path: Path) -> None:
    node = OddNode(ScriptedCluster(), 1)
    node.odd = "refused"
    async with listening(node), watching(f"127.0.0.1:{node.port}", tmp_path / "events") as watch:

        async def is_said() -> bool:
            needs = "this principal needs the operation DESCRIBE on the cluster"
            return any(needs in text for text in await watch.problems())

        await eventually(is_said)
