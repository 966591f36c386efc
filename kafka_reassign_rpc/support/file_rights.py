"""Who else may read a file: whether its mode lets its group or everybody in, and how to close it.

Only the file's own mode counts, as with ssh: the folder above may be closed today, a copy or a backup has the mode too.
"""

import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

GROUP, EVERYBODY = "its group", "everybody"


class Identity(NamedTuple):
    """The user and the groups of a process."""

    user: int
    groups: Collection[int]


def this_process() -> Identity:
    return Identity(os.geteuid(), {os.getegid(), *os.getgroups()})


def readers(mode: int, owner: int, group: int, by: Identity) -> str | None:
    """Who else may read a file of this mode: EVERYBODY, GROUP, or None. Pure.

    A group by which `by` itself reads somebody else's file is no leak, nor is one to which root gives a file of its
    own: so a service gets a secret that it cannot change (`root:service`, mode 0640).
    """
    if mode & stat.S_IROTH:
        return EVERYBODY
    if not mode & stat.S_IRGRP:
        return None
    given = (owner != by.user and group in by.groups) or (owner == 0 and group != 0)
    return None if given else GROUP


def readers_of(path: Path) -> tuple[str, str] | None:
    """Who else may read the file, and the command that ends it; None where nobody may, or where that is unknown (there
    is no such file, or it is out of sight). Follows links. Never raises OSError."""
    try:
        found = path.stat()
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return None
    by = this_process()
    who = readers(found.st_mode, found.st_uid, found.st_gid, by)
    if who is None or not stat.S_ISREG(found.st_mode):
        return None
    if found.st_uid == by.user:
        return who, "chmod 600"
    # Somebody else's file: whoever closes it must leave this process in.
    return (
        who,
        "chmod o-rwx"
        if found.st_mode & stat.S_IRGRP and found.st_gid in by.groups
        else "chown it to the user of this process, and chmod 600",
    )


def restrict(path: Path, mode: int) -> None:
    """Give a file or folder this mode, whatever the umask of its making was; bits such as setgid stay. Links are left
    alone. Raises OSError."""
    found = path.lstat()
    wanted = stat.S_IMODE(found.st_mode) & ~0o777 | mode
    if not stat.S_ISLNK(found.st_mode) and stat.S_IMODE(found.st_mode) != wanted:
        path.chmod(wanted)
