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


def test_455_9_a_client_is_lost_after_two_reports_in_a_row_without_a_broker() -> None:
    def report(*node_ids: int) -> str:
        return json.dumps({"brokers": {str(one): {"nodeid": one, "state": "DOWN"} for one in node_ids}})

    view = ClientView()
    for statistics, lost in (
        (report(-1), False),
        (report(-1, 4), False),
        (report(-1), False),
        (report(), True),
        (report(4), False),
    ):
        view.heard(statistics)
        assert view.lost is lost


def test_455_9_each_client_has_a_log_of_its_own(tmp_path: Path) -> None:
    logs = [client_log(tmp_path / name) for name in ("a.log", "b.log")]
    logs[0].warning("no brokers")
    for log in logs:
        close(log)
    assert (tmp_path / "a.log").read_text().endswith("WARNING no brokers\n")
    assert not (tmp_path / "b.log").exists()


def test_455_9_a_clients_log_has_what_brokers_answered_but_not_every_batch(tmp_path: Path) -> None:
    log = client_log(tmp_path / "a.log")
    batch = "MSGSET: 127.0.0.1:9092/1: t [0]: MessageSet with 1 message(s) (MsgId 0, BaseSeq -1) %s"
    log.debug(batch, "delivered")
    log.debug(batch, "encountered error: Broker: Not leader for partition (actions Refresh,Retry)")
    log.debug("METADATA: 127.0.0.1:9092/1: 10 brokers, 1 topics")
    log.debug("METADATA: 127.0.0.1:9092/1: 0 brokers, 1 topics")
    close(log)
    refusal, newborn = (tmp_path / "a.log").read_text().splitlines()
    assert "encountered error: Broker: Not leader for partition" in refusal
    assert "127.0.0.1:9092/1: 0 brokers, 1 topics" in newborn
