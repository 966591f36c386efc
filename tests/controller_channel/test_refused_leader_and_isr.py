"""A broker that refuses a whole LeaderAndIsr: the controller raises the leader epochs of what was in it."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_reassign_rpc.controller_channel import broker_channel as channel_module
from kafka_reassign_rpc.controller_channel.pending_requests import LeaderAndIsr, PendingRequests
from kafka_reassign_rpc.protocol.messages import RESPONSES, LeaderAndIsrRequest, LeaderAndIsrResponse
from tests.controller_channel.scripted_broker import (
    NOT_LEADER_OR_FOLLOWER,
    STALE_BROKER_EPOCH,
    STALE_CONTROLLER_EPOCH,
    UNKNOWN_SERVER_ERROR,
    connected,
    note_waits,
)
from tests.waiting import eventually


def refusing(code: int) -> Callable[[Any], Any]:
    refusal = LeaderAndIsrResponse(version=7, error_code=code)
    return lambda body: refusal if isinstance(body, LeaderAndIsrRequest) else RESPONSES[body.API_KEY]


async def test_sv_4_a_refused_complete_request_concerns_all_replicas_of_the_broker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channel_module, "FIRST_REFUSAL_S", 0.01)
    async with connected(up_to_date=False) as (broker, channel, reports, _):
        broker.answer = refusing(NOT_LEADER_OR_FOLLOWER)
        channel.wake()
        await eventually(lambda: reports.refused)
        assert reports.refused == [None]
        assert channel.pending.lists_all_replicas


async def test_sv_4_refused_requests_are_reported_together_after_a_pause_and_what_was_new_stays_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channel_module, "FIRST_REFUSAL_S", 0.2)
    async with connected() as (broker, channel, reports, _):
        broker.answer = refusing(UNKNOWN_SERVER_ERROR)
        channel.pending.leader_and_isr("t", 0, is_new=True)
        channel.wake()
        await eventually(lambda: len(broker.received) == 1)
        channel.pending.leader_and_isr("t", 1, is_new=False)
        channel.wake()
        await eventually(lambda: reports.refused)
        assert reports.refused == [{"t": {0, 1}}]

        broker.answer = lambda body: RESPONSES[body.API_KEY]
        broker.received.clear()
        for index in range(2):
            channel.pending.leader_and_isr("t", index, is_new=False)
        channel.wake()
        await eventually(lambda: broker.received)
        states = broker.received[0].topic_states[0].partition_states
        assert {one.partition_index: one.is_new for one in states} == {0: True, 1: False}


@pytest.mark.parametrize("code", [STALE_CONTROLLER_EPOCH, STALE_BROKER_EPOCH])
async def test_sv_4_a_broker_that_knows_a_newer_controller_or_has_registered_anew_is_in_no_unknown_state(
    code: int,
) -> None:
    async with connected() as (broker, channel, reports, _found):
        broker.answer = refusing(code)
        before = reports.obeyed
        channel.pending.leader_and_isr("t", 0, is_new=False)
        channel.wake()
        await eventually(lambda: broker.received and channel._sending is None)
        assert channel._restart._timer is None
        assert reports.newer_controllers == (code == STALE_CONTROLLER_EPOCH)
        assert reports.obeyed == before, "a broker looks at its own epoch before it looks at the controller's"


async def test_sv_4_a_broker_that_always_refuses_has_leader_epochs_raised_less_and_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with connected() as (broker, channel, reports, _):
        waits = note_waits(monkeypatch, channel._restart._run, short=12)
        broker.answer = refusing(UNKNOWN_SERVER_ERROR)

        async def refuse(times: int) -> None:
            channel.pending.leader_and_isr("t", 0, is_new=False)
            channel.wake()
            await eventually(lambda: len(waits) == times and (times == 13 or len(reports.refused) == times))

        for times in range(1, 14):
            await refuse(times)
        assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600]
        assert channel._restart._timer is not None
        await channel.close()
        assert channel._restart._timer is None


def test_sv_4_what_was_new_in_a_refused_request_goes_only_once_the_controller_has_raised_its_leader_epoch() -> None:
    pending = PendingRequests()
    while pending.take() is not None:
        pass
    for index in range(2):
        pending.leader_and_isr("t", index, is_new=index == 0)
    refused = pending.take()
    assert refused == LeaderAndIsr({"t": {0: True, 1: False}})
    pending.refused(refused)
    assert not pending
    pending.leader_and_isr("t", 0, is_new=False)
    assert pending.take() == LeaderAndIsr({"t": {0: True}})
    assert not pending
