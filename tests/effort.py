"""How many random examples a test marked `more` tries: all of them in a run of everything, a quarter elsewhere.

A property holds with any number of them: a case that must be there stands by hand beside it.
"""

from tests.tiers import does_more


def examples(count: int) -> int:
    """The number of examples in this run, where a run of everything tries `count`."""
    return count if does_more() else max(2, count // 4)
