"""After a failover the events are in the logs of two servers: an export has those of both."""

import asyncio
from pathlib import Path

from kafka_reassign_rpc.controller.lifecycle.server_config import EventLogConfig, ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from tests.controller.cluster import LISTENERS, cluster
from tests.pipeline.test_export import run
from tests.pipeline.test_export_events import exported
from tests.waiting import eventually


async def test_dp_1_after_a_failover_the_export_has_what_both_servers_have_recorded(
    zk_connect: str, tmp_path: Path
) -> None:
    async with cluster(zk_connect, brokers=(1, 2), event_log=tmp_path / "logs") as world:
        await world.create_topic("before", {0: (1, 2)})
        other = ServerConfig(
            zookeeper_connect=zk_connect,
            listeners=LISTENERS,
            server_id=1001,
            event_log=EventLogConfig(tmp_path / "logs" / "1001"),
        )
        async with ControllerProcess(other) as standby:
            await standby.ready()
            await world.stop_server()
            await world.start_server(1000)
            directory = tmp_path / "events"

            async def both() -> bool:
                arguments = ("export", "--bootstrap-server", standby.bootstrap, "--events", str(directory))
                code, out, err = await asyncio.to_thread(run, *arguments)
                assert (code, err) == (0, "")
                found = {(server, event) for server, _, event in exported(directory)}
                wanted = {(1000, "topic.created"), (1001, "controller.elected")}
                return out.endswith(" new events of 2 servers\n") and found >= wanted

            await eventually(both)
