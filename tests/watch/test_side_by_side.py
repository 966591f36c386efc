"""kr-1: several that watch one cluster know nothing of each other, and each tells who ended how."""

from functools import partial
from pathlib import Path

from tests.controller.cluster import cluster
from tests.waiting import eventually
from tests.watch.watching import Watch, watching

TARGETS = {"done": (1, 3), "back": (1, 4), "other": (1, 5), "gone": (2, 4)}
OUTCOMES = {
    ("move.completed", "done"),
    ("move.cancelled", "back"),
    ("move.retargeted", "other"),
    ("move.gone", "gone"),
}


async def _shown(watch: Watch) -> dict[str, tuple[int, ...]]:
    return {one["topic"]: tuple(one["target"]) for one in (await watch.moves()).values()}


async def _shows_all(watch: Watch) -> bool:
    moves = (await watch.moves()).values()
    return await _shown(watch) == TARGETS and all(move["id"] and move["since"] for move in moves)


async def _has(watch: Watch, *wanted: tuple[str, str]) -> bool:
    return set(wanted) <= set(await watch.events())


async def test_kr_1_two_watch_one_cluster_and_one_goes_on_without_the_other(zk_connect: str, tmp_path: Path) -> None:
    async with cluster(zk_connect) as world, watching(world.bootstrap, tmp_path / "a") as stays:
        for topic in TARGETS:
            await world.create_topic(topic, {0: [1, 2]}, held=True)
        async with watching(world.bootstrap, tmp_path / "b") as leaves:
            for one in (stays, leaves):
                await eventually(lambda one=one: one.watcher.answers)  # type: ignore[misc]
            await world.alter({(topic, 0): target for topic, target in TARGETS.items()})
            for one in (stays, leaves):
                await eventually(partial(_shows_all, one))
            await world.alter({("back", 0): None, ("other", 0): (1, 3)})
            for one in (stays, leaves):
                await eventually(partial(_has, one, ("move.cancelled", "back"), ("move.retargeted", "other")))
        await world.release("done")
        await world.delete_topic("gone")
        await eventually(partial(_has, stays, *OUTCOMES))
        [ended] = [one for one in (await stays.document("events"))["events"] if one["event"] == "move.gone"]
        assert ended["reason"] == "its partition was deleted"
        assert await _shown(stays) == {"other": (1, 3)}
