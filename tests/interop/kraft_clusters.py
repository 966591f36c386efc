"""A cluster in KRaft mode behind the same interface: as it is, and by way of our service in front of it.

stock   five brokers; broker 1 is the controller, too
ours    the same brokers at the ports of our server (`front.nodes=ports`)
"""

import re
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafka.protocol.admin import DescribeConfigsRequest, ListPartitionReassignmentsRequest

from tests.fork_server import CLI
from tests.stock.kraft import kraft_cluster, start_all
from tests.stock.ports import kept_ports
from tests.stock.process import LoggedProcess

from .clusters import BROKERS, TOPIC, ComparedCluster, produce

ASKED = 2
"""The broker that is asked where any will do. It is not the controller, so that it has to forward."""
OF_TOPIC = 1
"""In the source of a config: set on the topic itself."""
_READY = re.compile(rb"^ready bootstrap=", re.MULTILINE)


class StockKRaft(ComparedCluster):
    name = "stock"
    controller_id = ASKED

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.nodes = {one.id: one for one in kraft_cluster(directory, BROKERS)}

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{node.port}" for node in self.nodes.values())

    async def address(self, node_id: int) -> tuple[str, int]:
        return "127.0.0.1", self.nodes[node_id].port

    async def stored_topic(self, name: str) -> dict[str, Any]:
        [shown] = (await self.metadata([name]))["topics"]
        if shown["error_code"]:
            return {}
        partitions = {str(one["partition_index"]): one["replica_nodes"] for one in shown["partitions"]}
        listed = await self.ask(
            ListPartitionReassignmentsRequest(timeout_ms=30_000, topics=[(name, [*map(int, partitions)])]), 0
        )
        moving = {str(one["partition_index"]): one for topic in listed["topics"] for one in topic["partitions"]}
        return {
            "topic_id": str(shown["topic_id"]),
            "partitions": partitions | {index: one["replicas"] for index, one in moving.items()},
            **{
                kind: {index: one[kind] for index, one in moving.items()}
                for kind in ("adding_replicas", "removing_replicas")
            },
        }

    async def stored_state(self, name: str, index: int) -> dict[str, Any]:
        [shown] = (await self.metadata([name]))["topics"]
        found = {one["partition_index"]: one for one in shown["partitions"]}
        return {"leader": found[index]["leader_id"], "isr": found[index]["isr_nodes"]} if index in found else {}

    async def stored_configs(self, name: str) -> dict[str, str]:
        answer = await self.ask(DescribeConfigsRequest(resources=[(TOPIC, name, None)]), 1)
        return {
            one["name"]: one["value"]
            for result in answer["results"]
            for one in result["configs"]
            if one["config_source"] == OF_TOPIC
        }

    async def _start(self) -> None:
        await start_all([*self.nodes.values()])

    async def _end(self) -> None:
        for node in self.nodes.values():
            await node.kill()

    async def prepare_data(self, topic: str) -> None:
        """Nothing to do: `write_data` produces records."""

    async def write_data(self, topic: str, partitions: Sequence[int]) -> None:
        await produce(self.bootstrap, topic, partitions)

    def _process(self, node_id: int) -> LoggedProcess:
        return self.nodes[node_id]

    async def _stop(self, node_id: int) -> None:
        self.nodes[node_id].send(signal.SIGTERM)
        await self.nodes[node_id].ended()

    async def _restart(self, node_id: int) -> None:
        await self.nodes[node_id].start()


class InFront(ComparedCluster):
    """What is stored is read at the brokers. `stock` starts first, and ends last."""

    name = "ours"
    controller_id = ASKED
    suffix = "-by-us"

    def __init__(self, stock: StockKRaft, directory: Path) -> None:
        super().__init__()
        self.stock = stock
        self._directory = directory
        self._server = LoggedProcess(directory / "server.log")
        self._port = 0

    async def address(self, node_id: int) -> tuple[str, int]:
        return "127.0.0.1", self._port + 1 + node_id

    async def stored_topic(self, name: str) -> dict[str, Any]:
        return await self.stock.stored_topic(name)

    async def stored_state(self, name: str, index: int) -> dict[str, Any]:
        return await self.stock.stored_state(name, index)

    async def stored_configs(self, name: str) -> dict[str, str]:
        return await self.stock.stored_configs(name)

    async def prepare_data(self, topic: str) -> None:
        await self.stock.prepare_data(topic)

    async def write_data(self, topic: str, partitions: Sequence[int]) -> None:
        await self.stock.write_data(topic, partitions)

    def _process(self, node_id: int) -> LoggedProcess:
        return self.stock.nodes[node_id]

    async def _stop(self, node_id: int) -> None:
        await self.stock.stop(node_id)

    async def _restart(self, node_id: int) -> None:
        await self.stock.restart(node_id)

    async def _start(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        self._port = kept_ports(1)[0]
        arguments = ["serve", "--bootstrap-server", self.stock.bootstrap, "--front-nodes", "ports"]
        arguments += ["--listeners", f"PLAINTEXT://127.0.0.1:{self._port}", "--data-dir", str(self._directory)]
        self._server.launch_ours(CLI, arguments)
        await self._server.wait_for_line(_READY, 120)

    async def _end(self) -> None:
        await self._server.kill()
