"""kr-11: `leave` in front of a stock cluster, killed at any point while servers go on; moves that are handed over."""

import json

import pytest

from kafka_reassign_rpc.client import KafkaError
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.settings.reassignment_settings import ENABLED
from kafka_reassign_rpc.core.state.partition import QUEUE, MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.fork_server import CLI, output_of
from tests.kraft.service import LEAD_S, Service, client_of
from tests.leaving.command import Leaving
from tests.processes import Process
from tests.waiting import eventually


@pytest.mark.stock
@pytest.mark.gate
async def test_kr_11_killed_at_any_point_servers_go_on_and_moves_that_are_handed_over_end_without_throttles(
    service: Service,
) -> None:
    [topic] = await service.cluster.create({"left": [[1, 2]] * 3}, records=1_000)
    moves, *waiting = (TopicPartition(topic, index) for index in range(3))
    server = await service.start(1_002, "--partition-reassignments-max-per-cluster", "1")
    terms = MoveTerms((3, 2), route=QUEUE, throttle=100)
    async with client_of(server) as client:
        wanted = dict.fromkeys((moves, *waiting), terms)
        assert await client.alter_partition_reassignments(wanted) == dict.fromkeys(wanted)
    await eventually(lambda: service.named(catalogue.MOVE_STARTED) == {moves: 1})
    file = service.folder / "left.json"
    to = ("--bootstrap-server", service.cluster.bootstrap, "--state-log-lead-ms", str(round(LEAD_S * 1_000)))
    leaving = Leaving(*to, "--export", str(file))
    handing = Leaving(*leaving.words[1:], "--hand-over")
    try:
        await leaving.until("[y/N]", agrees=False)
        assert _elections(service) == 1, "nobody has agreed yet"
        await leaving.until("never start.")
        assert await _leads_again(service, server, 2) == {ENABLED: "false", "waiting": "2"}
        await leaving.until("waits until they end")
        assert await _leads_again(service, server, 3) == {ENABLED: "false", "waiting": "0"}
        await handing.until("go on without us")
        assert await _leads_again(service, server, 4) == {ENABLED: "false", "waiting": "0"}
        assert await service.moving() == {moves}
        assert await service.throttles(topic), "nobody has agreed to that"
        await handing.until("leases: ")
    finally:
        last = await output_of(CLI, [*handing.words, "--yes"])
    assert (last.code, last.err) == (0, ""), last
    assert "Nothing waits, moves or is throttled by kafka-reassign-rpc." in last.out
    assert await service.throttles(topic) == []

    async def has_moved() -> bool:
        return not await service.moving()

    await eventually(has_moved)
    await eventually(lambda: _has(service, topic, {0: (3, 2), 1: (1, 2), 2: (1, 2)}))
    kept = json.loads(file.read_bytes())
    assert {(one["topic"], one["partition"]) for one in kept["queue"]["partitions"]} == {*waiting}
    originals = [one for one in kept["originals"]["partitions"] if one["topic"] == topic]
    assert [(one["partition"], one["replicas"]) for one in originals] == [(0, [1, 2])]
    assert await _leads_again(service, server, 5) == {ENABLED: "true", "waiting": "0"}


async def _has(service: Service, topic: str, replicas: dict[int, tuple[int, ...]]) -> bool:
    """As a broker tells it, which may lag behind the controllers, that say what moves."""
    return await service.replicas(topic) == replicas


def _elections(service: Service) -> int:
    return [one["event"] for one in service.events()].count(catalogue.CONTROLLER_ELECTED)


async def _leads_again(service: Service, server: Process, times: int) -> dict[str, str]:
    """Once the server has been elected so often: whether moves start, and how many wait."""
    await eventually(lambda: _elections(service) >= times)

    async def told() -> dict[str, str] | None:
        async with client_of(server) as client:
            try:
                settings = {one.name: one.value or "" for one in await client.settings()}
                listed = await client.list_partition_reassignments()
            except KafkaError:  # it does not lead yet
                return None
        return {ENABLED: settings[ENABLED], "waiting": str(sum(one.is_waiting for one in listed.values()))}

    found: dict[str, str] = await eventually(told)
    return found
