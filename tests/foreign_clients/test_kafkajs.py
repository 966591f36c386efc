"""kafkajs (Node): listing and reassigning. Installed from its lock file at test time."""

import asyncio
import json

import pytest

from tests.interop.clusters import ComparedCluster
from tests.interop.comparing import Difference
from tests.stock.live import Transcript

from .brought import kafkajs
from .comparison import the_same_on_both
from .conftest import Clusters

pytestmark = [pytest.mark.stock, pytest.mark.more, pytest.mark.asyncio(loop_scope="package")]


async def test_sv_2_kafkajs(clusters: Clusters) -> None:
    await asyncio.to_thread(kafkajs)
    node = "our server stands in Metadata as node 1000"
    await the_same_on_both(
        _drive, clusters, "kafkajs", Difference("", "cluster", "", [1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 1000], node)
    )


async def _drive(bootstrap: str, topic: str, cluster: ComparedCluster) -> Transcript:
    await cluster.create_topic(topic, {0: [1, 2], 1: [2, 3]}, held=True)
    command = ["node", "driver.mjs", bootstrap, topic]
    process = await asyncio.create_subprocess_exec(*command, cwd=kafkajs(), stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(240):
        out, _ = await process.communicate()
    assert process.returncode == 0
    return [(label, result) for label, result in json.loads(out)]
