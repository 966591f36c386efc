"""What counts as a finding, and what does not."""

import pytest

from kafka_reassign_rpc.protocol.messages import CreateTopicsResponse, InitProducerIdResponse
from tests.fuzz.verdict import Finding, in_answer, in_log, in_memory, in_waits

FINE = "2026-01-01 00:00:00,000 ERROR   x: left out: /brokers/topics/t: no version"


@pytest.mark.parametrize(
    "line",
    [
        "Traceback (most recent call last):",
        "ERROR asyncio: Task exception was never retrieved",
        "ERROR x: a defect ended this server's term; it takes part in the election again",
        "ERROR x: cannot answer API 19 version 4",
        "ERROR x: the page /metrics cannot be made",
    ],
)
def test_a_defect_in_the_log_is_a_finding_with_the_lines_around_it(line: str) -> None:
    (found,) = in_log([FINE, FINE, line, "the cause"])
    assert found.kind == "log"
    assert found.text == f"{FINE}\n{line}\nthe cause"


def test_a_lost_session_is_a_finding_and_other_lines_are_none() -> None:
    lines = ["WARNING x: ZooKeeper session 0x1 is over: expired", "INFO x: the controllership ends with the session"]
    assert [found.kind for found in in_log([FINE, *lines])] == ["session"]
    assert list(in_log([FINE])) == []


def test_unknown_server_error_is_a_finding_anywhere_in_an_answer_but_for_an_unreadable_topic() -> None:
    def created(code: int, message: str | None) -> CreateTopicsResponse:
        one = CreateTopicsResponse.CreatableTopicResult(version=5, name="t", error_code=code, error_message=message)
        return CreateTopicsResponse(version=5, throttle_time_ms=0, topics=[one])

    assert list(in_answer(created(0, None), "case")) == []
    assert list(in_answer(created(-1, "/brokers/topics/t: no version"), "case")) == []
    (found,) = in_answer(created(-1, "a defect"), "case 7")
    assert (found.kind, found.about) == ("answer", "UNKNOWN_SERVER_ERROR in CreateTopicsResponse")
    assert "case 7" in found.text
    failed = InitProducerIdResponse(version=0, throttle_time_ms=0, error_code=-1, producer_id=-1, producer_epoch=-1)
    assert list(in_answer(failed, "case"))


def test_waits_and_memory_have_limits() -> None:
    assert list(in_waits({"request": 9.0}, None)) == []
    assert [found.kind for found in in_waits({"request": 0.5, "ready": 2.0}, 1.0)] == ["wait"]
    assert list(in_memory(100, 100)) == []
    assert list(in_memory(101, 100)) == [Finding("memory", "0 MiB of resident memory, the limit is 0 MiB")]
