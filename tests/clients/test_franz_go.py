"""franz-go (Go): its admin client kadm and its kgo. Built from pinned modules at test time, once."""

import asyncio
import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kafka_reassign_rpc.api.registry import SERVER_APIS
from kafka_reassign_rpc.core.kafka_errors import UnknownTopicOrPartition
from kafka_reassign_rpc.fleet.broker_apis import BROKER_APIS
from kafka_reassign_rpc.protocol.versions import FIRST_VENDOR_KEY
from tests.interop.clusters import ComparedCluster
from tests.interop.comparing import Difference
from tests.stock.live import Transcript

from .comparison import the_same_on_both
from .conftest import Clusters

pytestmark = [pytest.mark.stock, pytest.mark.asyncio(loop_scope="package"), pytest.mark.timeout(900)]

_HOME = Path(__file__).parent / "franz_go"
_SOURCES = ("main.go", "go.mod", "go.sum")
_BUILD_S = 300
_VENDOR_KEYS = sorted(key for key in {*SERVER_APIS, *BROKER_APIS} if key >= FIRST_VENDOR_KEY)


async def test_sv_2_franz_go_takes_no_notice_of_vendor_keys_and_tags(clusters: Clusters) -> None:
    await asyncio.to_thread(_build)
    node = "our server stands in Metadata as node 1000"
    await the_same_on_both(
        _drive,
        clusters,
        "franz-go",
        Difference("", "brokers", "", [1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 1000], node),
        Difference("", "vendor keys", "", [], _VENDOR_KEYS, "what Kafka never allocated keys for"),
        Difference(
            "", "delete what never was", "[1]", "", UnknownTopicOrPartition.default_message, "we say it in words"
        ),
        Difference("", "a move has tags", "", False, True, "the identity of the move"),
    )


async def _drive(bootstrap: str, topic: str, cluster: ComparedCluster) -> Transcript:
    await cluster.create_topic(topic, {0: [1, 2], 1: [2, 3]}, held=True)
    process = await asyncio.create_subprocess_exec(
        _HOME / "build" / "driver", bootstrap, topic, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(240):
        out, _ = await process.communicate()
    assert process.returncode == 0
    return [(label, result) for label, result in json.loads(out)]


def _build() -> None:
    """Run `go build` once for these sources. Where it cannot run, skip the test; with CI=true, fail it."""
    program = _HOME / "build" / "driver"
    program.parent.mkdir(exist_ok=True)
    with (program.parent / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        newest = max((_HOME / name).stat().st_mtime for name in _SOURCES)
        if program.exists() and program.stat().st_mtime >= newest:
            return
        if shutil.which("go") is None:
            problem = "Go is not installed"
        else:
            command = ["go", "build", "-mod=readonly", "-o", "build/driver", "."]
            try:
                result = subprocess.run(
                    command, cwd=_HOME, capture_output=True, text=True, check=False, timeout=_BUILD_S
                )
            except subprocess.TimeoutExpired:
                problem = f"go build has not ended within {_BUILD_S} s"
            else:
                if result.returncode == 0:
                    return
                problem = result.stderr[-500:]
    if os.environ.get("CI") == "true":
        pytest.fail(problem)
    pytest.skip(f"franz-go cannot be built: {problem}")
