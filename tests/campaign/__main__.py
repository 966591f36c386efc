"""`python -m tests.campaign --seed 7 --minutes 5`."""

import argparse
import asyncio
import random
import sys
from functools import partial

from .campaign import campaign
from .generator import plan
from .steps import KINDS


def main() -> int:
    """0 where everything held, else 1."""
    parser = argparse.ArgumentParser(prog="make campaign", description=__doc__)
    parser.add_argument("--seed", type=int, help="repeats a campaign; drawn if it is not given")
    parser.add_argument("--minutes", type=float, default=2.0, help="in which steps begin (default: 2)")
    parser.add_argument("--without", nargs="*", choices=list(KINDS), default=[], metavar="KIND", help="draw none")
    parser.add_argument(
        "--upgrade", action="store_true", help="brokers begin with 2.8.2 and are upgraded; take 3 minutes"
    )
    parser.add_argument(
        "--secured", action="store_true", help="SASL_SSL, ACLs, and a ZooKeeper whose znodes only brokers may write"
    )
    parser.add_argument("--plan", action="store_true", help="print the steps and end")
    parser.add_argument("--keep", action="store_true", help="keep what the processes leave, whatever the outcome")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(1_000_000) if given.seed is None else given.seed
    off = sorted(set(given.without))
    if given.plan:
        print(*plan(seed, given.minutes * 60, off, upgrade=given.upgrade), sep="\n")
        return 0
    options = {"upgrade": given.upgrade, "secure": given.secured, "keep": given.keep}
    held = asyncio.run(campaign(seed, given.minutes * 60, off, say=partial(print, flush=True), **options))
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
