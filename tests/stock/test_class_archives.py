"""Each JVM of stock Kafka maps the classes that another has loaded."""

from pathlib import Path

import pytest

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper

from .cluster import StockBroker
from .jars import BROKER_VERSION, require
from .kraft import kraft_cluster
from .tools import Tools

pytestmark = [pytest.mark.stock, pytest.mark.release]


def archives(pid: int) -> set[str]:
    """The kinds that the process maps, beside that of Java itself."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {Path(line.split()[-1]).name.partition("-")[0] for line in lines if line.endswith(".jsa")} - {"classes.jsa"}


async def test_nodes_and_tools_map_the_classes_that_they_load(zookeeper: EmbeddedZooKeeper, tmp_path: Path) -> None:
    require(BROKER_VERSION)
    broker = StockBroker(1, f"{zookeeper.address}/archives", tmp_path / "broker", {})
    [node] = kraft_cluster(tmp_path, [1], version=BROKER_VERSION)
    tools = Tools(BROKER_VERSION)
    try:
        await broker.start()
        await node.start()
        assert (archives(broker.pid), archives(node.pid)) == ({"zookeeper"}, {"kraft"})
        tools.start()
        assert (await tools.run("topics", "--list", "--bootstrap-server", broker.address)).code == 0
        assert archives(tools.pid) == {"tool"}
    finally:
        tools.stop()
        await broker.kill()
        await node.kill()
