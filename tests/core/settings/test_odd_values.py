"""Which values of settings are taken and named with what follows."""

import pytest

from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS, consequence

MOVES = "partition.reassignments.max.per"
WINDOW = "mon-fri 22:00-06:00 Europe/Berlin"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (f"{MOVES}.broker", "0", "no move that copies anything starts, no repair either"),
        (f"{MOVES}.broker", "-0", "no move that copies anything starts, no repair either"),
        (f"{MOVES}.cluster", " 00", "no move that copies anything starts, no repair either"),
        ("partition.reassignments.max.bytes.in.flight", "0", "one at a time"),
        ("self.healing.max.failed.brokers", "0", "no lost broker is ever repaired"),
        ("self.healing.max.failed.percentage", "0", "no lost broker is ever repaired"),
        ("reassignment.windows", f"{WINDOW} max.per.broker=0", f"max.per.broker=0 of {WINDOW!r}"),
        ("reassignment.windows", f"{WINDOW}; otherwise max.per.cluster=0", "max.per.cluster=0 of 'otherwise'"),
        ("failure.interval.ms", "30", "a broker that restarts is away for longer"),
    ],
)
def test_hm_1_a_value_that_keeps_moves_or_repairs_away_is_named_with_that(name: str, value: str, said: str) -> None:
    assert said in (consequence(name, value) or "")


@pytest.mark.parametrize("name", SERVER_SETTINGS)
def test_hm_1_other_values_follow_from_no_slip(name: str) -> None:
    for value in ("", "-1", "1", "true", "garbage", "60000", f"{WINDOW} max.per.cluster=2"):
        if name != "failure.interval.ms" or value != "1":
            assert consequence(name, value) is None
