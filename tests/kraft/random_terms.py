"""Random histories of terms in front of KRaft, as many as are asked for.

PYTHONHASHSEED=0 python -m tests.kraft.random_terms 1000 200         # 200 histories, from this seed on
PYTHONHASHSEED=0 python -m tests.kraft.random_terms 1234 1 --show    # what happens, and each move by the log
"""

import argparse
import logging
import sys
from collections.abc import Callable, Collection, Mapping
from unittest import mock

from kafka_reassign_rpc.controller.duties.progress_sampling import ProgressSampler, Sample
from kafka_reassign_rpc.core.healing.failed_brokers import DescribedLogDirs
from tests.campaign.kraft.intent_checks import Story
from tests.kraft import virtual_time
from tests.kraft.random_history import History


async def _history(seed: int, say: Callable[[str], None]) -> tuple[list[str], Story]:
    here = History(seed, say)

    async def failed(_: ProgressSampler, brokers: Collection[int]) -> Mapping[int, DescribedLogDirs]:
        live = here.loop.cluster.brokers
        return {one: DescribedLogDirs(live[one].epoch, None) for one in brokers if one in live}

    async def everything(_: ProgressSampler) -> Sample:
        return Sample({}, {})

    with (
        mock.patch.object(ProgressSampler, "failed_log_dirs", failed),
        mock.patch.object(ProgressSampler, "everything", everything),
    ):
        await here.pass_by()
        await here.come_to_rest()
    return here.judged()


def differences(seed: int, say: Callable[[str], None] = lambda _: None) -> tuple[list[str], Story]:
    """What does not hold, and what the log tells. Raises AssertionError where there is no rest."""
    return virtual_time.run(_history(seed, say))


def main() -> int:
    """0 where all held, else 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    failed, moves = 0, 0
    for seed in range(given.seed, given.seed + given.count):
        try:
            found, told = differences(seed, print if given.show else lambda _: None)
        except Exception as error:
            if given.show:
                raise
            found, told = [repr(error)], Story()
        if found:
            failed += 1
            print(f"seed {seed}:", *found, sep="\n  ", flush=True)
        if given.show:
            print(*told.lives, sep="\n")
        moves += len(told.lives)
    print(f"{given.count} histories, {moves} moves, {failed} failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
