"""kr-5: a leader of the topic that was replaced, and does not know it, neither loses the log nor holds it up."""

import asyncio
from typing import Any

import pytest

from kafka_reassign_rpc.client.client_errors import Unreachable
from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.node_connections import SLOW_S
from kafka_reassign_rpc.kraft.state_log import leader_calls
from kafka_reassign_rpc.kraft.state_log.leader_calls import LOOKS, NOT_READ, Fetch, LeaderCalls, fetch, read_to_end
from kafka_reassign_rpc.kraft.state_log.log_errors import Fenced, LogLost, LogRefused, LogUnavailable
from kafka_reassign_rpc.kraft.state_log.log_format import Kind
from kafka_reassign_rpc.kraft.state_log.log_reading import TermReading
from kafka_reassign_rpc.kraft.state_log.log_writer import LogWriter
from kafka_reassign_rpc.kraft.state_log.state_log import StateLog
from kafka_reassign_rpc.protocol.versions import ApiKey
from kafka_reassign_rpc.support.tasks import end
from tests.kraft.state_log.scripted_brokers import TOPIC, LogBroker, LogBrokers
from tests.tables import for_each
from tests.waiting import eventually

CLAIM = b'{"server":"a","previous":-1}'
FORMER, LEADER = (1, 5), (2, 6)
PRODUCER_FENCED, TOPIC_AUTHORIZATION_FAILED = 90, 29
NOT_ENOUGH_REPLICAS, REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND = 19, 7, 20


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader_calls, "LOOK_AGAIN_S", 0.01)


def filled(broker: LogBroker, end: int) -> None:
    for number in range(broker.end, end):
        broker.write(Kind.COMMIT if number else Kind.CLAIM, b"1" if number else CLAIM, number)


def reading_at(position: int, leader_epoch: int) -> TermReading:
    reading = TermReading(position)
    reading.leader_epoch = leader_epoch
    return reading


async def fetched(calls: LeaderCalls, at: TermReading) -> Fetch:
    """As its callers do: again after an error that passes."""
    async with asyncio.timeout(20):
        while True:
            try:
                return await fetch(calls, at, 0)
            except LogUnavailable:
                calls.look_again()
                await asyncio.sleep(0.01)


async def test_kr_5_records_that_a_former_leader_does_not_have_are_not_lost() -> None:
    async with LogBrokers([FORMER, LEADER]) as brokers:
        former, leader = brokers.nodes
        filled(former, 3)
        filled(leader, 6)
        for leader_epoch in (6, -1):  # -1: own records, of which the epoch is not known
            calls = await brokers.calls()
            await fetched(calls, reading_at(5, 6))
            calls.look_again()
            assert (await fetched(calls, reading_at(6, leader_epoch))).end == 6
        assert ApiKey.FETCH not in former.asked, "its epoch is older than that of a record that was read"


async def test_kr_5_what_keeps_a_server_from_leading_for_now_is_known_until_it_is_over() -> None:
    async with LogBrokers([(1, 5)]) as brokers:
        (broker,) = brokers.nodes
        filled(broker, 1)
        calls = await brokers.calls()
        writer = LogWriter(calls, 1 << 20, "a", await read_to_end(calls, None))
        for act, why in (
            (writer.claim, "COORDINATOR_NOT_AVAILABLE (15)"),
            (lambda: writer.write(Kind.HEARTBEAT, [b""]), "NOT_ENOUGH_REPLICAS (19)"),
        ):
            broker.produce_error = NOT_ENOUGH_REPLICAS
            acting = asyncio.ensure_future(act())
            await eventually(lambda: calls.in_the_way != "")
            assert calls.in_the_way == f"the state log takes no record for now: {why}"
            broker.produce_error = 0
            await acting
            assert calls.in_the_way == ""
    calls.not_now(NOT_READ, Unreachable("host:9092: refused"))
    assert calls.in_the_way == "the state log cannot be read for now: UNREACHABLE", "all may see it"
    claiming = asyncio.ensure_future(writer.claim())  # no broker is there any more
    await eventually(lambda: "takes no record" in calls.in_the_way)
    assert calls.in_the_way == "the state log takes no record for now: UNREACHABLE"
    await end(claiming)


async def test_kr_5_what_was_in_the_way_of_a_server_is_over_with_its_term() -> None:
    async with LogBrokers([(1, 5)]) as brokers:
        (broker,) = brokers.nodes
        log = log_of(brokers)
        await log.open(to_read=True)
        for error, raised in ((PRODUCER_FENCED, Fenced), (TOPIC_AUTHORIZATION_FAILED, LogRefused)):
            await log.claim()
            broker.produce_error = NOT_ENOUGH_REPLICAS
            committing = asyncio.ensure_future(log.commit([b"1"]))
            await eventually(lambda: "NOT_ENOUGH_REPLICAS" in log.in_the_way)
            broker.produce_error = error
            with pytest.raises(raised):
                await committing
            assert log.in_the_way == "", "another server leads: nothing is in its way"
            broker.produce_error = 0
        await log.close()


