"""Whether watch goes on while a process is frozen (SIGSTOP): by what it sees in that time, not by a clock."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_reassign_rpc.watch.watcher import Watcher
from tests.waiting import eventually
from tests.watch.watching import Watch

NEVER_MS = 300_000
"""The request timeout: a look that waits for an answer of a frozen process fails its test."""
IMPATIENT: dict[str, Any] = {"request_timeout_ms": NEVER_MS, "bootstrap_timeout_ms": NEVER_MS}
LOOKS = 8


class Looks:
    """`count`: how many times the moves have been looked at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        look = Watcher._look_at_moves

        async def counted(watcher: Watcher, client: Any) -> None:
            await look(watcher, client)
            self.count += 1

        monkeypatch.setattr(Watcher, "_look_at_moves", counted)

    async def go_on(self) -> None:
        seen = self.count
        await eventually(lambda: self.count >= seen + LOOKS)


def open_questions(watch: Watch, node: int) -> int:
    """Requests of this watch that the node has not answered."""
    client = watch.watcher._client
    assert client is not None
    assert client._router is not None
    connection = client._router._nodes._open.get(node)
    return 0 if connection is None else connection.client.in_flight


async def silence_is_said(watch: Watch, hung: int) -> str:
    """With the time of the last answer."""

    async def said() -> str:
        texts = await watch.problems()
        return next((one for one in texts if one.startswith(f"Broker {hung} (last answer 2")), "")

    text: str = await eventually(said)
    assert text.endswith(" UTC): sizes are not known, there is no answer")
    return text


async def others_go_on(watch: Watch, looks: Looks, hung: int, copied: Callable[[Any], bool], other: int) -> None:
    """While `hung` is frozen: looks, the bytes of a move of others (`copied` takes all moves), and throttles of
    `other`. The frozen one has one question of its own at most, beside one that it was asked in place of others."""

    async def readings() -> dict[int, Any]:
        return {one["id"]: one for one in (await watch.document("brokers"))["brokers"]}

    before = (await readings())[other]["throttles_at"]
    for _ in range(2):
        await looks.go_on()
        assert open_questions(watch, hung) <= 2

    async def is_copied() -> bool:
        return copied(await watch.moves())

    await eventually(is_copied)

    async def are_read_again() -> bool:
        return bool((await readings())[other]["throttles_at"] > before)

    await eventually(are_read_again)

    async def is_unknown() -> bool:
        return not (await readings())[hung]["throttles_known"]

    await eventually(is_unknown)
    assert watch.watcher.answers
    assert open_questions(watch, hung) <= 2


async def is_heard_again(watch: Watch, hung: int) -> None:
    async def heard() -> bool:
        brokers = {one["id"]: one for one in (await watch.document("brokers"))["brokers"]}
        texts = await watch.problems()
        return brokers[hung]["throttles_known"] and not any("there is no answer" in text for text in texts)

    await eventually(heard)
