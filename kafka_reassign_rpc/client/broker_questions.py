"""A broker has one question at a time. One that has been late is not waited for, and one that does not answer is asked
again after a pause that grows.
"""

import asyncio
from collections.abc import Collection, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple

from kafka_reassign_rpc.client import KafkaError
from kafka_reassign_rpc.client.client_errors import Unreachable
from kafka_reassign_rpc.client.polling_pace import Ask, Traffic, counted
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.slices import forget_others
from kafka_reassign_rpc.support.wall_clock import now_ms

ANSWER_S = 5.0
"""After these seconds without an answer a question counts as unanswered."""
WAIT_S = 1.0
"""How long a look waits for answers. A later one is in a later look: those of other brokers do not wait for it."""
NO_ANSWER = f"It did not answer within {ANSWER_S:g} s."
NOTHING: Mapping[str, Sequence[int]] = {}
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 10.0
"""Before a broker is asked again that has not answered."""


class Answer(NamedTuple):
    """What was asked, `of` which partitions; `found` may be a KafkaError. It was asked at `began` and answered `at`, by
    the loop's clock; `asked_at` is in ms since 1970.
    """

    broker: int
    what: Ask
    of: Mapping[str, Sequence[int]]
    found: Any
    began: float
    at: float
    asked_at: int
    cost: Traffic


class _Asked(NamedTuple):
    task: asyncio.Task[Answer]
    began: float


class _Rest(NamedTuple):
    until: float
    backoff: Backoff


class BrokerQuestions:
    """`heard_at`: when each broker has answered last, ms since 1970."""

    def __init__(self) -> None:
        self.heard_at: dict[int, int] = {}
        self._asked: dict[int, _Asked] = {}
        self._late: set[int] = set()
        """Brokers that have kept a look waiting, and not answered in time since."""
        self._rests: dict[int, _Rest] = {}

    @property
    def are_open(self) -> bool:
        """An answer may have come since the last `wait`."""
        return bool(self._asked)

    def is_free(self, broker: int) -> bool:
        rest = self._rests.get(broker)
        return broker not in self._asked and (rest is None or rest.until <= _now())

    def is_silent(self, broker: int) -> bool:
        """It has not answered the last question, or not for `ANSWER_S`."""
        asked = self._asked.get(broker)
        return broker in self._rests or (asked is not None and _now() - asked.began > ANSWER_S)

    def ask(
        self, broker: int, what: Ask, work: Coroutine[Any, Any, Any], of: Mapping[str, Sequence[int]] = NOTHING
    ) -> None:
        """Asks a broker that is free. `work` gives answers by brokers; a later `wait` has this one's."""
        task = asyncio.create_task(_answered(broker, what, work, of), name=f"broker-{broker}")
        self._asked[broker] = _Asked(task, _now())

    async def wait(self) -> list[Answer]:
        """Waits, at most `WAIT_S`, for brokers that mostly answer in time; gives all answers that have come."""
        answers = []
        prompt = [one.task for broker, one in self._asked.items() if broker not in self._late]
        if prompt:
            await asyncio.wait(prompt, timeout=WAIT_S)
        for broker, one in list(self._asked.items()):
            if not one.task.done():
                self._late.add(broker)
                continue
            del self._asked[broker]
            answer = one.task.result()
            if isinstance(answer.found, Unreachable):
                backoff = self._rests[broker].backoff if broker in self._rests else _backoff()
                self._rests[broker] = _Rest(_now() + backoff.next_s(), backoff)
            else:
                self._rests.pop(broker, None)
                self.heard_at[broker] = now_ms()
            if answer.at - one.began <= WAIT_S:
                self._late.discard(broker)
            answers.append(answer)
        return answers

    def changed(self, before: Collection[int], now: Collection[int]) -> None:
        """Brokers that are registered again may be asked at once."""
        for known in (self.heard_at, self._rests):
            forget_others(known, {*before} & {*now})
        self._late &= {*now}

    async def close(self) -> None:
        """Results and errors of questions under way are dropped."""
        tasks = [one.task for one in self._asked.values()]
        self._asked = {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _answered(broker: int, what: Ask, work: Coroutine[Any, Any, Any], of: Mapping[str, Sequence[int]]) -> Answer:
    began, asked_at = _now(), now_ms()
    found: Any
    with counted() as cost:
        try:
            found = (await work)[broker]
        except KafkaError as error:
            found = error
    return Answer(broker, what, of, found, began, _now(), asked_at, cost)


def _backoff() -> Backoff:
    return Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)


def _now() -> float:
    return asyncio.get_running_loop().time()
