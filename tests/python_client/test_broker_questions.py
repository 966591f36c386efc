"""kr-1: questions to single brokers, outside of the loop."""

import asyncio
from typing import Any

from kafka_reassign_rpc.client.broker_questions import BrokerQuestions
from kafka_reassign_rpc.client.polling_pace import Ask


async def test_kr_1_a_watch_that_closes_asks_no_longer_whatever_its_questions_have_found() -> None:
    """The client closes after them: a defect of one question would leave its connections open, and end the watch."""
    lost: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: lost.append(context))
    begun = asyncio.Event()

    async def nothing() -> dict[int, Any]:
        return {}

    async def never() -> dict[int, Any]:
        begun.set()
        await asyncio.Event().wait()
        return {}

    questions = BrokerQuestions()
    for broker in (1, 2):
        questions.ask(broker, Ask.SIZES, nothing())
    questions.ask(3, Ask.SIZES, never())
    await begun.wait()
    await questions.close()
    assert (questions.are_open, lost) == (False, [])
