"""kr-5: a server that is frozen between a commit and what it is to tell, replaced, and then goes on (sv-3).

ZOMBIES=200 pytest tests/kraft/test_zombies.py
"""

import asyncio
import itertools
import os
import random
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import pytest

from kafka_reassign_rpc.client import KafkaError
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.campaign.kraft import intent_checks
from tests.campaign.kraft.log_audit import LogAudit
from tests.faults.cluster import address_of, alter
from tests.kraft.service import STATE_TOPIC, Service
from tests.kraft.state_log.proxies import PRODUCE, Proxies, api_key
from tests.kraft.stock_cluster import StockCluster
from tests.processes import Process, processes
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.gate, pytest.mark.timeout(7_200)]

TRIES = int(os.environ.get("ZOMBIES", "4"))
CHANGES = frozenset({33, 44, 45})
"""AlterConfigs, IncrementalAlterConfigs, AlterPartitionReassignments."""
BEGINS = b'"phase":"start"'
"""In a commit that makes a move durable before the cluster is told."""
TARGETS = itertools.cycle([(3, 2), (1, 2), (2, 3), (2, 1, 3), (1, 3)])
"""No two of three that follow one another are the same: each is a move, also after one that was not taken."""


class Watched:
    """A server, and what it asks brokers. `told`: when it has sent a change, seconds of the epoch.

    freezes_at_commit  it is frozen as soon as a move is durable, before it knows that
    """

    def __init__(self, number: int, process: Process, proxies: Proxies) -> None:
        self.id = number
        self.process = process
        self.told: list[float] = []
        self.freezes_at_commit = False
        self.frozen = asyncio.Event()
        proxies.asked, proxies.answered = self._asked, self._answered

    def freeze(self) -> None:
        self.process.freeze()
        self.frozen.set()

    def _asked(self, request: bytes) -> None:
        if api_key(request) in CHANGES:
            self.told.append(time.time())

    def _answered(self, request: bytes) -> None:
        if self.freezes_at_commit and api_key(request) == PRODUCE and BEGINS in request:
            self.freezes_at_commit = False
            self.freeze()


async def test_kr_5_a_server_that_was_frozen_after_a_commit_and_replaced_tells_nothing_and_each_move_ends_once(
    cluster: StockCluster, tmp_path: Path
) -> None:
    numbers = random.Random(TRIES)
    [topic] = await cluster.create({"zombie": [[1, 2]]}, records=5)
    name = TopicPartition(topic, 0)
    async with AsyncExitStack() as stack:
        service = Service(cluster, await stack.enter_async_context(processes(tmp_path)), tmp_path)
        both = []
        for number, targets in zip((1_002, 1_005), cluster.proxied, strict=True):
            proxies = await stack.enter_async_context(Proxies(targets))
            server = await service.start(number, bootstrap=proxies.bootstrap)
            both.append(Watched(number, server, proxies))
        audit = LogAudit(cluster.bootstrap, STATE_TOPIC, tmp_path / "state-log.txt")
        auditing = asyncio.create_task(audit.run())
        stack.callback(auditing.cancel)
        late_of_chance, done, left = 0, 0, 3 * TRIES
        while done < TRIES:
            left -= 1
            assert left, f"only {done} tries of {TRIES} have frozen a server that led"
            await eventually(lambda: _leaders(service))
            leader, other = sorted(both, key=lambda one: one.id != _leaders(service)[-1])
            at_commit, claims, target = done % 2 == 0, len(audit.claims), next(TARGETS)
            leader.freezes_at_commit = at_commit
            asking = asyncio.create_task(_asked(leader.process, name, target))
            if at_commit:
                with suppress(TimeoutError):  # on a busy machine another one leads by now
                    await asyncio.wait_for(leader.frozen.wait(), 10)
            else:
                await asyncio.sleep(numbers.uniform(0, 0.03))
                leader.freeze()
            try:
                if leader.frozen.is_set():
                    await eventually(lambda: len(audit.claims) > claims and _leaders(service)[-1] == other.id)  # noqa: B023
                    await asyncio.sleep(numbers.uniform(0, 1))
                    done += 1
            finally:
                leader.freezes_at_commit = False
                leader.process.thaw()
                leader.frozen.clear()
            await eventually(lambda: not intent_checks.still_open(intent_checks.story(audit.rounds)), within=120)
            await asking
            late = [at for at in leader.told if len(audit.claims) == claims + 1 and at > audit.claims[-1]]
            assert not (at_commit and late), f"try {done}: told after the take-over: {late}"
            late_of_chance += len(late)
            leader.told.clear()
        told = intent_checks.story(audit.rounds)
        assert intent_checks.each_once(told) == []
        await eventually(lambda: intent_checks.in_events(told, service.events()) == [])
        replicas = {TopicPartition(topic, index): some for index, some in (await service.replicas(topic)).items()}
        assert [*intent_checks.as_decided(told, [], replicas)] == []
        assert [*intent_checks.nobody_else(told, [], [])] == []
        assert len(told.lives) >= (TRIES + 1) // 2, "what was durable is carried out by who comes next"
        assert late_of_chance <= TRIES / 20, "but for one that was frozen between its check and the sending"


async def _asked(server: Process, name: TopicPartition, target: tuple[int, ...]) -> None:
    """Whatever it answers, in the end."""
    with suppress(OSError, EOFError, AssertionError, KafkaError, TimeoutError):
        async with asyncio.timeout(60):
            await alter(address_of(server.ready_value("bootstrap")), {name: target})


def _leaders(service: Service) -> list[object]:
    elected = [one for one in service.events() if one["event"] == catalogue.CONTROLLER_ELECTED]
    return [one["server"] for one in sorted(elected, key=lambda one: str(one["at"]))]
