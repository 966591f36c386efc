"""What a running server takes up without a restart."""

import asyncio
import base64
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.controller.lifecycle.server_process import ControllerProcess
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.security.sasl.hashed_users import hashed_line
from kafka_reassign_rpc.server import sasl_sources
from kafka_reassign_rpc.server.http_server import HttpSecurity
from kafka_reassign_rpc.server.sasl_sources import UsersFile
from kafka_reassign_rpc.zookeeper.access import Access
from tests.waiting import eventually


class FollowedContext:
    """Instead of a context for ZooKeeper: none, and whether its files are followed."""

    context = None
    loaded = SimpleNamespace(own=(), twin=SimpleNamespace(trusted=()))

    def __init__(self) -> None:
        self.followed = asyncio.Event()

    async def keep(self) -> None:
        self.followed.set()
        await asyncio.get_running_loop().create_future()


def server_with(zk_connect: str, **config: Any) -> ControllerProcess:
    return ControllerProcess(ServerConfig(zk_connect, [Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 0)], **config))


async def test_sv_5_users_of_the_pages_for_monitoring_are_those_of_the_file_as_it_is_now(
    zk_connect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sasl_sources, "LOOKS_EVERY_S", 0.02)
    path = tmp_path / "users.toml"
    path.write_text(f'one = "{hashed_line("1", 4096)}"\n')
    file = UsersFile("metrics.users.file", path)
    file.read()
    config = {"metrics_listener": ("127.0.0.1", 0), "metrics_security": HttpSecurity(None, file.users, file)}
    async with server_with(zk_connect, **config) as server:

        async def status(user: str, password: str) -> int:
            host, _, port = (server.metrics_address or "").rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            token = base64.b64encode(f"{user}:{password}".encode()).decode()
            head = f"GET /health HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {token}\r\nConnection: close\r\n\r\n"
            writer.write(head.encode())
            answer = await reader.read()
            writer.close()
            return int(answer.split()[1])

        async def becomes(user: str, password: str, wanted: int) -> bool:
            return await status(user, password) == wanted

        assert await status("one", "1") == 200
        assert await status("two", "2") == 401
        (tmp_path / "new").write_text(f'two = "{hashed_line("2", 4096)}"\n')
        (tmp_path / "new").rename(path)
        await eventually(lambda: becomes("two", "2", 200))
        assert await status("one", "1") == 401


async def test_sv_5_the_certificates_for_zookeeper_are_followed(zk_connect: str) -> None:
    tls: Any = FollowedContext()
    async with server_with(zk_connect, zookeeper_access=Access(tls=tls)):
        await tls.followed.wait()