async def test_kr_5_a_follower_that_lags_is_not_taken_for_the_leader() -> None:
    """It was the leader before, and has heard of neither election: others name it, by the last one."""
    async with LogBrokers([(2, 7), (2, 5)]) as brokers:
        there, lags = brokers.nodes
        filled(lags, 3)
        calls = await brokers.calls()
        at = reading_at(6, 5)
        with pytest.raises(LogUnavailable):
            await fetch(calls, at, 0)
        filled(lags, 6)
        lags.epoch = there.epoch
        assert (await fetched(calls, at)).end == 6


async def test_kr_5_the_log_is_lost_only_after_several_looks_at_a_leader_that_knows_what_is_durable() -> None:
    async with LogBrokers([(1, 5)]) as brokers:
        (leader,) = brokers.nodes
        filled(leader, 3)
        calls = await brokers.calls()
        leader.unsettled = 4
        with pytest.raises(LogUnavailable, match=r"OFFSET_NOT_AVAILABLE \(78\)"):
            await fetch(calls, reading_at(6, 5), 0)
        leader.asked.clear()
        leader.unsettled = 0
        with pytest.raises(LogLost, match="does not have the records before offset 6"):
            await fetch(calls, reading_at(6, 5), 0)
        assert leader.asked.count(ApiKey.METADATA) >= LOOKS
        leader.asked.clear()
        waiting = asyncio.create_task(fetch(calls, reading_at(6, 5), 0))
        while ApiKey.FETCH not in leader.asked:
            await asyncio.sleep(0)
        filled(leader, 6)
        assert (await waiting).end == 6


async def test_kr_5_the_next_epoch_of_the_same_leader_is_no_trouble() -> None:
    async with LogBrokers([(1, 5)]) as brokers:
        (leader,) = brokers.nodes
        filled(leader, 3)
        calls = await brokers.calls()
        for leader.epoch in (6, 7):
            assert (await fetch(calls, reading_at(3, -1), 0)).end == 3


async def test_kr_5_a_broker_that_hangs_does_not_hold_a_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader_calls, "OTHER_MS", 10)
    async with LogBrokers([(1, 5), (1, 5)]) as brokers, asyncio.timeout(SLOW_S):
        brokers.nodes[1].replies[ApiKey.METADATA] = lambda _: b""
        while ApiKey.METADATA not in brokers.nodes[1].asked:  # on a busy machine it is given up before
            calls = await brokers.calls()
            calls._former = 1
            assert (await calls.leader()).node == 1


@for_each("error", [NOT_ENOUGH_REPLICAS, REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND])
def test_kr_5_a_leader_that_is_cut_off_from_the_others_does_not_keep_the_claim(error: int) -> None:
    asyncio.run(_claimed(error))


async def _claimed(error: int) -> None:
    """Each broker names itself, as leader and as coordinator."""
    async with LogBrokers([FORMER, LEADER]) as brokers, asyncio.timeout(20):
        former, leader = brokers.nodes
        former.produce_error = error
        writer = LogWriter(await brokers.calls(), 10_000, "a", TermReading())
        term = await writer.claim()
        assert term is not None
        assert (former.end, leader.end) == (0, 1)
        assert await writer.write(Kind.COMMIT, [b"1"]) == 1


def log_of(brokers: LogBrokers, **more: Any) -> StateLog:
    return StateLog(client_settings({"bootstrap_servers": brokers.bootstrap}), topic=TOPIC, **{"lead_s": 0.2, **more})


async def test_kr_5_who_reads_at_a_former_leader_finds_the_one_of_now() -> None:
    async with LogBrokers([FORMER, FORMER]) as brokers:
        former, leader = brokers.nodes
        filled(former, 3)
        filled(leader, 3)
        log = log_of(brokers)
        await log.open(to_read=True)
        async with asyncio.timeout(20):
            found = []
            async for record in log.follow():
                found.append(record.offset)
                if len(found) == 3:
                    leader.leader, leader.epoch = LEADER
                    leader.write(Kind.COMMIT, b"2", 3)
                if len(found) == 4:
                    break
        assert found == [0, 1, 2, 3]
        await log.close()


async def test_kr_5_a_former_leader_does_not_make_a_server_believe_that_nobody_leads() -> None:
    async with LogBrokers([FORMER, FORMER]) as brokers:
        former, leader = brokers.nodes
        filled(former, 3)
        log = log_of(brokers)
        await log.open(to_read=True)
        async for record in log.follow():
            if record.offset == 2:
                break
        assert await log._has_read_all()
        leader.leader, leader.epoch = LEADER
        filled(leader, 4)
        assert not await log._has_read_all()
        await log.close()
