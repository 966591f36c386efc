"""What the tests of the other clients share: a topic of their own on each cluster, and the comparison."""

from collections.abc import Awaitable, Callable
from typing import Any

from tests.interop.comparing import Difference, compare, unexpected
from tests.interop.worlds import World

Transcript = list[tuple[str, Any]]
Play = Callable[[str, str, World], Awaitable[Transcript]]
"""(bootstrap, topic, world) -> what the client returned, step by step."""


async def the_same_on_both(play: Play, worlds: list[World], topic: str, *wanted: Difference) -> None:
    """Run the play against stock and against us (by a broker each) and compare."""
    transcripts = []
    for world in worlds:
        await world.set_rates()  # --verify of the Java tools takes them away
        host, port = await world.address(2)
        transcripts.append(await play(f"{host}:{port}", topic, world))
    problems = unexpected(compare(*transcripts), list(wanted))
    assert not problems, "\n".join(problems)
