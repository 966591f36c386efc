"""kafkajs (Node): listing and reassigning. Installed from its lock file at test time."""

import asyncio
import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.interop.clusters import ComparedCluster
from tests.interop.comparing import Difference
from tests.stock.live import Transcript

from .comparison import the_same_on_both
from .conftest import Clusters

pytestmark = [pytest.mark.stock, pytest.mark.asyncio(loop_scope="package")]

_HOME = Path(__file__).parent / "kafkajs"


async def test_sv_2_kafkajs(clusters: Clusters) -> None:
    _install()
    node = "our server stands in Metadata as node 1000"
    await the_same_on_both(
        _drive, clusters, "kafkajs", Difference("", "cluster", "", [1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 1000], node)
    )


async def _drive(bootstrap: str, topic: str, cluster: ComparedCluster) -> Transcript:
    await cluster.create_topic(topic, {0: [1, 2], 1: [2, 3]}, held=True)
    command = ["node", "driver.mjs", bootstrap, topic]
    process = await asyncio.create_subprocess_exec(*command, cwd=_HOME, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(240):
        out, _ = await process.communicate()
    assert process.returncode == 0
    return [(label, result) for label, result in json.loads(out)]


def _install() -> None:
    """Run `npm ci` once. Where npm is missing or cannot fetch, skip the test; with CI=true, fail it."""
    lock = _HOME / "package-lock.json"
    done = _HOME / "node_modules" / ".package-lock.json"
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if done.exists() and done.stat().st_mtime >= lock.stat().st_mtime:
            return
        if shutil.which("npm") is None:
            problem = "npm is not installed"
        else:
            command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
            result = subprocess.run(command, cwd=_HOME, capture_output=True, text=True, check=False, timeout=300)
            if result.returncode == 0:
                return
            problem = result.stderr[-500:]
    if os.environ.get("CI") == "true":
        pytest.fail(problem)
    pytest.skip(f"kafkajs cannot be installed: {problem}")
