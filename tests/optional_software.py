"""Software that some tests need and that a machine may lack: those tests are left out there, and the run says so."""

import shutil
from collections.abc import Iterator, Sequence
from ctypes.util import find_library
from importlib.util import find_spec

HAS_KDC = shutil.which("krb5kdc") is not None and all(find_spec(name) is not None for name in ("gssapi", "k5test"))
"""GSSAPI needs a KDC, and packages that are not in requirements.lock since they are compiled."""
HAS_PROMETHEUS = all(shutil.which(name) for name in ("prometheus", "promtool", "curl", "jq"))
HAS_SYSTEMD = shutil.which("systemd-analyze") is not None and find_library("seccomp") is not None
"""Its package brings libseccomp, through which systemd itself forbids system calls."""

NEED_KDC = ("test_kerberos_cluster.py", "test_kerberos_kdc.py")
NEED_PROMETHEUS = ("test_with_prometheus.py", "test_rates_recipe.py")
NEED_SYSTEMD = ("test_unit.py",)


def left_out(*, kdc: bool, prometheus: bool, systemd: bool) -> Iterator[str]:
    """A line for each software that is not there."""
    if not kdc:
        yield _line(NEED_KDC, "a KDC, gssapi and k5test (make kerberos)")
    if not prometheus:
        yield _line(NEED_PROMETHEUS, "prometheus, promtool, curl and jq")
    if not systemd:
        yield _line(NEED_SYSTEMD, "systemd-analyze and libseccomp (systemd of Debian)")


def _line(files: Sequence[str], lacking: str) -> str:
    return f"left out: {', '.join(files)}, which need {lacking}"
