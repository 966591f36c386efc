"""Several ZooKeeper servers as one ensemble, each in its own process, for tests that lose a leader."""

import asyncio
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper, free_ports


class Ensemble:
    """`async with Ensemble(data_dir) as ensemble: ensemble.address`; `ensemble.servers` are the members."""

    def __init__(
        self, data_dir: str | os.PathLike[str], size: int = 3, host: str = "127.0.0.1", *, heap_mb: int = 128
    ) -> None:
        with free_ports(host, 3 * size) as ports:
            members = {
                number: f"{host}:{ports[3 * number - 2]}:{ports[3 * number - 1]}" for number in range(1, size + 1)
            }
            self.servers = [
                EmbeddedZooKeeper(
                    Path(data_dir) / str(number),
                    ports[3 * number - 3],
                    host,
                    heap_mb=heap_mb,
                    server_id=number,
                    members=members,
                )
                for number in members
            ]

    @property
    def address(self) -> str:
        """host:port,host:port,… of all members, as `zookeeper.connect` has it."""
        return ",".join(server.address for server in self.servers)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Starts all members and waits until each of them serves."""
        try:
            for server in self.servers:
                await server.launch()
            for server, serves in zip(
                self.servers, await asyncio.gather(*(one._until_serving_or_dead() for one in self.servers)), strict=True
            ):
                assert serves, f"{server.address} ended:\n{server.log_tail()}"
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        for server in self.servers:
            await server.stop()

    async def leader(self) -> EmbeddedZooKeeper:
        """The current leader. Raises LookupError while there is none."""
        for server in self.servers:
            if server.running and "Mode: leader" in await server.command("srvr"):
                return server
        raise LookupError("the ensemble has no leader at the moment")
