"""A hand-over and deletions keep out of each other's way."""

import asyncio
from pathlib import Path
from typing import Any, cast

from .security import OPEN
from .site import Site


class NothingMarked:
    """ZooKeeper without a topic that is marked for deletion."""

    async def children(self, path: str) -> list[str]:
        return []


def made_site() -> Site:
    nothing = cast(Any, None)
    return Site(Path(), nothing, cast(Any, NothingMarked()), nothing, OPEN)


async def test_sv_4_a_hand_over_waits_for_a_deletion_whose_topic_is_not_marked_yet() -> None:
    site = made_site()
    async with site.deletion():
        site.ours.clear()
        assert not await site.nothing_is_deleted()
    assert await site.nothing_is_deleted()


async def test_sv_4_a_deletion_waits_for_the_next_hand_over_too_where_that_begins_at_once() -> None:
    site = made_site()
    site.ours.clear()

    async def delete() -> None:
        async with site.deletion():
            assert site.ours.is_set()

    deletion = asyncio.create_task(delete())
    await asyncio.sleep(0)
    site.ours.set()
    site.ours.clear()
    await asyncio.sleep(0)
    assert await site.nothing_is_deleted()
    assert not deletion.done()
    site.ours.set()
    await asyncio.wait_for(deletion, 60)
