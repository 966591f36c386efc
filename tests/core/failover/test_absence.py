"""Whether what waits is held at the start of a term: it depends on who has controlled the cluster before, and for how
long.
"""

from kafka_reassign_rpc.core.failover import UNREADABLE, LastControl, held_after
from kafka_reassign_rpc.core.settings.reassignment_settings import HOLD_AFTER_ABSENCE, ReassignmentSettings
from kafka_reassign_rpc.core.settings.settings_in_force import derived
from tests.tables import for_each

HOUR = 3_600_000
UNTIL = 1_790_000_000_000
LAST = LastControl(7, UNTIL)
KRAFT = LastControl(7, UNTIL, kraft=True)
OTHERS = "others have controlled this cluster since 2026-09-21 14:13:20 UTC: check whether the move still makes sense"
BY_KRAFT = "KRaft has controlled this cluster since 2026-09-21 14:13:20 UTC: check whether the move still makes sense"

CASES = {
    "no server has ever left a mark": (None, 9, 10 * HOUR, HOUR, None),
    "a failover between servers, however long there was no controller": (LAST, 8, 1000 * HOUR, HOUR, None),
    "a server was elected and died before its mark": (LAST, 9, 60_000, HOUR, None),
    "a short interlude of a stock controller": (LAST, 9, HOUR, HOUR, None),
    "a long one": (LAST, 9, HOUR + 1, HOUR, OTHERS),
    "any one, where the setting is 0": (LAST, 9, 1, 0, OTHERS),
    "a long one, where the setting is -1": (LAST, 9, 1000 * HOUR, -1, None),
    "a long one, after which the epoch was deleted": (LAST, 1, HOUR + 1, HOUR, OTHERS),
    "a clock that went back": (LAST, 9, -HOUR, HOUR, None),
    "a short one of KRaft": (KRAFT, 9, 1000, HOUR, BY_KRAFT),
    "one of KRaft, where the setting is -1": (KRAFT, 9, 1000, -1, BY_KRAFT),
    "a mark that cannot be read": ("garbage", 9, 0, HOUR, UNREADABLE),
}


@for_each("case", CASES)
def test_dh_7_what_waits_is_held_after_a_long_absence_of_ours(case: str) -> None:
    last, epoch, after, limit, why = CASES[case]
    held = held_after(last, epoch, UNTIL + after, limit)
    assert (None if held is None else held.reason) == why
    assert held is None or (held.who, held.since) == ("controller", UNTIL + after)


def test_dh_7_the_limit_is_a_setting_of_all_servers() -> None:
    own = ReassignmentSettings(hold_after_absence_ms=5)
    assert derived((), own).hold_after_absence_ms == 5
    assert derived(({HOLD_AFTER_ABSENCE: "-1"},), own).hold_after_absence_ms == -1
    assert derived(({HOLD_AFTER_ABSENCE: "long"},), own).hold_after_absence_ms == 5
    assert derived(()).hold_after_absence_ms == HOUR
