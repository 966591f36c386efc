"""A client waits for as long as an answer has said (KIP-219). Time is virtual; the other side notes what was sent."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any
from unittest.mock import Mock

import pytest

from kafka_reassign_rpc.protocol.frame_codec import encode_response
from kafka_reassign_rpc.protocol.messages import (
    ApiMessage,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kafka_reassign_rpc.transport.rpc_client import Muted, RpcClient
from tests.properties.model_brokers import VirtualLoop

TIMEOUT_S = 30.0


class Sent:
    """In the place of a transport: when each request went, and answers that say how long to wait."""

    def __init__(self) -> None:
        self.client = RpcClient("someone", TIMEOUT_S, max_in_flight=2)
        self.at: list[float] = []
        self.waits_ms: list[int] = []
        self.takes_s: list[float] = []
        """Until each answer, where that is not a second."""
        self.client.connection_made(self)  # type: ignore[arg-type]

    def write(self, _request: bytes) -> None:
        loop = asyncio.get_running_loop()
        number, wait_ms = len(self.at), self.waits_ms.pop(0) if self.waits_ms else 0
        self.at.append(loop.time())
        answer = DescribeClusterResponse(
            version=0, throttle_time_ms=wait_ms, error_code=0, cluster_id="c", controller_id=1, brokers=[]
        )
        frame = encode_response(answer, version=0, correlation_id=number)
        loop.call_later(self.takes_s.pop(0) if self.takes_s else 1.0, self.client.data_received, frame)

    def is_closing(self) -> bool:
        return False

    def close(self) -> None: ...

    def abort(self) -> None: ...

    def get_extra_info(self, name: str) -> Any:
        return Mock() if name == "socket" else None

    async def ask(self, *, raw: bool = False, may_send: Callable[[], bool] | None = None) -> Any:
        asked: ApiMessage = DescribeClusterRequest(version=0)
        return await self.client.call(DescribeClusterRequest, asked, 0, raw=raw, may_send=may_send)  # type: ignore[call-overload]


def run(test: Callable[[Sent], Coroutine[Any, Any, None]]) -> None:
    async def connected() -> None:
        await test(Sent())

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(connected())


@pytest.mark.parametrize("raw", [False, True])
def test_sv_2_the_next_request_goes_when_the_time_of_the_last_answer_is_over(raw: bool) -> None:
    async def test(sent: Sent) -> None:
        sent.waits_ms = [20_000, 0]
        for _ in range(3):
            await sent.ask(raw=raw)
        assert sent.at == pytest.approx([0.0, 21.0, 22.0])

    run(test)


def test_sv_2_a_request_that_has_gone_before_the_answer_gets_its_own_and_the_longer_time_counts() -> None:
    async def test(sent: Sent) -> None:
        sent.waits_ms = [20_000, 5_000]
        await asyncio.gather(sent.ask(), sent.ask())
        await sent.ask()
        assert sent.at == pytest.approx([0.0, 0.0, 21.0])

    run(test)


def test_sv_2_a_time_that_is_longer_than_the_time_for_an_answer_ends_a_call_at_once_with_that() -> None:
    async def test(sent: Sent) -> None:
        sent.waits_ms = [50_000]
        await sent.ask()
        with pytest.raises(Muted, match=r"asked for 50 s without a request \(throttle_time_ms\)"):
            await sent.ask()
        assert asyncio.get_running_loop().time() == pytest.approx(1.0)
        assert not sent.client.is_closed
        await asyncio.sleep(50.0 - TIMEOUT_S)
        await sent.ask()
        assert sent.at == pytest.approx([0.0, 51.0])

    run(test)


def test_sv_2_the_answer_to_a_call_that_was_cancelled_counts() -> None:
    async def test(sent: Sent) -> None:
        sent.waits_ms = [20_000]
        call = asyncio.ensure_future(sent.ask())
        await asyncio.sleep(0.5)
        call.cancel()
        await asyncio.sleep(1.0)
        await sent.ask()
        assert sent.at == pytest.approx([0.0, 21.0])

    run(test)


def test_sv_2_whether_a_request_may_be_sent_is_asked_after_the_wait() -> None:
    async def test(sent: Sent) -> None:
        sent.waits_ms = [20_000]
        await sent.ask()
        asked_at = []

        def may_send() -> bool:
            asked_at.append(asyncio.get_running_loop().time())
            return True

        await sent.ask(raw=True, may_send=may_send)
        assert asked_at == pytest.approx([21.0])

    run(test)


def test_sv_2_a_request_that_has_gone_before_the_answer_has_as_much_more_time_for_its_own() -> None:
    """The other side reads it when the time of the answer before it is over."""

    async def test(sent: Sent) -> None:
        sent.waits_ms, sent.takes_s = [20_000], [1.0, TIMEOUT_S + 15.0]
        await asyncio.gather(sent.ask(), sent.ask())
        assert asyncio.get_running_loop().time() == pytest.approx(TIMEOUT_S + 15.0)
        sent.waits_ms, sent.takes_s = [20_000], [1.0, TIMEOUT_S + 25.0]
        with pytest.raises(TimeoutError, match="no answer"):
            await asyncio.gather(sent.ask(), sent.ask())

    run(test)


def test_sv_2_no_time_that_is_asked_for_keeps_a_request_waiting_forever() -> None:
    async def test(sent: Sent) -> None:
        sent.waits_ms, sent.takes_s = [2**31 - 1], [1.0, 2.0**30]
        with pytest.raises(TimeoutError, match="no answer"):
            await asyncio.gather(sent.ask(), sent.ask())
        assert asyncio.get_running_loop().time() == pytest.approx(TIMEOUT_S)

    run(test)


def test_sv_2_a_longer_time_that_comes_during_the_wait_counts() -> None:
    async def test(sent: Sent) -> None:
        sent.waits_ms, sent.takes_s = [5_000, 20_000], [1.0, 3.0]
        first, second = asyncio.ensure_future(sent.ask()), asyncio.ensure_future(sent.ask())
        await first
        await asyncio.gather(second, sent.ask())
        assert sent.at == pytest.approx([0.0, 0.0, 23.0])

    run(test)


def test_sv_2_a_close_ends_the_wait() -> None:
    async def test(sent: Sent) -> None:
        sent.waits_ms = [20_000]
        await sent.ask()
        call = asyncio.ensure_future(sent.ask())
        await asyncio.sleep(1.0)
        sent.client.close()
        with pytest.raises(EOFError):
            await call
        assert asyncio.get_running_loop().time() == pytest.approx(2.0)

    run(test)


def test_sv_2_a_login_is_repeated_when_the_time_is_over() -> None:
    async def test(sent: Sent) -> None:
        at = []

        async def login() -> None:
            at.append(asyncio.get_running_loop().time())

        sent.waits_ms = [20_000]
        await sent.ask()
        sent.client.repeat_login(0.0, login)
        await sent.ask()
        assert at == pytest.approx([21.0])

    run(test)


def test_sv_2_a_negative_time_is_none() -> None:
    async def test(sent: Sent) -> None:
        sent.waits_ms = [-(2**31)]
        await sent.ask()
        await sent.ask()
        assert sent.at == pytest.approx([0.0, 1.0])

    run(test)
