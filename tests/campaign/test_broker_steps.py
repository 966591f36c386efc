"""Steps of brokers whose effect a directory shows."""

from pathlib import Path

from .broker_steps import _put_back


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
