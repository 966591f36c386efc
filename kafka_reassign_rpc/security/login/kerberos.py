"""GSSAPI (Kerberos) by the entry of a Krb5LoginModule. Needs the package `gssapi`.

MIT Kerberos gets and renews the ticket by itself: from a keytab, or from the ticket cache that kinit has filled. It
takes both from the environment of the process, so all logins of a process share them.
"""

import os

from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.security.login.jaas import JaasEntry

GSSAPI = "GSSAPI"
MODULE = "Krb5LoginModule"
KEYTAB, CACHE = "KRB5_CLIENT_KTNAME", "KRB5CCNAME"


def prepare(entry: JaasEntry, place: str) -> None:
    """Let Kerberos use the entry's keytab, if it names one. Raises BadSetting."""
    if not entry.module.endswith(MODULE):
        raise BadSetting(f"{place}: GSSAPI needs a {MODULE}")
    try:
        import gssapi  # noqa: F401
    except ImportError:
        raise BadSetting(f"{place}: GSSAPI needs the package gssapi: pip install gssapi") from None
    except OSError as error:
        raise BadSetting(f"{place}: the package gssapi finds no Kerberos library: {error}") from None
    path = entry.option("keyTab") or ""
    if (entry.option("useKeyTab") or "").lower() != "true" or not path:
        return
    path = path.removeprefix("FILE:").removeprefix("file://")
    used = os.environ.setdefault(KEYTAB, f"FILE:{path}")
    if used.removeprefix("FILE:") != path:
        raise BadSetting(f"{place}: keyTab: another keytab is in use already ({used}): merge them with ktutil")
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise BadSetting(f"{place}: keyTab: cannot read {path}: {error.strerror}") from None
    os.environ.setdefault(CACHE, "MEMORY:kafka-reassign-rpc")
