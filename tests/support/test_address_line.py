"""`AddressLine`: an address that brings many waits for its own."""

import asyncio

from kafka_reassign_rpc.support.address_line import AddressLine


async def begun(line: AddressLine[str], *names: str) -> dict[str, asyncio.Task[None]]:
    """The first character of a name is its address."""
    tasks = {name: asyncio.create_task(line.wait(name[0], name)) for name in names}
    await asyncio.sleep(0)
    return tasks


def let_in(line: AddressLine[str]) -> list[str]:
    found = []
    while (name := line.first()) is not None:
        found.append(name)
        line.let_in()
    return found


async def test_sv_6_addresses_take_turns() -> None:
    line: AddressLine[str] = AddressLine()
    tasks = await begun(line, "a1", "a2", "a3", "b1", "c1", "b2")
    assert (len(line), line.of("a"), line.of("d"), line.busiest()) == (6, 3, 0, "a")
    assert let_in(line) == ["a1", "b1", "c1", "a2", "b2", "a3"]
    await asyncio.gather(*tasks.values())
    assert (len(line), line.first(), line.busiest()) == (0, None, None)


async def test_sv_6_what_is_cancelled_leaves_the_line_and_what_was_just_let_in_is_given_back() -> None:
    gone: list[str] = []
    line: AddressLine[str] = AddressLine(gone.append)
    tasks = await begun(line, "a1", "a2", "b1")
    tasks["a1"].cancel()
    assert line.first() == "a2", "at once, not only when its task has run"
    line.let_in()
    tasks["a2"].cancel()
    await asyncio.wait([tasks["a1"], tasks["a2"]])
    assert gone == ["a2"]
    assert let_in(line) == ["b1"]
    await tasks["b1"]
    assert len(line) == 0


async def test_sv_6_the_last_of_an_address_is_given_up_with_an_error() -> None:
    gone: list[str] = []
    line: AddressLine[str] = AddressLine(gone.append)
    tasks = await begun(line, "a1", "a2", "b1")
    line.give_up_last("a", ValueError("too busy"))
    found = await asyncio.gather(tasks["a2"], return_exceptions=True)
    assert [str(one) for one in found] == ["too busy"]
    assert (let_in(line), gone) == (["a1", "b1"], [])
    await asyncio.gather(tasks["a1"], tasks["b1"])
