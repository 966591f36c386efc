"""Windows that can no longer be read: the rate that leases had from them still holds."""

from kafka_reassign_rpc.core.settings.windows import WINDOWS
from kafka_reassign_rpc.core.state.throttle_leases import NO_RATE
from kafka_reassign_rpc.core.writers.facts import SettingsFound, TimeTold
from tests.core.build import not_moving, view

READABLE = SettingsFound({WINDOWS: "daily 00:00-24:00 UTC rate=5MB"}, "", {})
WITHOUT_SENSE = SettingsFound({WINDOWS: "garbage"}, "", {})
UNREADABLE = SettingsFound({}, "garbage", {})
NONE = SettingsFound({}, "", {})


def test_dh_5_leases_keep_the_rate_of_the_last_window_while_windows_cannot_be_read() -> None:
    here = view(not_moving(1, 2)).cluster
    for found, rate, starts in [
        (WITHOUT_SENSE, NO_RATE, False),
        (READABLE, 5_000_000, True),
        (UNREADABLE, 5_000_000, True),
        (WITHOUT_SENSE, 5_000_000, False),
        (UNREADABLE, 5_000_000, False),
        (NONE, NO_RATE, None),
    ]:
        for fact in (found, TimeTold(0)):
            for _ in fact.apply(here):
                pass
        window = here.soft.in_force.window
        assert (here.leases.common, window and window.terms.starts) == (rate, starts)
        assert here.settings_problem == found.problem, "no move starts where there is one"
