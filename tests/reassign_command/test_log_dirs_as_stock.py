"""N11: JSON for the way back names the log dirs of replicas, also while a broker is dead, as in Kafka 4.3."""

import re
from pathlib import Path

import pytest

from tests.interop.clusters import Ours
from tests.reassign_command.run_command import Files, kafka_reassign
from tests.stock.jars import require
from tests.stock.live import Recordings, Transcript, plain, runs_live
from tests.stock.tools import Output, Tools

pytestmark = [pytest.mark.stock, pytest.mark.more, pytest.mark.asyncio(loop_scope="package")]

RECORDED = Recordings(Path(__file__).with_name("recorded"))
VERSION = "4.3.1"
DEAD = 5


async def test_n11_the_current_assignment_names_log_dirs_of_live_brokers_as_the_stock_tool_of_4_3(
    ours: Ours, tmp_path: Path
) -> None:
    host, port = await ours.address(2)
    topics = [f"lie-{number}" for number in range(2 if runs_live() else 1)]
    for topic in topics:
        await ours.create_topic(topic, {0: [1, 2], 1: [2, DEAD]}, held=False)
    await ours.kill(DEAD)
    try:
        if runs_live():
            require(VERSION)
            with Tools(VERSION) as tools:

                async def stock(*args: str) -> Output:
                    return await tools.run("reassign-partitions", "--bootstrap-server", f"{host}:{port}", *args)

                RECORDED.check(f"log_dirs-{VERSION}", await _printed(stock, topics[1], Files(tmp_path)))

        async def own(*args: str) -> Output:
            return await kafka_reassign("--bootstrap-server", f"{host}:{port}", *args)

        assert plain(await _printed(own, topics[0], Files(tmp_path))) == RECORDED.get(f"log_dirs-{VERSION}")
    finally:
        await ours.restart(DEAD)


async def _printed(run: object, topic: str, files: Files) -> Transcript:
    assert callable(run)
    make = ("--generate", "--topics-to-move-json-file", files.topics(topic), "--broker-list")
    found = []
    for label, arguments in {
        "generate": (*make, "1,2"),
        "generate with the dead broker": (*make, f"1,2,{DEAD}"),
        "execute": ("--execute", "--reassignment-json-file", files.plan(topic, (0, [2, 1]))),
    }.items():
        output: Output = await run(*arguments)
        text = re.sub(
            r"\[[12],[12]\],\"log_dirs\":\[\"any\",\"any\"\]", "any order", output.out.replace(topic, "TOPIC")
        )
        found.append((label, [output.code, text.splitlines()]))
    return found
