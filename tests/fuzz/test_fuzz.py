"""Half a minute of the fuzz, with small frames: only what holds on a busy machine is a finding."""

import pytest

from tests.fuzz.fuzz import Options, fuzz

SECONDS = 30.0
LARGEST = 50_000
MEMORY = 2 * 2**30


@pytest.mark.gate
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1])
async def test_sv_6_whatever_is_sent_the_server_goes_on(seed: int) -> None:
    assert await fuzz(Options(seed, SECONDS, largest=LARGEST, memory=MEMORY, sessions=False)) == []
