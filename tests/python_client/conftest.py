"""The cluster that `serve` starts: a ZooKeeper, the server, six simulated brokers in three racks."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_reassign_rpc.client import ReassignmentClient
from tests.conftest import run
from tests.fork_server import CLI
from tests.stock.process import LoggedProcess


@pytest.fixture(scope="package")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with whole_cluster(tmp_path_factory.mktemp("client")) as bootstrap:
        yield bootstrap


@contextmanager
def whole_cluster(directory: Path) -> Iterator[str]:
    """Start a cluster, and give its bootstrap address."""
    process = LoggedProcess(directory / "log")
    arguments = ["serve", "--listeners", "PLAINTEXT://127.0.0.1:0", "--reassignment-progress-interval-ms", "500"]
    process.launch_ours(CLI, [*arguments, "--data-dir", str(directory / "data")])
    try:
        ready = run(process.wait_for_line(re.compile(rb"^ready bootstrap=(\S+)", re.MULTILINE), 90))
        yield os.fsdecode(ready[1])
    finally:
        process.send(signal.SIGTERM)
        run(process.ended())


@pytest.fixture
def client(bootstrap: str) -> Iterator[ReassignmentClient]:
    """A client. After the test it cancels all moves and removes the throttles of brokers."""
    with ReassignmentClient(bootstrap_servers=bootstrap) as client:
        yield client
        client.cancel_partition_reassignments(client.list_partition_reassignments())
        brokers = [node.id for node in client.describe_cluster()]
        throttles = dict.fromkeys(("leader.replication.throttled.rate", "follower.replication.throttled.rate"))
        client.change_configs({(4, str(broker)): throttles for broker in brokers})
