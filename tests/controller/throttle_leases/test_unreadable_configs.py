"""Configs of leases that cannot be read for a long time, beside those that could not be written for a moment."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

import pytest

from kafka_reassign_rpc.controller import throttle_leases
from kafka_reassign_rpc.controller.store import ConfigWrite, Entity, ReloadNeeded, StoredConfigs
from kafka_reassign_rpc.controller.throttle_leases import ThrottleLeases
from kafka_reassign_rpc.core.config_values import BROKERS
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.core.throttling.leased_configs import BrokerMemory, RateMemory
from kafka_reassign_rpc.core.throttling.replication_throttles import LEADER_RATE
from kafka_reassign_rpc.support.tasks import end
from tests.waiting import eventually

REFUSED, DEAD = Entity(BROKERS, "1"), Entity(BROKERS, "9")
ENDED = BrokerMemory(RateMemory("5", None, 5))
"""The lease has ended: the rate has to go."""
RACES = throttle_leases.RACES + throttle_leases.ALONE_RACES


class Store:
    """A broker whose configs are never told, and one whose rate cannot be changed for so many attempts."""

    def __init__(self) -> None:
        self.refusals = RACES
        self.written: list[ConfigWrite] = []

    async def remembered(self) -> list[Entity]:
        return [REFUSED, DEAD]

    async def read(self, entities: Sequence[Entity]) -> list[StoredConfigs]:
        told = {REFUSED: StoredConfigs(REFUSED, {LEADER_RATE: "5"}, ENDED), DEAD: StoredConfigs(DEAD, None, ENDED, "-")}
        return [told[one] for one in entities]

    async def write(self, writes: Sequence[ConfigWrite], *, limited: bool = False) -> int:
        del limited
        if writes and self.refusals:
            self.refusals -= 1
            raise ReloadNeeded("not now")
        self.written += writes
        return 0


@asynccontextmanager
async def leases_of(store: Store, events: list[Event]) -> AsyncIterator[ThrottleLeases]:
    def record(some: Iterable[Event]) -> None:
        events.extend(some)

    leases = ThrottleLeases(Cluster(), store, record, lambda _: None)
    running = asyncio.create_task(leases.run())
    try:
        yield leases
    finally:
        await end(running)


async def test_236_11_what_was_refused_is_tried_again_although_other_configs_can_never_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, seconds in (("AGAIN_S", 0.01), ("LONGEST_AGAIN_S", 0.05), ("GAP_S", 0.001)):
        monkeypatch.setattr(throttle_leases, name, seconds)
    store = Store()
    async with leases_of(store, []):
        await eventually(lambda: store.written, within=20)
    assert [(one.stored.entity, one.configs) for one in store.written] == [(REFUSED, {})]
