"""The JVM that runs the stock tools."""

import asyncio

import pytest

from .jars import TOOL_VERSIONS, require
from .tools import Tools

pytestmark = pytest.mark.stock


@pytest.mark.parametrize("version", [*TOOL_VERSIONS, pytest.param("4.4.0", marks=pytest.mark.gate)])
async def test_each_call_has_its_own_exit_code_and_output(version: str) -> None:
    require(version)
    with Tools(version) as tools:
        help_text, refused, stated = await asyncio.gather(
            tools.run("reassign-partitions", "--help"),
            tools.run("topics", "--no-such-option"),
            tools.run("topics", "--version"),
        )
    assert "--reassignment-json-file" in help_text.out + help_text.err
    assert refused.code == 1
    assert "no-such-option is not a recognized option" in refused.out + refused.err
    assert (stated.code, stated.out.partition(" ")[0].strip()) == (0, version)


async def test_calls_that_wait_learn_that_the_jvm_has_gone() -> None:
    require("3.9.1")
    with Tools("3.9.1") as tools:
        waiting = asyncio.create_task(tools.run("topics", "--list", "--bootstrap-server", "127.0.0.1:1"))
        await tools.run("topics", "--version")
        tools.stop()
        with pytest.raises(ConnectionError):
            await waiting
