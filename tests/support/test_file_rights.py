"""Who else may read a file, by its rights, and what closes it."""

import os
import struct
from pathlib import Path

import pytest

from kafka_reassign_rpc.support.files import EVERYBODY, GROUP, Identity, Rights, cure, readers, readers_of
from tests.tables import for_each

ME, MINE, ROOT, OTHER, FS_GROUP = 1000, 1000, 0, 2000, 999
BY = Identity(ME, {MINE, FS_GROUP})
FILE = Path("/run/a b")
NO_GROUP = 4_000_000_000
"""No group has this id."""


@for_each(
    ("rights", "who"),
    [
        (Rights(0o600, ME, MINE), None),
        (Rights(0o400, OTHER, OTHER), None),
        (Rights(0o604, ME, MINE), EVERYBODY),
        (Rights(0o644, ROOT, MINE), EVERYBODY),
        (Rights(0o640, ME, MINE), GROUP),
        (Rights(0o640, OTHER, OTHER), GROUP),
        (Rights(0o640, OTHER, MINE), None),
        (Rights(0o640, ROOT, MINE), None),
        (Rights(0o640, ROOT, ROOT), GROUP),
        # Kubernetes: a Secret's mode, without and with fsGroup; a token of the user that the pod runs as, with fsGroup.
        (Rights(0o644, ROOT, ROOT, is_fixed=True), EVERYBODY),
        (Rights(0o644, ROOT, FS_GROUP, is_fixed=True), EVERYBODY),
        (Rights(0o440, ROOT, FS_GROUP, is_fixed=True), None),
        (Rights(0o640, ME, FS_GROUP, is_fixed=True), None),
        (Rights(0o640, OTHER, OTHER, is_fixed=True), GROUP),
    ],
)
def test_hm_7_a_group_may_read_a_file_where_that_is_how_its_owner_gives_it_to_the_server(
    rights: Rights, who: str | None
) -> None:
    assert readers(rights, BY) == who


@pytest.mark.parametrize(
    ("rights", "by", "what"),
    [
        (Rights(0o644, ME, MINE), BY, "chmod 600 '/run/a b'"),
        (Rights(0o644, OTHER, OTHER), Identity(ROOT, {ROOT}), "chmod 600 '/run/a b'"),
        (Rights(0o644, OTHER, MINE), BY, "chmod o-rwx '/run/a b'"),
        (Rights(0o644, OTHER, OTHER), Identity(ME, {NO_GROUP}), f"chgrp {NO_GROUP} '/run/a b' && chmod 640 '/run/a b'"),
        (
            Rights(0o644, ROOT, ROOT, is_fixed=True),
            BY,
            "give /run/a b mode 0400 where it is mounted from (Kubernetes: defaultMode: 0400, and an fsGroup)",
        ),
    ],
)
def test_hm_7_what_closes_a_file_leaves_its_owner_and_this_process_in(rights: Rights, by: Identity, what: str) -> None:
    assert cure(FILE, rights, by) == what
    if what.startswith("chgrp"):
        assert readers(rights._replace(mode=0o640, group=NO_GROUP), by) is None


def test_hm_7_a_file_that_is_missing_or_none_is_nothing_to_warn_of(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing", Path("a\0b")):
        assert readers_of(path) is None
    file = tmp_path / "file"
    file.touch(0o600)
    assert readers_of(file) is None
    file.chmod(0o644)
    assert readers_of(file) == (EVERYBODY, f"chmod 600 {file}")


def test_hm_7_a_file_that_an_acl_gives_to_a_user_is_not_its_groups(tmp_path: Path) -> None:
    file = tmp_path / "credential"
    file.touch(0o600)
    user_owner, user, group, mask, other = 0x01, 0x02, 0x04, 0x10, 0x20
    nobody_named = 0xFFFFFFFF

    def give(group_may: int) -> None:
        entries = [
            (user_owner, 6, nobody_named),
            (user, 4, 12345),
            (group, group_may, nobody_named),
            (mask, 4, nobody_named),
            (other, 0, nobody_named),
        ]
        acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
        os.setxattr(file, "system.posix_acl_access", acl)

    try:
        give(0)
    except OSError:  # a file system without ACLs
        return
    assert file.stat().st_mode & 0o777 == 0o640
    assert readers_of(file) is None
    give(4)
    assert readers_of(file) == (GROUP, f"chmod 600 {file}")
