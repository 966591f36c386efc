"""What an operator is warned of about the settings of servers."""

import pytest

from kafka_reassign_rpc.controller.duties.learnt_settings import SettingsNotices
from tests.core.build import cluster, write


def test_dh_2_a_list_of_cordoned_brokers_that_cannot_be_read_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    """It was written into ZooKeeper: a server would have refused it."""
    notices, here = SettingsNotices(), cluster(live=(1,))
    write(here, settings={"cordoned.brokers": "2,five"})
    notices.check(here)
    write(here, settings={"cordoned.brokers": "2,five", "failure.interval.ms": "1800000"})
    notices.check(here)
    [warned] = caplog.messages
    assert warned.startswith("cordoned.brokers='2,five' is ignored, so a weaker or the default value holds: ids of ")
    write(here, settings={"cordoned.brokers": "2,5"})
    notices.check(here)
    assert len(caplog.messages) == 1


def test_dh_2_while_the_settings_cannot_be_read_the_warning_says_which_brokers_stay_cordoned(
    caplog: pytest.LogCaptureFixture,
) -> None:
    here = cluster(live=(1,))
    here.settings_problem = "garbage"
    SettingsNotices().check(here)
    [warned] = caplog.messages
    assert warned.startswith("garbage: no new move and no repair starts until the znode is repaired or deleted, ")
    assert warned.endswith(" keep away only from brokers that this controller has known to be cordoned")
