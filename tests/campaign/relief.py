"""Producers get another coordinator where a stock broker never loads its transactions (`stock_coordinators`).

A producer that has asked that broker before asks it again and again. The next one of its id, which the load starts
within a minute or so, asks for the coordinator anew.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from . import topic_steps
from .checks import stuck_coordinators
from .facts import Facts, Name, read_states
from .site import Site
from .stock_coordinators import failed_loads


async def relieve(site: Site, say: Callable[[str], None]) -> None:
    """Another replica is made the preferred leader, and elected. Until that has come about, call it again.

    Raises OSError, EOFError, LookupError, ZkError where nobody answers.
    """
    facts = replace(await read_states(site.zk), unloaded=await asyncio.to_thread(failed_loads, site.broker_logs))
    for (topic, index), order in orders(facts).items():
        moved = await topic_steps.move(site, topic, {index: order})
        elected = await topic_steps.elect_preferred(site, topic, [index])
        say(
            f"broker {order[-1]} never loads {topic}-{index}, a defect of stock brokers; {order[0]} is to lead it: "
            f"preferred, {moved}; elected, {elected}"
        )


def orders(facts: Facts) -> dict[Name, list[int]]:
    """The replicas of partitions with such a coordinator: one in sync comes first, the coordinator last.

    A partition that moves, or has no other replica in sync, has to wait.
    """
    found = {}
    for name, broker in stuck_coordinators(facts).items():
        topic, isr = facts.topics[name[0]], facts.states[name].isr
        others = sorted((one for one in topic.replicas[name[1]] if one != broker), key=lambda one: one not in isr)
        if name[1] not in topic.moving and set(others) & set(isr):
            found[name] = [*others, broker]
    return found
