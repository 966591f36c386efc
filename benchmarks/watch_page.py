"""The page of a `watch` in Chromium: how soon it shows moves, how smoothly it goes on, and what it holds."""

import time
from pathlib import Path

from benchmarks.tables import duration
from tests.status_page.browser import Tab, browser
from tests.waiting import eventually

WATCHED_MS = 15_000
HEAD = ("moves in flight", "loaded", "moves shown", "frames, 95th", "longest frame", "heap", "elements")
FRAMES = """new Promise((done) => {
  const gaps = [], end = performance.now() + %d;
  let last = performance.now();
  const frame = (now) => {
    gaps.push(now - last);
    last = now;
    now < end ? requestAnimationFrame(frame) : done(gaps.sort((one, other) => one - other));
  };
  requestAnimationFrame(frame);
})"""
"""Milliseconds between two frames, sorted: while the page brings itself up to date several times."""
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


async def measured(address: str, moves: int, profile: Path) -> tuple[str, ...]:
    """A row below HEAD."""
    async with browser(profile) as tab:
        began = time.perf_counter()
        await tab.open(f"http://{address}/")
        await eventually(lambda: _shows_moves(tab), within=60)
        shown = time.perf_counter() - began
        await tab.unfold()
        gaps = await tab.value(FRAMES % WATCHED_MS)
        await tab.call("HeapProfiler.collectGarbage")
        heap = await tab.value("performance.memory.usedJSHeapSize")
        assert tab.problems == [], tab.problems
        return (
            f"{moves:,}",
            duration(await tab.value(LOADED) / 1000),
            duration(shown),
            duration(gaps[len(gaps) * 95 // 100] / 1000),
            duration(gaps[-1] / 1000),
            f"{heap / 1e6:.1f} MB",
            f"{await tab.value('document.querySelectorAll(`*`).length'):,}",
        )


async def _shows_moves(tab: Tab) -> bool:
    return len(await tab.rows("#moves")) > 0
