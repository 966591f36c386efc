"""The setting `reassignment.windows`: what it takes, and what it says of all else."""

import pytest

from kafka_reassign_rpc.core.settings.windows import MOST_CHARACTERS, Terms, parse_windows
from tests.tables import for_each


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        ("mon-fri", {0, 1, 2, 3, 4}),
        ("sat,sun", {5, 6}),
        ("fri-mon", {4, 5, 6, 0}),
        ("wed", {2}),
        ("mon,wed-thu", {0, 2, 3}),
        ("daily", {0, 1, 2, 3, 4, 5, 6}),
    ],
)
def test_dh_5_a_window_names_the_days_on_which_it_begins(days: str, expected: set[int]) -> None:
    found = parse_windows(f"{days} 22:00-06:00 Europe/Berlin")
    assert found is not None
    assert found.windows[0].days == expected
    assert (found.windows[0].begin, found.windows[0].end, found.otherwise) == (1320, 360, Terms(starts=False))


def test_dh_5_windows_have_caps_and_so_has_what_holds_otherwise() -> None:
    found = parse_windows("daily 00:00-24:00 UTC max.per.broker=2 max.per.cluster=0 ; otherwise max.per.cluster=3;")
    assert found is not None
    assert (found.windows[0].terms, found.otherwise) == (Terms(True, 2, 0), Terms(True, None, 3))
    assert parse_windows(" ; ") is None


def test_dh_5_a_window_has_a_rate_of_leases_and_so_has_what_holds_otherwise() -> None:
    found = parse_windows(
        "daily 22:00-06:00 UTC rate=100MB max.per.cluster=7; otherwise max.per.cluster=0 rate=5000000"
    )
    assert found is not None
    assert found.windows[0].terms == Terms(per_cluster=7, rate=100_000_000)
    assert found.otherwise == Terms(per_cluster=0, rate=5_000_000)


@for_each(
    ("text", "advice"),
    [
        ("22:00-06:00 Europe/Berlin", "write days, times and time zone"),
        ("mon-fri 22:00-06:00", "write days, times and time zone"),
        ("mon-fri 22-6 UTC", "write days, times and time zone"),
        ("mon-fri 24:00-06:00 UTC", "times are from 00:00 to 24:00"),
        ("mon-fri 22:00-24:01 UTC", "times are from 00:00 to 24:00"),
        ("mon-fri 06:00-06:00 UTC", "a whole day is 00:00-24:00"),
        ("weekdays 22:00-06:00 UTC", "days are mon-fri, sat,sun or daily"),
        ("mon- 22:00-06:00 UTC", "days are mon-fri, sat,sun or daily"),
        ("mon-fri 22:00-06:00 Europe/Berlni", "no time zone of this host"),
        ("mon-fri 22:00-06:00 ../../etc/passwd", "no time zone of this host"),
        ("mon-fri 22:00-06:00 Europe", "no time zone of this host"),
        ("mon-fri 22:00-06:00 UTC max.moves=2", "write max.per.broker=N"),
        ("mon-fri 22:00-06:00 UTC max.per.broker=-1", "write max.per.broker=N"),
        ("mon-fri 22:00-06:00 UTC max.per.broker=1 max.per.broker=2", "each once"),
        ("daily 22:00-06:00 UTC rate=0", "rate=40MB"),
        ("daily 22:00-06:00 UTC rate=-1", "rate=40MB"),
        ("daily 22:00-06:00 UTC rate=fast", "rate=40MB"),
        ("daily 22:00-06:00 UTC rate=1MB rate=2MB", "each once"),
        ("daily 22:00-06:00 UTC rate=99999999999PB", "rate=40MB"),
        ("otherwise max.per.cluster=2", "name a window before"),
        ("otherwise max.per.cluster=2; daily 01:00-02:00 UTC", "put 'otherwise' last"),
        ("daily 01:00-02:00 UTC; otherwise", "say after 'otherwise'"),
        ("daily 01:00-02:00 UTC;" * 21, "at most 20 windows"),
        ("x" * (MOST_CHARACTERS + 1), "at most 2000 characters"),
    ],
)
def test_dh_5_what_is_not_clear_is_refused_with_what_to_do(text: str, advice: str) -> None:
    with pytest.raises(ValueError, match=advice.replace(".", r"\.")):
        parse_windows(text)
