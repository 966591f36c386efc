"""The client's calls about self-healing (KIP-46)."""

import pytest

from kafka_reassign_rpc.client import AsyncReassignmentClient, ReassignmentClient
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest


def test_46_6_healing_is_shown_paused_and_resumed(client: ReassignmentClient) -> None:
    status = client.healing_status()
    assert (status.interval_ms, status.paused, status.failed, status.waiting, status.moving) == (None, False, [], 0, 0)
    client.pause_healing()
    try:
        assert client.healing_status().paused
    finally:
        client.resume_healing()
    assert not client.healing_status().paused
    with pytest.raises(InvalidRequest, match="Broker 1 is registered: there is nothing to heal"):
        client.heal_broker(1)


async def test_46_6_and_so_it_is_for_asyncio(bootstrap: str) -> None:
    async with AsyncReassignmentClient(bootstrap_servers=bootstrap) as client:
        await client.pause_healing()
        try:
            assert (await client.healing_status()).paused
        finally:
            await client.resume_healing()
        assert not (await client.healing_status()).paused
        with pytest.raises(InvalidRequest, match="Broker 1 is registered: there is nothing to heal"):
            await client.heal_broker(1, dry_run=True)
