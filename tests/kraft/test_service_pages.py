"""The page and the metrics of servers in front of a stock cluster."""

from typing import Any

import msgspec
import pytest

from kafka_reassign_rpc.core.state.partition import MoveTerms
from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from tests.controller.telemetry.test_metrics import parsed
from tests.http_client import get
from tests.kraft.service import Service, client_of
from tests.processes import Process
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.gate]
SHOWN = ("--metrics-listener", "127.0.0.1:0", "--status-page", "full")


async def test_kr_5_and_sv_7_a_server_that_stands_by_links_to_the_page_of_the_one_that_leads(service: Service) -> None:
    first = await service.start(1_000, *SHOWN)
    second = await service.start(1_001, *SHOWN)

    async def links(server: Process, to: Process) -> bool:
        answer = await get(server.ready_value("metrics"), "/api/v1/status")
        controller = msgspec.json.decode(answer.body)["controller"]
        return bool(controller["page"] == to.ready_value("page"))

    async def both_link_to_first() -> bool:
        return await links(first, first) and await links(second, first)

    await eventually(both_link_to_first)
    await first.kill()

    async def links_to_itself() -> bool:
        return await links(second, second)

    await eventually(links_to_itself)


async def test_sv_7_and_sv_11_a_slow_throttled_move_shows_its_bytes_and_its_time_on_the_page_and_in_the_metrics(
    service: Service,
) -> None:
    [topic] = await service.cluster.create({"shown": [[1, 2]]}, records=200)
    rate, least = 5_000, 200_000
    server = await service.start(1_002, *SHOWN)
    at, name = server.ready_value("metrics"), TopicPartition(topic, 0)
    terms = MoveTerms((3, 2), throttle=rate, reason="a new broker")
    async with client_of(server) as client:
        assert await client.alter_partition_reassignments({name: terms}) == {name: None}

    async def measured() -> dict[str, Any]:
        """The move, once its rate is known."""
        document = msgspec.json.decode((await get(at, f"/api/v1/moves?topic={topic}")).body)
        [move] = document["moves"]
        return dict(move) if move["rate"] and move["remaining_ms"] else {}

    move = await eventually(measured)
    assert (move["state"], move["original"], move["target"]) == ("moving", [1, 2], [3, 2])
    assert (move["adding"], move["removing"], move["leader"], move["reason"]) == ([3], [1], 1, "a new broker")
    assert least < move["bytes_total"] < 1.2 * least
    assert 0 < move["bytes_copied"] < move["bytes_total"]
    assert move["copied"] == {"3": move["bytes_copied"]}
    assert move["share"] == pytest.approx(move["bytes_copied"] / move["bytes_total"], abs=0.001)
    assert move["stalled"] is None
    assert move["rate"] < 4 * rate, "as throttled, in the mean of a few looks"
    assert 0 < move["remaining_ms"] <= 1_000 * least

    found = parsed((await get(at, "/metrics")).body.decode())
    assert found["moves_in_flight", ()] == 1
    assert found["moves_bytes", ()] == move["bytes_total"]
    assert 0 < found["moves_bytes_left", ()] <= move["bytes_total"] - move["bytes_copied"]
    assert found["moves_remaining_seconds", ()] > 0
    assert found["broker_copied_in_bytes_total", ("3",)] >= move["bytes_copied"]
    assert found["moves_total", ("started",)] == 1
    assert found["controller_active", ()] == found["ready", ()] == 1
    assert found["zookeeper_connected", ()] == 1

    async def shows_the_throttle() -> bool:
        found = parsed((await get(at, "/metrics")).body.decode())
        return found.get(("broker_throttle_bytes_per_second", ("3", "lease", "follower"))) == rate

    await eventually(shows_the_throttle)
