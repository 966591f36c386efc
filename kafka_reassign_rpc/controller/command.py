"""What the loop works on: a command decides against a view, and is answered once its round is durable."""

import asyncio
from collections.abc import Iterator
from typing import Generic, TypeVar

from kafka_reassign_rpc.core.changes import View
from kafka_reassign_rpc.core.errors import KafkaError
from kafka_reassign_rpc.core.guard import NO_RULES, Rules
from kafka_reassign_rpc.core.history import CONTROLLER

Answer = TypeVar("Answer")

SLICE = 200
"""Partitions decided between two looks at the clock."""


class Round:
    """One pass of the loop over what was queued: the view that its commands share.

    refused   topics whose znode would not fit into ZooKeeper with this round's changes, with the reason: a
              command that changes their assignment answers with it instead
    rules     what this server was told to hold every new move to
    """

    def __init__(self, view: View, refused: dict[str, KafkaError], rules: Rules = NO_RULES) -> None:
        self.view = view
        self.refused = refused
        self.rules = rules


class Command(Generic[Answer]):
    """Subclasses decide. `decide` may run again for the same command after a lost commit, on the state re-read.

    by   who has asked for it, as events say it
    """

    by: str = CONTROLLER

    def __init__(self) -> None:
        self.future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answer: Answer

    def decide(self, work: Round) -> Iterator[None]:
        """Add changes to `work.view`, yielding at least every `SLICE` partitions; then call `answer`."""
        raise NotImplementedError

    def answer(self, answer: Answer) -> None:
        """What to answer once everything that this round changes is durable."""
        self._answer = answer

    def durable(self) -> None:
        if not self.future.done():
            self.future.set_result(self._answer)

    def failed(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)
            self.future.exception()  # nobody may be waiting any more: that is not worth a warning
