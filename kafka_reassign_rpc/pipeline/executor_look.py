"""What an executor finds out about itself. Uses the standard library alone: executors that may lack the package get
this file as it is.
"""

import hashlib
import importlib
import importlib.metadata
import platform
import socket
from typing import NamedTuple

_LOCAL = "it is local to the driver; give a URI of a store (s3a:, hdfs:) or a folder that all machines mount there"
HEAD = 65536
"""Bytes of a file that are compared."""


class Wanted(NamedTuple):
    """`version` is "" if the package is sent along; `files`: paths with digests of their first bytes."""

    modules: tuple[str, ...]
    version: str
    files: tuple[tuple[str, str], ...]


def digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read(HEAD)).hexdigest()


def look(wanted: Wanted) -> tuple[str, ...]:
    """What this machine lacks, in sentences that name it."""
    here = f"executor {socket.gethostname()} (Python {platform.python_version()})"
    lacks = []
    for module in wanted.modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            lacks.append(f"{here} cannot import {module}: {error}")
    if wanted.version and not lacks:
        found = importlib.metadata.version("kafka-reassign-rpc")
        if found != wanted.version:
            lacks.append(f"{here} has kafka-reassign-rpc {found}, this machine has {wanted.version}")
    for path, expected in wanted.files:
        try:
            if digest(path) != expected:
                lacks.append(f"{here} has another file at {path}: {_LOCAL}")
        except OSError as error:
            lacks.append(f"{here} does not see {path} ({error.strerror}): {_LOCAL}")
    return tuple(lacks)
