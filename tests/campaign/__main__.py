"""`python -m tests.campaign --seed 7 --minutes 5`."""

import argparse
import asyncio
import random
import sys
from functools import partial

from tests.stock.kraft import VERSION

from .campaign import campaign, in_front_of_zookeeper
from .kraft.kraft_course import in_front_of_kraft
from .kraft.kraft_kinds import KINDS as KINDS_OF_KRAFT
from .steps import KINDS


def main() -> int:
    """0 where everything held, else 1."""
    parser = argparse.ArgumentParser(prog="make campaign", description=__doc__)
    parser.add_argument("--seed", type=int, help="repeats a campaign; drawn if it is not given")
    parser.add_argument("--minutes", type=float, default=2.0, help="in which steps begin (default: 2)")
    parser.add_argument(
        "--without", nargs="*", choices=[*KINDS, *KINDS_OF_KRAFT], default=[], metavar="KIND", help="draw none"
    )
    parser.add_argument(
        "--upgrade", action="store_true", help="brokers begin with 2.8.2 and are upgraded; take 3 minutes"
    )
    parser.add_argument(
        "--secured", action="store_true", help="SASL_SSL, ACLs, and a ZooKeeper whose znodes only brokers may write"
    )
    parser.add_argument(
        "--kraft", nargs="?", const="1", metavar="RELEASE", help=f"in front of KRaft of this release; 1: of {VERSION}"
    )
    parser.add_argument("--small", action="store_true", help="with --kraft: brokers are the controllers")
    parser.add_argument("--plan", action="store_true", help="print the steps and end")
    parser.add_argument("--keep", action="store_true", help="keep what the processes leave, whatever the outcome")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(1_000_000) if given.seed is None else given.seed
    off = sorted(set(given.without))
    if given.kraft:
        version = VERSION if given.kraft == "1" else given.kraft
        course = in_front_of_kraft(seed, given.minutes * 60, off, version, small=given.small)
    else:
        options = {"upgrade": given.upgrade, "secure": given.secured}
        course = in_front_of_zookeeper(seed, given.minutes * 60, off, **options)
    if given.plan:
        print(*course.steps, sep="\n")
        return 0
    held = asyncio.run(campaign(seed, course, say=partial(print, flush=True), keep=given.keep))
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
