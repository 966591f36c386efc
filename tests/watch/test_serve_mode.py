"""kr-1: `serve --watch` is `watch`, with the settings of serve."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kafka_reassign_rpc.cli import watch_command
from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.watch.clusters import WatchedCluster
from tests.http_client import get
from tests.processes import Processes, processes
from tests.stock.ports import kept_ports
from tests.waiting import eventually
from tests.watch.moving_nodes import TWO_MOVE, moving_nodes

OF_A_CONTROLLER = '"zookeeper.connect" = "127.0.0.1:1"\n"broker.id" = 7\nlisteners = "PLAINTEXT://127.0.0.1:1"\n'


@pytest_asyncio.fixture
async def commands(tmp_path: Path) -> AsyncIterator[Processes]:
    async with processes(tmp_path) as group:
        yield group


async def test_kr_1_serve_that_only_looks_shows_moves_by_the_file_of_a_controller(
    commands: Processes, tmp_path: Path
) -> None:
    [port] = kept_ports(1)
    async with moving_nodes() as (node, _):
        file = tmp_path / "server.toml"
        file.write_text(
            f'{OF_A_CONTROLLER}watch = true\n"bootstrap.server" = "127.0.0.1:{node.port}"\n'
            f'"metrics.listener" = "127.0.0.1:{port}"\n"status.page" = "full"\n'
        )
        process = await commands.start("looks", "serve", "--config", str(file))
        where = process.ready_value("metrics")
        assert process.ready_line == f"ready metrics={where} page=http://{where}/"

        async def are_shown() -> bool:
            return len(json.loads((await get(where, "/api/v1/moves")).body).get("moves", ())) == len(TWO_MOVE)

        await eventually(are_shown)
        assert json.loads((await get(where, "/api/v1/status")).body)["role"] == "watch"
        assert "no effect (zookeeper.connect, broker.id, listeners)" in process.log
        assert await asyncio.to_thread(main, ["health", "--config", str(file)]) == 0
        assert await process.stop() == 0


WAYS: dict[str, tuple[list[str], dict[str, str], str]] = {
    "flags": (["serve", "--watch", "--bootstrap-server", "h:1"], {}, ""),
    "the flag with its value": (["serve", "--watch", "true", "--bootstrap-server", "h:1"], {}, ""),
    "environment": (["serve"], {"KAFKA_REASSIGN_WATCH": "true", "KAFKA_REASSIGN_BOOTSTRAP_SERVER": "h:1"}, ""),
    "file": (["serve"], {}, 'watch = true\n"bootstrap.server" = "h:1"\n'),
    "a flag before the file": (["serve", "--watch", "--bootstrap-server", "h:1"], {}, '"bootstrap.server" = "x:1"\n'),
    "watch with the file of serve": (["watch"], {}, f'{OF_A_CONTROLLER}watch = true\nbootstrap.server = "h:1"\n'),
}


@pytest.mark.parametrize(("arguments", "variables", "text"), WAYS.values(), ids=WAYS)
def test_kr_1_each_way_to_ask_for_a_watch_starts_the_same_one(
    arguments: list[str], variables: dict[str, str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []

    def run(*_: Any, loop: str) -> int:
        started.append(loop)
        return 0

    def configs(one: WatchedCluster) -> dict[str, Any]:
        started.append(one.bootstrap)
        return {}

    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(watch_command, "set_up_logging", lambda *_: None)
    monkeypatch.setattr(
        "kafka_reassign_rpc.server.process_limits.forbid_core_dumps", lambda: started.append("no core dumps")
    )
    monkeypatch.setattr(watch_command, "run_until_signalled", run)
    monkeypatch.setattr(watch_command, "_configs", configs)
    (tmp_path / "server.toml").write_text(text)
    assert main([*arguments, "--config", str(tmp_path / "server.toml")]) == 0
    assert started == ["no core dumps", "h:1", "auto"]


@pytest.mark.parametrize(
    ("arguments", "variables", "why"),
    [
        (["--watch"], {}, "--bootstrap-server or KAFKA_REASSIGN_BOOTSTRAP_SERVER is missing"),
        (["--watch", "maybe"], {}, "--watch: expected true or false, got [hidden]"),
        ([], {"KAFKA_REASSIGN_WATCH": "ture"}, "KAFKA_REASSIGN_WATCH: expected true or false, got [hidden]"),
        (["--watch", "--bootstrap-server", "h:99999"], {}, "Invalid port in bootstrap.servers: h:99999"),
        (
            [],
            {"KAFKA_REASSIGN_WACH": "true", "KAFKA_REASSIGN_BOOTSTRAP_SERVER": "h:1"},
            "is KAFKA_REASSIGN_WATCH meant?",
        ),
    ],
)
def test_kr_1_what_is_lacking_or_misspelt_is_one_clear_line_and_no_controller_starts(
    arguments: list[str],
    variables: dict[str, str],
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(watch_command, "set_up_logging", lambda *_: None)
    assert main(["serve", *arguments]) == 2
    assert why in capsys.readouterr().err


def test_kr_1_an_address_that_is_in_use_is_said_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(watch_command, "set_up_logging", lambda *_: None)
    monkeypatch.setattr("kafka_reassign_rpc.server.process_limits.forbid_core_dumps", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        assert main(["watch", "--bootstrap-server", "h:1", "--metrics-listener", where]) == 1
    assert f" metrics.listener={where}: cannot listen on {where}: address already in use\n" in capsys.readouterr().err
