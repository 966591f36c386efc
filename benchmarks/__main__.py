"""Runs benchmarks: `python -m benchmarks NAME…`.

`python -m benchmarks compare OLD [NEW]` shows what has become worse.
"""

import argparse
import asyncio
import os
import platform
import sys
import tempfile
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path

from benchmarks import (
    acls,
    bulk,
    cancel,
    compare,
    exact,
    failover,
    generate,
    growth,
    heal,
    hostile,
    in_front_of_kraft,
    listing,
    passes,
    pipeline,
    progress,
    queueing,
    rps,
    secured,
    small_jobs,
    sooner,
    state_log,
    status_page,
    steps,
    stock_brokers,
    watch,
)
from benchmarks.results import PAGE, ROOT, document, written
from benchmarks.tables import recorded
from kafka_reassign_rpc.embedded_kraft import JarsUnavailable
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from tests.stock import kraft
from tests.stock.jars import BROKER_VERSION, jars

_ZOOKEEPER_JVM = ("-XX:+UseSerialGC", "-XX:-UsePerfData")
"""ZooKeeper runs for minutes here, so it may compile everything, as a real one does."""
_ZOOKEEPER_HEAP_MB = 2048
"""It holds the znodes of several hundred thousand partitions."""

BENCHMARKS: dict[str, Callable[..., Awaitable[str]]] = {
    "acls": acls.run,
    "bulk": bulk.run,
    "list": listing.run,
    "cancel": cancel.run,
    "progress": progress.run,
    "page": status_page.run,
    "watch": watch.run,
    "rps": rps.run,
    "secured": secured.run,
    "hostile": hostile.run,
    "failover": failover.run,
    "growth": growth.run,
    "passes": passes.run,
    "queue": queueing.run,
    "heal": heal.run,
    "pipeline": pipeline.run,
    "small": small_jobs.run,
    "exact": exact.run,
    "generate": generate.run,
    "sooner": sooner.run,
    "steps": steps.run,
    "state-log": state_log.run,
    "kraft": in_front_of_kraft.run,
    "stock": stock_brokers.run,
}


def main() -> int:
    if sys.argv[1:2] == ["compare"]:
        return compare.main(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("which", nargs="*", metavar="|".join(BENCHMARKS), help="all of them if none is named")
    parser.add_argument("--quick", action="store_true", help="small sizes: whether it works, not what it reaches")
    parser.add_argument(
        "--json", metavar="FILE", help=f"where the results go as JSON, too (default: {PAGE}; with --quick: nowhere)"
    )
    arguments = parser.parse_args()
    unknown = [name for name in arguments.which if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)}")
    if "exact" in (arguments.which or BENCHMARKS) and find_spec("ortools") is None:
        parser.error("exact needs OR-tools: pip install 'ortools==9.15.*' (pyproject.toml says why it is not locked)")
    for version in (BROKER_VERSION, kraft.VERSION):
        try:
            jars(version)
        except JarsUnavailable as error:
            parser.error(f"stock Kafka {version} cannot be resolved: {error}")
    file = Path(arguments.json) if arguments.json else None if arguments.quick else ROOT / PAGE
    asyncio.run(_run(arguments.which or list(BENCHMARKS), file, quick=arguments.quick))
    return 0


async def _run(which: list[str], file: Path | None, *, quick: bool) -> None:
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    print(f"{machine}, load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as name:
        directory = Path(name)
        where = directory / "zookeeper"
        async with EmbeddedZooKeeper(where, heap_mb=_ZOOKEEPER_HEAP_MB, jvm=_ZOOKEEPER_JVM) as zookeeper:
            for benchmark in which:
                with recorded() as tables:
                    print(await BENCHMARKS[benchmark](zookeeper.address, directory, quick=quick), flush=True)
                if file is not None:
                    written(document({benchmark: tables}, machine=machine, quick=quick), file)


if __name__ == "__main__":
    raise SystemExit(main())
