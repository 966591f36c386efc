"""A producer whose records are not taken says what its client knew."""

import json
from pathlib import Path

from tests.campaign.client_log import ClientView, client_log, close


def test_455_9_a_clients_view_names_leaders_and_connections() -> None:
    view = ClientView()
    assert view.of("t") == "its client saw partitions none; brokers none"
    leader = {"leader": 4}
    statistics = {
        "topics": {"t": {"partitions": {"0": leader, "-1": {"leader": -1}}}},
        "brokers": {"b": {"nodeid": 4, "state": "UP"}, "boot": {"nodeid": -1, "state": "INIT"}},
    }
    view.heard(json.dumps(statistics))
    assert view.of("t") == "its client saw partitions 0 led by 4; brokers 4 UP"


def test_455_9_each_client_has_a_log_of_its_own(tmp_path: Path) -> None:
    logs = [client_log(tmp_path / name) for name in ("a.log", "b.log")]
    logs[0].warning("no brokers")
    for log in logs:
        close(log)
    assert (tmp_path / "a.log").read_text().endswith("WARNING no brokers\n")
    assert not (tmp_path / "b.log").exists()
