"""GSSAPI (Kerberos) by the entry of a Krb5LoginModule. It needs the package `gssapi`.

MIT Kerberos gets and renews the ticket itself: with `useKeyTab` for the entry's principal, else from the ticket cache
that kinit has filled. Both come from the environment of the process, so all its logins share them.
"""

import os

from kafka_reassign_rpc.security.bad_setting import BadSetting
from kafka_reassign_rpc.security.login.jaas import JaasEntry
from kafka_reassign_rpc.support.secrecy import told_path

GSSAPI = "GSSAPI"
MODULE = "Krb5LoginModule"
KEYTAB, CACHE = "KRB5_CLIENT_KTNAME", "KRB5CCNAME"
_OWN_CACHE = "MEMORY:kafka-reassign-rpc "
"""How the name of this process's own cache begins; the principal follows."""


def prepare(entry: JaasEntry, place: str) -> None:
    """Makes the entry's keytab and principal those of this process, if it names a keytab; asks the KDC for a ticket. As
    in Java, the ticket cache of the process's user then counts only with `useTicketCache`. Raises BadSetting.
    """
    if not entry.module.endswith(MODULE):
        raise BadSetting(f"{place}: GSSAPI needs a {MODULE}")
    try:
        import gssapi
    except ImportError:
        raise BadSetting(f"{place}: GSSAPI needs the package gssapi: pip install gssapi") from None
    except OSError as error:
        raise BadSetting(f"{place}: the package gssapi finds no Kerberos library: {error}") from None
    path = entry.option("keyTab") or ""
    if not _says(entry, "useKeyTab") or not path:
        return
    path = path.removeprefix("FILE:").removeprefix("file://")
    used = os.environ.setdefault(KEYTAB, f"FILE:{path}")
    if used.removeprefix("FILE:") != path:
        raise BadSetting(f"{place}: keyTab: another keytab is in use already ({used}): merge them with ktutil")
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise BadSetting(f"{place}: keyTab: cannot read {told_path(path)}: {error.strerror}") from None
    if _says(entry, "useTicketCache"):
        return
    principal = entry.option("principal") or ""
    _use_own_cache(principal, place)
    name = gssapi.Name(principal, gssapi.NameType.kerberos_principal) if principal else None
    try:
        gssapi.Credentials(name=name, usage="initiate")
    except gssapi.exceptions.GSSError as error:
        whom = principal or "the first principal of the keytab"
        raise BadSetting(f"{place}: Kerberos has no ticket for {whom}: {error}") from None


def _use_own_cache(principal: str, place: str) -> None:
    cache = _OWN_CACHE + principal
    used = os.environ.get(CACHE, "")
    if used.startswith(_OWN_CACHE) and used != cache:
        raise BadSetting(
            f"{place}: principal: another one is in use already ({used.removeprefix(_OWN_CACHE)}): a process has one"
        )
    os.environ[CACHE] = cache


def _says(entry: JaasEntry, option: str) -> bool:
    return (entry.option(option) or "").lower() == "true"
