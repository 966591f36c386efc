"""Files: read up to a length; whether one is still the one that was read; who else may read it; and such as appear as a
whole.

As with ssh, only a file's own rights count: copies and backups keep them, whatever folder they are in.

What appears as a whole, a directory too, is written under a hidden name, which holds the process's id, so that no two
processes share one, then renamed. Only a killed process leaves it.
"""

import errno
import grp
import os
import shlex
import shutil
import stat
import struct
import threading
import weakref
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


def read_bounded(path: Path, most: int) -> bytes:
    """Raises OSError, also if there are more than `most` bytes; its `strerror` says which."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most} bytes", str(path))
    return data


Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp | None:
    """The time of the last change (ns), size and inode; None if the file cannot be read."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


GROUP, EVERYBODY = "its group", "everybody"
_ACL = "system.posix_acl_access"
_ACL_ENTRY = struct.Struct("<HHI")
_ACL_OF_GROUP = 0x04
"""Linux's ACL_GROUP_OBJ: the group's own rights. With named users, the mode shows theirs instead."""
_ACL_HEADER_BYTES = 4


class Identity(NamedTuple):
    user: int
    groups: Collection[int]


class Rights(NamedTuple):
    """mode      permission bits, with the group's own even if named users may read the file
    is_fixed  they cannot be changed: the file system is mounted read-only
    """

    mode: int
    owner: int
    group: int
    is_fixed: bool = False


def this_process() -> Identity:
    return Identity(os.geteuid(), {os.getegid(), *os.getgroups()})


def readers(rights: Rights, by: Identity) -> str | None:
    """EVERYBODY, GROUP, or None.

    It is no leak if `by` reads somebody else's file through its group, or if root gives its file to a group: so a
    service gets a secret that it cannot change (`root:service`, mode 0640). If rights are fixed, a group of `by` is the
    one that the mount gives its files to (Kubernetes: fsGroup).
    """
    if rights.mode & stat.S_IROTH:
        return EVERYBODY
    if not rights.mode & stat.S_IRGRP:
        return None
    through_group = rights.group in by.groups and (rights.owner != by.user or rights.is_fixed)
    given = through_group or (rights.owner == 0 and rights.group != 0)
    return None if given else GROUP


def cure(path: Path, rights: Rights, by: Identity) -> str:
    """What to do so that nobody else reads the file, and all that must go on reading it."""
    if rights.is_fixed:
        return f"give {path} mode 0400 where it is mounted from (Kubernetes: defaultMode: 0400, and an fsGroup)"
    file = shlex.quote(str(path))
    if by.user in (0, rights.owner):
        return f"chmod 600 {file}"
    if rights.mode & stat.S_IRGRP and rights.group in by.groups:
        return f"chmod o-rwx {file}"
    # It may be somebody else's, such as the brokers': its owner must read it afterwards, and this process too.
    return f"chgrp {_name_of(min(by.groups))} {file} && chmod 640 {file}"


def readers_of(path: Path) -> tuple[str, str] | None:
    """Who else may read the file and what ends it, or None: nobody, or unknown. Follows links."""
    try:
        found = path.stat()
        is_fixed = bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    rights, by = Rights(_mode(path, found.st_mode), found.st_uid, found.st_gid, is_fixed), this_process()
    who = readers(rights, by)
    return None if who is None else (who, cure(path, rights, by))


def restrict(path: Path, mode: int) -> None:
    """Sets the mode whatever the umask was; bits such as setgid stay, links are left alone. Raises OSError."""
    found = path.lstat()
    wanted = stat.S_IMODE(found.st_mode) & ~0o777 | mode
    if not stat.S_ISLNK(found.st_mode) and stat.S_IMODE(found.st_mode) != wanted:
        path.chmod(wanted)


def _mode(path: Path, mode: int) -> int:
    """An ACL gives a file to users by name, as systemd does with credentials (LoadCredential=): no leak."""
    acl = b""
    if hasattr(os, "getxattr"):  # Linux alone has them
        with suppress(OSError):
            acl = os.getxattr(path, _ACL)[_ACL_HEADER_BYTES:]
    entries = _ACL_ENTRY.iter_unpack(acl[: len(acl) // _ACL_ENTRY.size * _ACL_ENTRY.size])
    may_group = [rights for tag, rights, _ in entries if tag == _ACL_OF_GROUP]
    return mode if not may_group else mode & ~stat.S_IRWXG | (may_group[0] & 0o7) << 3


def _name_of(group: int) -> str:
    try:
        return grp.getgrgid(group).gr_name
    except KeyError:
        return str(group)


def hidden_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")


def write_file(path: Path, parts: Iterable[bytes], *, sync: bool = False) -> None:
    """With `sync` the file survives a loss of power too. Raises OSError and leaves `path` as it was."""
    hidden = hidden_path(path)
    hidden = hidden.with_name(f"{hidden.name}.{threading.get_native_id()}")  # another thread may write the same file
    try:
        with hidden.open("wb") as file:
            file.writelines(parts)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        hidden.replace(path)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise


_forgotten: "dict[Path, weakref.finalize[..., AtomicDirectory]]" = {}
"""Removes each directory that is neither published nor discarded, by hidden name."""


def _remove(hidden: Path, process: int) -> None:
    """Not in a forked process: it does not own the directory."""
    if os.getpid() == process:
        shutil.rmtree(hidden, ignore_errors=True)


class AtomicDirectory:
    """A directory that is filled under the name `hidden`, then `publish`ed or `discard`ed; else it goes with this
    object or the process, as when a full disk ends its writer's constructor.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hidden = hidden_path(path)
        self.is_published = False
        shutil.rmtree(self.hidden, ignore_errors=True)
        self.hidden.mkdir(parents=True)
        if (former := _forgotten.pop(self.hidden, None)) is not None:
            former.detach()  # its directory is gone already, and this one has the same name
        self._forgotten = _forgotten[self.hidden] = weakref.finalize(self, _remove, self.hidden, os.getpid())

    def publish(self) -> None:
        """`path` must not exist yet."""
        self.hidden.rename(self.path)
        self.is_published = True
        self._forgotten.detach()

    def replace(self) -> None:
        """Between the two renames `path` does not exist."""
        old = hidden_path(self.path.with_name(f"{self.path.name}.old"))
        if self.path.exists():
            self.path.rename(old)
        self.publish()
        shutil.rmtree(old, ignore_errors=True)

    def discard(self) -> None:
        if not self.is_published:
            shutil.rmtree(self.hidden, ignore_errors=True)
