"""Shows what has become worse between two results: `python -m benchmarks compare OLD [NEW]`."""

import argparse
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.results import NOISE, PAGE, ROOT, Change, NoResults, compared, read, unlike


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks compare",
        description="Prints each figure: old, new, new over old. Ends with 1 where one is worse beyond the noise.",
    )
    parser.add_argument("old", metavar="OLD", help=f"a file of results, or a commit: its {PAGE}")
    parser.add_argument(
        "new", metavar="NEW", nargs="?", default=str(ROOT / PAGE), help=f"another one (default: {PAGE})"
    )
    parser.add_argument(
        "--noise",
        type=float,
        default=NOISE,
        help="by which part a figure may be worse: 0.25 for a quarter more time (default: %(default)s)",
    )
    arguments = parser.parse_args(argv)
    try:
        old, new = read(arguments.old), read(arguments.new)
    except NoResults as error:
        parser.error(str(error))
    changes = compared(old, new)
    for line in (*_lines(changes, arguments.noise), *unlike(old, new)):
        print(line)
    worse = sum(change.is_worse(arguments.noise) for change in changes)
    verb = "is" if worse == 1 else "are"
    print(f"{worse} of {len(changes)} figures {verb} worse by more than {arguments.noise * 100:g} %")
    return 1 if worse else 0


def _lines(changes: Iterable[Change], noise: float) -> Iterator[str]:
    """A line for each figure: old, new, ratio, its name, and whether it is worse."""
    for change in changes:
        old, new = (one.text if one is not None else "-" for one in (change.old, change.new))
        times = "-" if change.ratio is None else f"{change.ratio:.2f}"
        mark = "  WORSE" if change.is_worse(noise) else ""
        yield f"{old:>12}  {new:>12}  {times:>6}  {change.name}{mark}"
