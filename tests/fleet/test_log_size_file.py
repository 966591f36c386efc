"""A simulated broker's file of log sizes."""

from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.fleet.replica_table import Log, LogSizeFile, LogSizeFileError

A, B = TopicPartition("a", 0), TopicPartition("b", 7)


def opened(path: Path, broker: int = 1, directories: int = 2) -> tuple[LogSizeFile, dict[TopicPartition, Log]]:
    store = LogSizeFile(path, "cluster", broker, directories)
    return store, store.open()


def kept(path: Path) -> dict[TopicPartition, Log]:
    store, found = opened(path)
    store.close()
    return found


def test_the_last_line_about_a_log_counts(tmp_path: Path) -> None:
    store, found = opened(tmp_path / "x" / "broker.log")
    assert found == {}
    store.put(A, Log(10, 1, UUID(int=3)))
    store.put(B, Log(5))
    store.put(A, Log(20, 1, UUID(int=3)))
    store.delete(B)
    store.close()
    assert kept(tmp_path / "x" / "broker.log") == {A: Log(20, 1, UUID(int=3))}


def test_what_was_flushed_survives_without_an_orderly_end(tmp_path: Path) -> None:
    store, _ = opened(tmp_path / "f")
    store.put(A, Log(10))
    store.flush()
    store.put(B, Log(10))
    assert kept(tmp_path / "f") == {A: Log(10)}


@pytest.mark.parametrize("cut", range(1, 20))
def test_a_line_cut_short_by_kill_9_is_dropped(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "f"
    store, _ = opened(path)
    store.put(A, Log(10))
    store.put(B, Log(1234))
    store.close()
    path.write_bytes(path.read_bytes()[:-cut])
    assert kept(path)[A] == Log(10)
    assert kept(path).keys() <= {A, B}


def test_the_file_is_compacted_at_each_start(tmp_path: Path) -> None:
    path = tmp_path / "f"
    store, _ = opened(path)
    for size in range(1000):
        store.put(A, Log(size))
    store.close()
    before = path.stat().st_size
    kept(path)
    assert path.stat().st_size < before / 100


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not a simulated broker's file"),
        (b"garbage\n", "not a simulated broker's file"),
        (b'{"cluster_id":"other","broker_id":1}\n', "belongs to broker 1 of cluster other"),
        (b'{"cluster_id":"cluster","broker_id":9}\n', "belongs to broker 9 of cluster cluster"),
        (b'{"cluster_id":"cluster","broker_id":1}\nnonsense\n', "makes no sense"),
        (b'{"cluster_id":"cluster","broker_id":1}\n["a",0,1]\n', "makes no sense"),
    ],
)
def test_a_file_of_another_owner_is_refused_with_a_reason(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(content)
    with pytest.raises(LogSizeFileError, match=complaint):
        opened(path)
    assert path.read_bytes() == content


def test_without_a_path_nothing_is_kept() -> None:
    store = LogSizeFile(None, "cluster", 1, 1)
    assert store.open() == {}
    store.put(A, Log(1))
    store.flush()
    store.close()


_names = st.builds(TopicPartition, st.sampled_from(["a", "b-c"]), st.integers(0, 3))
_logs = st.builds(Log, st.integers(0, 1 << 50), st.integers(0, 1), st.none() | st.uuids())


@given(steps=st.lists(st.tuples(_names, st.none() | _logs), max_size=30), restarts=st.sets(st.integers(0, 30)))
def test_any_history_with_any_restarts_reads_back(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[TopicPartition, Log | None]],
    restarts: set[int],
) -> None:
    path = tmp_path_factory.mktemp("store") / "f"
    store, found = opened(path)
    expected: dict[TopicPartition, Log] = {}
    for number, (name, log) in enumerate(steps):
        if number in restarts:
            store.close()
            store, found = opened(path)
            assert found == expected
        if log is None:
            store.delete(name)
            expected.pop(name, None)
        else:
            store.put(name, log)
            expected[name] = log
    store.close()
    assert kept(path) == expected
