"""A realm of Kerberos with a KDC of its own. Its environment is this process's for that time."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gssapi
import k5test


@contextmanager
def kerberos_realm() -> Iterator[Any]:
    """With the user `user`, and a key of this host in a keytab."""
    realm = k5test.K5Realm(portbase=_free_ports())
    before = {name: os.environ.get(name) for name in realm.env}
    os.environ.update(realm.env)
    yield realm
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    realm.stop()


def initiator(credentials: Any = None) -> Any:
    """The context of a client of this host's service, by default that of `user`."""
    name = gssapi.Name("host/localhost", gssapi.NameType.kerberos_principal)
    flags = gssapi.RequirementFlag.mutual_authentication
    return gssapi.SecurityContext(name=name, creds=credentials, usage="initiate", flags=flags)


def service_jaas() -> str:
    """How the service logs in, for stock brokers and this server."""
    return (
        "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true isInitiator=false"
        f' keyTab="{os.environ["KRB5_KTNAME"]}" principal="host/localhost@KRBTEST.COM";'
    )


def _free_ports() -> int:
    """The first of some ports in a row, which are likely free."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
