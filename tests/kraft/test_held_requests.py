"""kr-9: requests wait for a server that leads, so that clients of the front do not leave for the brokers."""

import asyncio

from kafka_reassign_rpc.kraft.front.front import HeldRequests


async def test_kr_9_a_request_waits_until_a_server_leads_and_no_longer_than_a_bound() -> None:
    is_led = False
    held = HeldRequests(lambda: is_led, seconds=60)
    waiting = [asyncio.create_task(held.led()) for _ in range(3)]
    await asyncio.sleep(0)
    held.news()
    await asyncio.sleep(0)
    assert not any(one.done() for one in waiting), "what has changed was something else"
    is_led = True
    held.news()
    await asyncio.wait_for(asyncio.gather(*waiting), 10)
    await asyncio.wait_for(held.led(), 10)
    is_led = False
    await asyncio.wait_for(HeldRequests(lambda: is_led, seconds=0.01).led(), 10)


async def test_kr_9_only_so_many_requests_wait_and_one_that_is_given_up_makes_room() -> None:
    held = HeldRequests(lambda: False, seconds=60, most=1)
    first = asyncio.create_task(held.led())
    await asyncio.sleep(0)
    await asyncio.wait_for(held.led(), 10)
    first.cancel()
    await asyncio.wait([first])
    second = asyncio.create_task(held.led())
    await asyncio.sleep(0)
    assert not second.done()
    second.cancel()
