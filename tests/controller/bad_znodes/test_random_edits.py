"""Random histories of a controller whose znodes somebody edits, each by its seed (docs/campaign.md)."""

import pytest

from tests.controller.bad_znodes.random_edits import differences

STEPS = 40
SEEDS = (3005, 3006, 3007)
"""Each has failed where defects that such histories found were put back: d871a24d, bf4ad144 and b9153787 undone."""


@pytest.mark.release
@pytest.mark.parametrize("seed", SEEDS)
async def test_sv_4_whatever_hands_write_into_znodes_each_partition_ends_in_sync_where_it_is_assigned(
    zk_connect: str, seed: int
) -> None:
    found = await differences(zk_connect, seed, STEPS)
    assert not found, f"python -m tests.controller.bad_znodes.random_edits {seed} 1 --steps {STEPS} --show"
