"""Who else may read a file, by its mode."""

from pathlib import Path

import pytest

from kafka_reassign_rpc.support.file_rights import EVERYBODY, GROUP, Identity, readers, readers_of

ME, MINE, ROOT, OTHER = 1000, 1000, 0, 2000


@pytest.mark.parametrize(
    ("mode", "owner", "group", "who"),
    [
        (0o600, ME, MINE, None),
        (0o400, OTHER, OTHER, None),
        (0o604, ME, MINE, EVERYBODY),
        (0o644, ROOT, MINE, EVERYBODY),
        (0o640, ME, MINE, GROUP),
        (0o640, OTHER, OTHER, GROUP),
        (0o640, OTHER, MINE, None),
        (0o640, ROOT, MINE, None),
        (0o640, ROOT, ROOT, GROUP),
    ],
)
def test_hm_7_a_group_may_read_a_file_where_that_is_how_its_owner_gives_it_to_the_server(
    mode: int, owner: int, group: int, who: str | None
) -> None:
    assert readers(mode, owner, group, Identity(ME, {MINE})) == who


def test_hm_7_a_file_that_is_missing_or_none_is_nothing_to_warn_of(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing", Path("a\0b")):
        assert readers_of(path) is None
    file = tmp_path / "file"
    file.touch(0o600)
    assert readers_of(file) is None
    file.chmod(0o644)
    assert readers_of(file) == (EVERYBODY, "chmod 600")
