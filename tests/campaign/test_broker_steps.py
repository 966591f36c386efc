"""Steps of brokers whose effect a directory shows."""

from pathlib import Path

from .broker_steps import _put_back
from .stock_logs import delete_begun, given_up


def test_sv_3_a_log_dir_comes_back_without_replicas_that_lie_in_another_one_now(tmp_path: Path) -> None:
    gone, aside, other = (tmp_path / name for name in ("data-0", "data-0.away", "data-1"))
    gone.touch()
    for replica in (aside / "t-0", aside / "t-1", other / "t-1", other / "t-2"):
        replica.mkdir(parents=True)
        (replica / "kept").write_text(replica.parent.name)
    (aside / "meta.properties").touch()
    (other / "meta.properties").touch()
    assert _put_back(gone, aside, [other]) == 1
    assert sorted(entry.name for entry in gone.iterdir()) == ["meta.properties", "t-0"]
    assert (other / "t-1" / "kept").read_text() == "data-1"
    assert not aside.exists()


def test_sv_3_logs_that_a_stock_broker_has_begun_and_given_up_are_deleted_and_no_others(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    log.write_text(
        "[2026-11-29 14:32:07,576] ERROR [Broker id=2] A ZooKeeper client exception has occurred. makeFollower will be"
        " skipping the state change for the partition idem-0-2 with leader epoch: 1. (state.change.logger)\n"
    )
    assert given_up({2: log, 3: tmp_path / "none.log"}) == {(2, "idem-0-2")}
    paths = [tmp_path / name for name in ("data-0", "data-1")]
    for replica in (paths[0] / "idem-0-2", paths[1] / "idem-0-2", paths[1] / "idem-0-1"):
        replica.mkdir(parents=True)
    (paths[0] / "idem-0-2" / "0.log").touch()
    delete_begun(paths, ["idem-0-2", "gone-0"])
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("data-*/*"))
    assert left == ["data-0/idem-0-2", "data-1/idem-0-1"]
