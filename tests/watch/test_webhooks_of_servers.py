"""Who tells webhooks what: the controller, the next one after a failover, and watch, each by the same code."""

from pathlib import Path

from kafka_reassign_rpc.client import AsyncReassignmentClient, MoveTerms
from kafka_reassign_rpc.controller.duties.progress_sampling import Sampling
from kafka_reassign_rpc.controller.telemetry.webhook_requests import WebhookConfig
from kafka_reassign_rpc.core.events.notifications import kinds
from kafka_reassign_rpc.security.properties import Password
from tests.controller.cluster import cluster
from tests.controller.telemetry.webhook_receivers import SECRET, Receiver, is_signed, receiving
from tests.http_client import get
from tests.waiting import eventually
from tests.watch.watching import watching


def hooked(receiver: Receiver) -> WebhookConfig:
    return WebhookConfig((receiver.url,), Password(SECRET), kinds(["default"]))


def told(receiver: Receiver, event: str) -> list[tuple[int | None, object]]:
    """By which server, and about which broker or for what reason."""
    return [
        (request.document["server"], one["event"].get("broker", one["event"].get("reason")))
        for request in receiver.requests
        for one in request.document["events"]
        if one["event"]["event"] == event
    ]


async def test_dh_8_controller_and_watch_tell_a_lost_broker_and_a_finished_plan_and_a_successor_that_it_controls(
    zk_connect: str, tmp_path: Path
) -> None:
    async with (
        receiving() as of_server,
        receiving() as of_watch,
        cluster(
            zk_connect,
            brokers=(1, 2, 3),
            event_log=tmp_path,
            sampling=Sampling(0.2),
            metrics=True,
            webhooks=hooked(of_server),
        ) as world,
    ):
        await world.create_topic("t", {0: [1], 1: [1]})
        async with (
            watching(world.bootstrap, tmp_path / "watch", hooked(of_watch)) as watch,
            AsyncReassignmentClient(bootstrap_servers=world.bootstrap) as client,
        ):
            await eventually(lambda: watch.watcher.answers)
            terms = MoveTerms((2,), reason="drain of broker 1")
            await client.alter_partition_reassignments({("t", 0): terms, ("t", 1): terms})
            await eventually(lambda: told(of_server, "moves.done") == [(1000, "drain of broker 1")])
            await world.kill_broker(3)
            await eventually(lambda: told(of_server, "broker.lost") == [(1000, 3)])
            await eventually(lambda: told(of_watch, "broker.lost") == [(None, 3)])
            page = (await get(watch.served.address, "/metrics")).body.decode()
        assert f'kafka_reassign_webhook_sent_total{{receiver="{of_watch.url.partition("/hook")[0]}"}}' in page
        assert 'kafka_reassign_webhook_dropped_total{receiver="http://127.0.0.1:' in page
        await world.stop_server()
        await world.start_server(1001)
        await eventually(lambda: told(of_server, "controller.elected") == [(1000, None), (1001, None)])
        assert told(of_server, "controller.resigned") == [(1000, None)]
    everything = [*of_server.requests, *of_watch.requests]
    assert all(is_signed(one, SECRET.encode()) for one in everything)
    assert len({one.document["cluster"] for one in everything}) == 1
    assert told(of_server, "moves.done") == [(1000, "drain of broker 1")]
    ids = [one["id"] for request in everything for one in request.document["events"]]
    assert len(ids) == len(set(ids))
