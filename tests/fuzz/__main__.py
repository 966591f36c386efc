"""`python -m tests.fuzz --seed 7 --minutes 5`: anything at all is sent to a server, which has to go on working."""

import argparse
import asyncio
import random
import sys
from functools import partial

from .fuzz import Options, fuzz
from .lanes import USUAL, WORKERS


def main() -> int:
    """0 where nothing was found, else 1."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, help="sends the same cases again; drawn if it is not given")
    parser.add_argument("--minutes", type=float, default=2.0, help="how long (default: 2)")
    parser.add_argument("--lanes", nargs="+", choices=sorted(WORKERS), default=sorted(USUAL), metavar="LANE",
                        help=f"run only these of {', '.join(WORKERS)} (default: all but bursts)")  # fmt: skip
    parser.add_argument("--first", type=int, default=0, metavar="CASE", help="begin with this case of each lane")
    parser.add_argument("--largest", type=int, default=Options(0, 0).largest, metavar="BYTES", help="the largest frame")
    parser.add_argument("--wait-ms", type=float, default=1000, metavar="MS",
                        help="a longer wait of an honest client is a finding (default: 1000; 0: none is)")  # fmt: skip
    parser.add_argument("--memory-mb", type=int, default=600, metavar="MB",
                        help="more resident memory of the server is a finding (default: 600)")  # fmt: skip
    parser.add_argument("--keep", action="store_true", help="keep what the processes leave, whatever the outcome")
    given = parser.parse_args()
    options = Options(
        seed=random.SystemRandom().randrange(1_000_000) if given.seed is None else given.seed,
        seconds=given.minutes * 60,
        lanes=frozenset(given.lanes),
        first=given.first,
        largest=given.largest,
        memory=given.memory_mb * 2**20,
        wait=given.wait_ms / 1000 or None,
    )
    return 1 if asyncio.run(fuzz(options, say=partial(print, flush=True), keep=given.keep)) else 0


if __name__ == "__main__":
    sys.exit(main())
