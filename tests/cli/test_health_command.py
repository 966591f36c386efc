"""`kafka-reassign-rpc health`: what health checks of containers run."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.cli import health_command
from kafka_reassign_rpc.cli.health_command import _parsed
from kafka_reassign_rpc.cli.http_settings import http_security
from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import read_settings
from kafka_reassign_rpc.server.http_server import HttpPage, HttpServer
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from tests.certificates import Authority
from tests.stock.ports import kept_ports

READY = HttpPage(b'{"ready":true}')
NOT_READY = HttpPage(b'{"ready":false}', status=503)


def flags(folder: Path, kind: str) -> list[str]:
    """Of a server whose pages are plain, or behind TLS for users with passwords, or for clients with certificates."""
    (port,) = kept_ports(1)
    address = ["--metrics-listener", f"127.0.0.1:{port}"]
    if kind == "plain":
        return address
    ca = Authority("CN=ca")
    properties = {
        **ca.issue("CN=kafka", hosts=("controller1",)).pkcs12_keystore(folder / "own.p12"),
        **ca.pem_truststore(folder / "ca.pem"),
        "metrics.security.protocol": "SSL",
    }
    if kind == "users":
        (folder / "users.toml").write_text("")
        properties["metrics.users.file"] = str(folder / "users.toml")
    else:
        properties["listener.name.metrics.ssl.client.auth"] = "required"
    file = folder / "server.toml"
    file.write_text("".join(f'"{name}" = "{value}"\n' for name, value in properties.items()))
    return [*address, "--config", str(file)]


@asynccontextmanager
async def served(arguments: list[str], ready: HttpPage) -> AsyncIterator[None]:
    """The pages, secured as serve secures them."""
    values = read_settings(_parsed(arguments), SETTINGS)
    pages = {"/health": lambda: HttpPage(b'{"alive":true}'), "/ready": lambda: ready}
    host, port = values["metrics.listener"]
    server = HttpServer(host, port, pages, http_security(values), for_any_host=tuple(pages))
    await server.start()
    try:
        yield
    finally:
        await server.close()


@contextmanager
def process(arguments: list[str]) -> Iterator[str]:
    """Something that was started with this command line, as process 1 of a container is; gives its id."""
    program = "import sys; sys.stdout.write('.'); sys.stdout.flush(); sys.stdin.read()"
    command = [sys.executable, "-c", program, "kafka-reassign-rpc", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        started.stdout.read(1)  # it has become that program
        yield str(started.pid)
        started.communicate()


async def health(*arguments: str) -> int:
    return await asyncio.to_thread(main, ["health", "--timeout-ms", "2000", *arguments])


@pytest.mark.parametrize(
    ("command", "kind"), [("serve", "plain"), ("serve", "users"), ("serve", "certificates"), ("watch", "plain")]
)
async def test_hm_6_health_asks_a_server_whatever_its_pages_want_and_says_when_it_is_gone(
    command: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = flags(tmp_path, kind)
    wants_password = kind == "users"
    with process([command, *arguments]) as pid:
        async with served(arguments, NOT_READY):
            assert await health(*arguments) == 0
            assert await health("--pid", pid) == 0
            said = capsys.readouterr().out.splitlines()
            assert said == ["user name and password are needed" if wants_password else '{"alive":true}'] * 2
            assert await health("--ready", "--pid", pid) == 1
        async with served(arguments, READY):
            assert await health("--ready", "--pid", pid) == (1 if wants_password else 0)
        assert await health("--pid", pid) == 1
    assert "Connection refused" in capsys.readouterr().err


async def test_sv_11_health_waits_for_a_server_that_says_nothing_no_longer_than_it_may(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the system takes connections, and no process answers
        host, port = silent.getsockname()
        at = ("--metrics-listener", f"{host}:{port}", "--timeout-ms", "100")
        assert await asyncio.wait_for(health(*at), 20) == 1
    assert "timed out" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["watch"], ["serve", "--watch"]])
def test_kr_1_health_asks_a_watch_without_metrics_listener_at_its_default(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def connection(values: Mapping[str, Any], _: float) -> None:
        asked.append(values["metrics.listener"])
        raise UsageError("enough")

    monkeypatch.setattr(health_command, "_connection", connection)
    with process(command) as pid:
        assert main(["health", "--pid", pid]) == 2
    assert asked == [("127.0.0.1", 8090)]


def test_sv_11_health_without_anything_to_ask_is_no_health(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, why in (
        ((), "metrics.listener is not set"),
        (("--metrics-listener", "127.0.0.1:0"), "port 0"),
        (("--pid", "4194305"), "No such file or directory"),
        (("--metrics-listener", "a:1", "--timeout-ms", "0"), "--timeout-ms"),
    ):
        assert main(["health", *arguments]) == 2
        assert why in capsys.readouterr().err
    with process(["fleet", "--broker-ids", "1"]) as pid:
        assert main(["health", "--pid", pid]) == 2
        assert "is no `kafka-reassign-rpc serve`" in capsys.readouterr().err
