"""The unit of deploy/systemd, and its restrictions for a process where no systemd runs.

    python -m tests.deploy.unit_file UNIT COMMAND…

forbids this process what the unit forbids by seccomp, by systemd's own library, and then becomes the command: system
calls, kinds of sockets, memory that can be written and run, namespaces, ABIs, new privileges, and limits. Its view of
files and devices, users and capabilities are systemd's alone.
"""

import ctypes
import errno
import os
import resource
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from ctypes.util import find_library
from pathlib import Path

from tests.docs.pages import ROOT

UNIT = ROOT / "deploy/systemd/kafka-reassign-rpc.service"
DROP_IN = ROOT / "deploy/systemd/secured.conf"

ALLOW = 0x7FFF0000
ERRNO = 0x00050000
NOT_EQUAL, EQUAL, GREATER, MASKED_EQUAL = 1, 4, 6, 7
"""`enum scmp_compare`."""
PROT_WRITE, PROT_EXEC, SHM_EXEC = 2, 4, 0o100000
PR_SET_NO_NEW_PRIVS = 38
NAMESPACES = (0x00000080, 0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
"""CLONE_NEW…, one of which makes a new namespace."""
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10}
LIMITS = {"LimitNOFILE": resource.RLIMIT_NOFILE, "LimitCORE": resource.RLIMIT_CORE}


class Comparison(ctypes.Structure):
    """`struct scmp_arg_cmp`."""

    _fields_ = (
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("datum_a", ctypes.c_uint64),
        ("datum_b", ctypes.c_uint64),
    )


def service(*files: Path) -> dict[str, list[str]]:
    """The values of the section Service by their name, in their order; a later file adds to an earlier one."""
    found: dict[str, list[str]] = {}
    for file in files:
        section = ""
        for line in file.read_text().splitlines():
            if line.startswith("["):
                section = line
            elif section == "[Service]" and line and not line.startswith("#"):
                name, _, value = line.partition("=")
                if not value and name == "ExecStart":
                    found.pop(name)
                else:
                    found.setdefault(name, []).append(value)
    return found


def command(*files: Path) -> list[str]:
    """What the unit starts."""
    (line,) = service(*files)["ExecStart"]
    return line.split()


def system_calls(values: Sequence[str]) -> set[str]:
    """What `SystemCallFilter=` leaves: the first line says what is allowed, others add to it or take away."""
    left: set[str] = set()
    for value in values:
        names = _expanded(value.removeprefix("~").split())
        left = left - names if value.startswith("~") else left | names
    return left | _expanded(["@default"])


def _expanded(names: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for name in names:
        if name.startswith("@"):
            listed = subprocess.run(
                ["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True
            ).stdout
            lines = (line.strip() for line in listed.splitlines()[1:])
            found |= _expanded(line for line in lines if line and not line.startswith("#"))
        else:
            found.add(name)
    return found


def restrict(unit: Mapping[str, Sequence[str]]) -> None:
    """Takes from this process, for good, what the unit takes from the server."""
    for name, limit in LIMITS.items():
        _, most = resource.getrlimit(limit)
        wanted = int(unit[name][-1])
        if most != resource.RLIM_INFINITY:
            wanted = min(wanted, most)  # only systemd may raise it
        resource.setrlimit(limit, (wanted, wanted))
    os.umask(int(unit["UMask"][-1], 8))
    assert ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    seccomp = ctypes.CDLL(find_library("seccomp"))
    seccomp.seccomp_init.restype = ctypes.c_void_p

    def load(default: int, rules: Iterable[tuple[int, str, Sequence[Comparison]]]) -> None:
        context = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(default)))
        for action, call, compared in rules:
            number = seccomp.seccomp_syscall_resolve_name(call.encode())
            if number == -1 or action == default:  # systemd passes over what this machine does not have, too
                continue
            array = (Comparison * len(compared))(*compared)
            done = seccomp.seccomp_rule_add_array(context, ctypes.c_uint32(action), number, len(compared), array)
            assert done in (0, -errno.EDOM), (call, done)
        assert seccomp.seccomp_load(context) == 0

    allowed = system_calls(unit["SystemCallFilter"])
    refused = ERRNO | getattr(errno, unit["SystemCallErrorNumber"][-1])
    denied = ERRNO | errno.EPERM
    assert unit["MemoryDenyWriteExecute"] == unit["RestrictNamespaces"] == ["yes"]
    both = PROT_WRITE | PROT_EXEC
    rules: list[tuple[int, str, Sequence[Comparison]]] = [
        (denied, "mmap", [Comparison(2, MASKED_EQUAL, both, both)]),
        (denied, "mprotect", [Comparison(2, MASKED_EQUAL, PROT_EXEC, PROT_EXEC)]),
        (denied, "pkey_mprotect", [Comparison(2, MASKED_EQUAL, PROT_EXEC, PROT_EXEC)]),
        (denied, "shmat", [Comparison(2, MASKED_EQUAL, SHM_EXEC, SHM_EXEC)]),
        (denied, "unshare", [Comparison(0, NOT_EQUAL, 0, 0)]),
        (denied, "setns", []),
        (ERRNO | errno.ENOSYS, "clone3", []),
        *((denied, "clone", [Comparison(0, MASKED_EQUAL, flag, flag)]) for flag in NAMESPACES),
    ]
    families = [FAMILIES[name] for name in unit["RestrictAddressFamilies"][-1].split()]
    unsupported = ERRNO | errno.EAFNOSUPPORT
    others = (number for number in range(max(families)) if number not in families)
    rules += [(unsupported, "socket", [Comparison(0, EQUAL, number, 0)]) for number in others]
    rules.append((unsupported, "socket", [Comparison(0, GREATER, max(families), 0)]))
    load(ALLOW, rules)
    load(refused, [(ALLOW, call, ()) for call in sorted(allowed)])


def main(arguments: Sequence[str]) -> None:
    unit, *words = arguments
    restrict(service(Path(unit)))
    os.execv(words[0], words)


if __name__ == "__main__":
    main(sys.argv[1:])
