"""How fast this machine is, by work that is known: what tests may take is said for one pace, and machines differ by
three times.
"""

import statistics
import threading
import time
from types import TracebackType

USUAL_S = 0.0007
"""What `usual_work` takes on the machine that budgets of runs were measured on, beside their tests."""
EACH_S = 5.0


def usual_work() -> float:
    """Does it. Returns its seconds of CPU."""
    since = time.thread_time()
    made = {str(number): (number,) for number in range(5_000)}
    del made
    return time.thread_time() - since


class Pace:
    """Measures all the while, in a thread: a machine is slower beside others, and by the hour."""

    def __init__(self) -> None:
        self._took: list[float] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._measure, name="pace", daemon=True)

    def __enter__(self) -> "Pace":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def slowness(self) -> float:
        """How many times longer than usual the middle one took; 1 for a machine that is as fast, or faster."""
        return max(1.0, statistics.median(self._took) / USUAL_S)

    def _measure(self) -> None:
        usual_work()  # the first one makes room in memory, which costs as much again
        while True:
            self._took.append(usual_work())
            if self._ended.wait(EACH_S):
                return
