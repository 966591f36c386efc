"""A realm of Kerberos with a KDC of its own. Its environment is this process's meanwhile."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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


def _free_ports() -> int:
    """The first of some ports in a row, which are likely free."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
