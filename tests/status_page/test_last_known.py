"""What a standby shows of the moves: what it last heard from the controller, with its time, also when that is gone."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.controller.controller_election import Takeover
from kafka_reassign_rpc.controller.lifecycle.server_config import EventLogConfig, ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.reassign_command.main import main
from kafka_reassign_rpc.status_page import keepers
from tests.controller.cluster import LISTENERS, Cluster
from tests.controller.telemetry.test_metrics import scraped
from tests.status_page.documented import Documented
from tests.waiting import eventually


async def test_sv_11_a_standby_shows_the_last_known_state_with_its_time_and_marks_it_everywhere(
    world: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(keepers, "EVERY_S", 0.1)
    await world.create_topic("payments", {0: (1, 2)}, held=True)
    await world.alter({("payments", 0): (3, 4)}, reason="OPS-77")
    config = ServerConfig(
        world.connect, LISTENERS, server_id=1002, metrics_listener=("127.0.0.1", 0), status_page="full",
        takeover=Takeover.NEVER, event_log=EventLogConfig(tmp_path / "second"),
    )  # fmt: skip
    async with ControllerProcess(config) as server:
        await server.ready()
        page = Documented(str(server.metrics_address))

        async def last() -> Any:
            status = await page.ask("status")
            assert (status["totals"], status["work"], status["healing"], status["enabled"]) == (None,) * 4
            return status["last"]

        await eventually(last)
        told = await last()
        assert (told["server"], told["role"], told["totals"]["in_flight"], told["last"]) == (
            1000,
            "controller",
            1,
            None,
        )
        metrics = await scraped(page.address)
        assert metrics.get(("moves_in_flight", ()), 0) == 0, "metrics do not show what is old"

        await world.stop_server()
        await eventually(lambda: of_no_controller(page))
        before = await last()
        await asyncio.sleep(0.3)  # some looks of the keeper
        assert await last() == before, "the same state, with the same time"
        configs = tmp_path / "client.properties"
        configs.write_text("request.timeout.ms=1500\n")
        at = "--bootstrap-server", server.bootstrap, "--command-config", str(configs), "status"
        codes = [await asyncio.to_thread(main, [*at]), await asyncio.to_thread(main, [*at, "--json"])]
        text, _, document = capsys.readouterr().out.partition("{")
        assert 0 not in codes
        assert "Last known by server 1000" in text
        assert "1 move in flight" in text
        assert json.loads("{" + document)["status"]["last"]["at"] == before["at"]


async def of_no_controller(page: Documented) -> bool:
    status = await page.ask("status")
    return status["role"] == "none" and status["controller"]["id"] is None
