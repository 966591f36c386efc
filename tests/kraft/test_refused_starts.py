"""kr-5: a server that cannot lead a cluster says so in one line, and ends. The brokers are scripted."""

from pathlib import Path

import pytest

from kafka_reassign_rpc.protocol.messages import ApiVersionsResponse, DescribeClusterResponse
from tests.processes import NotReady, processes
from tests.python_client.scripted_nodes import API_VERSIONS, SERVED, ScriptedCluster, ScriptedNode, listening
from tests.tables import for_each

DESCRIBE_CLUSTER = 60


class WithZooKeeper(ScriptedNode):
    """A broker in ZooKeeper mode: of before 2.8, or one that describes its cluster, too."""

    describes = False

    def _answer(self, key: int, version: int) -> object:
        if key == API_VERSIONS:
            served = [*SERVED, *([(DESCRIBE_CLUSTER, 0, 0)] if self.describes else [])]
            return ApiVersionsResponse(version=version, error_code=0, api_keys=served)
        if key == DESCRIBE_CLUSTER:
            return DescribeClusterResponse(
                version=version,
                error_code=0,
                error_message=None,
                cluster_id="c",
                controller_id=1,
                brokers=[],
                authorized_operations=range(3, 13),
            )
        return super()._answer(key, version)


@for_each("describes", [False, True])
async def test_kr_5_a_cluster_in_zookeeper_mode_is_told_so_in_one_line_at_the_start(
    describes: bool, tmp_path: Path
) -> None:
    broker, log = WithZooKeeper(ScriptedCluster(), 1), tmp_path / str(describes)
    broker.describes = describes
    log.mkdir()
    async with listening(broker), processes(log) as started:
        with pytest.raises(NotReady):
            await started.start(
                "server",
                *("serve", "--bootstrap-server", f"127.0.0.1:{broker.port}", "--data-dir", str(tmp_path)),
                *("--listeners", "PLAINTEXT://127.0.0.1:0"),
            )
        said = started.logs()["server"]
    assert said == "kafka-reassign-rpc: this cluster is in ZooKeeper mode, and a state log needs KRaft mode\n"
