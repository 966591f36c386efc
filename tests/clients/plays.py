"""What the tests of the other clients share: a topic of their own on each cluster, and the comparison."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.interop.comparing import Difference, compare, unexpected
from tests.interop.worlds import World
from tests.stock.live import Recordings, Transcript

RECORDED = Recordings(Path(__file__).with_name("recorded"))
Play = Callable[[str, str, World], Awaitable[Transcript]]
"""(bootstrap, topic, world) -> what the client returned, step by step."""


async def the_same_on_both(play: Play, worlds: list[World], topic: str, *wanted: Difference) -> None:
    """Run the play against us, and where it runs live against stock (by a broker each), and compare."""
    transcripts = {}
    for world in worlds:
        await world.set_rates()  # --verify of the Java tools takes them away
        host, port = await world.address(2)
        transcripts[world.name] = await play(f"{host}:{port}", topic, world)
    assert not (problems := problems_with(topic, transcripts, list(wanted))), "\n".join(problems)


def problems_with(name: str, transcripts: dict[str, Transcript], wanted: list[Difference]) -> list[str]:
    """What ours did otherwise than stock Kafka, whose recording has this name."""
    if live := transcripts.get("stock"):
        RECORDED.check(name, live)
    return unexpected(compare(RECORDED.get(name), transcripts["ours"]), wanted)
