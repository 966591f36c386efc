"""Without the search for garbage in cycles: again and again it visits millions of tuples that are in use, which takes a
sixth of a large plan.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_search_for_cycles() -> Iterator[None]:
    """What is in no cycle goes at once, as always; what is in one, after the block."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
