"""How many random examples a run of the tests tries: all of them in CI, a quarter elsewhere."""

from tests.stock.live import runs_live


def examples(count: int) -> int:
    """The number of examples in this run, where CI tries `count`."""
    return count if runs_live() else max(2, count // 4)
