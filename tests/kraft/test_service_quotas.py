"""Quotas of the cluster hold for requests that a server in front of it answers itself."""

from typing import Any

import pytest

from kafka_reassign_rpc.protocol.messages import ListPartitionReassignmentsRequest
from tests.kraft.service import Service
from tests.raw_client import connected
from tests.stock.kraft import VERSION
from tests.stock.tools import Tools
from tests.waiting import eventually


@pytest.mark.stock
@pytest.mark.gate
async def test_kr_9_and_sv_6_a_request_quota_of_the_cluster_holds_for_lists_and_alters(service: Service) -> None:
    server = await service.start()
    host, port = server.ready_value("bootstrap").split(":")
    at = host, int(port)
    entity = ("--entity-type", "users", "--entity-default")
    with Tools(VERSION) as tools:

        async def configure(*change: str) -> None:
            found = await tools.run(
                "configs", "--bootstrap-server", service.cluster.bootstrap, "--alter", *entity, *change
            )
            assert found.code == 0, found

        async def throttled_ms() -> int:
            async with connected(at) as client:
                request = ListPartitionReassignmentsRequest(version=0, timeout_ms=5_000, topics=None)
                answer: Any = await client.call(request, 0)
                return int(answer.throttle_time_ms)

        assert await throttled_ms() == 0
        await configure("--add-config", "request_percentage=0.001")
        try:

            async def holds() -> bool:
                return await throttled_ms() > 0

            await eventually(holds)
        finally:
            await configure("--delete-config", "request_percentage")

        async def is_gone() -> bool:
            return await throttled_ms() == 0

        await eventually(is_gone)
