"""kr-1: who asked for a move in KRaft mode is in the brokers' log, as docs/watch.md says how to find it."""

import re
from pathlib import Path

import pytest

from kafka_reassign_rpc.client import AsyncReassignmentClient, TopicPartition
from tests.docs.pages import DOCS, text_of
from tests.stock.jars import require
from tests.stock.kraft import VERSION, kraft_cluster
from tests.stock.tools import Tools
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.gate, pytest.mark.timeout(300)]

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


async def test_kr_1_the_recipe_finds_who_asked_for_a_move(tmp_path: Path) -> None:
    require(VERSION)
    recipe = text_of(DOCS / "watch.md").partition("## Who asked for a move")[2]
    [command] = re.findall(r"^kafka-configs\.sh (.*)$", recipe, re.MULTILINE)
    [pattern] = re.findall(r"^grep '(.*)' ", recipe, re.MULTILINE)
    [node] = kraft_cluster(tmp_path, (1,), {1: AUTHORIZER})
    try:
        await node.start()
        bootstrap = f"127.0.0.1:{node.port}"
        with Tools(VERSION) as tools:
            done = await tools.run("configs", *command.replace("broker1:9092", bootstrap).split())
        assert done.code == 0, done
        async with AsyncReassignmentClient(bootstrap_servers=bootstrap, client_id="ops") as client:
            await client.alter_partition_reassignments({TopicPartition("none", 0): [1]})

        def told() -> list[str]:
            return [line for line in node.printed().decode().splitlines() if re.search(pattern, line)]

        [line] = await eventually(told)
        assert "User:ANONYMOUS" in line
        assert "from host = 127.0.0.1" in line
    finally:
        await node.kill()
