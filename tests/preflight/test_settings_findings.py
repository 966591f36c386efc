"""What the check says of the settings that all servers share, without a cluster."""

import pytest

from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.preflight.findings import Level
from kafka_reassign_rpc.preflight.settings_findings import of_settings


@pytest.mark.parametrize(
    ("text", "level", "told"),
    [
        ("", Level.OK, "moves start at any time"),
        ("daily 22:00-06:00 UTC", Level.OK, "moves start by the time of day: daily 22:00-06:00 UTC"),
        (
            "daily 22-06 UTC",
            Level.WARNING,
            "reassignment.windows='daily 22-06 UTC' cannot be read on this host: write days, times and time zone",
        ),
        ("daily 22:00-06:00 Atlantis/Capital", Level.WARNING, "is no time zone of this host"),
    ],
)
def test_dh_5_windows_that_a_server_here_cannot_read_are_a_finding(text: str, level: Level, told: str) -> None:
    [found] = [one for one in of_settings(Cluster(settings={"reassignment.windows": text})) if one.subject == "windows"]
    assert found.level is level
    assert told in found.text


def test_dh_5_while_the_settings_cannot_be_read_nothing_more_is_said_of_them() -> None:
    assert [one.subject for one in of_settings(Cluster(settings_problem="garbage"))] == ["settings"]
