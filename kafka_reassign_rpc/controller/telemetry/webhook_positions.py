"""Up to which event each webhook was told: a file beside the event log, so that a restart tells the rest.

It names receivers by a hash: their URLs may hold secrets. All functions block.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from kafka_reassign_rpc.controller.telemetry.event_log import POSITIONS
from kafka_reassign_rpc.support.atomic_files import write_file
from kafka_reassign_rpc.support.bounded_files import read_bounded

_MOST_BYTES = 65_536


def read_positions(directory: Path, urls: Iterable[str]) -> dict[str, int]:
    """The number of the first event that was not told, by URL, as far as the file says it. Raises OSError, and
    ValueError for a file that is none."""
    try:
        data = read_bounded(directory / POSITIONS, _MOST_BYTES)
    except FileNotFoundError:
        return {}
    found = msgspec.json.decode(data, type=dict[str, int])
    return {url: max(0, found[name]) for url in urls if (name := _name(url)) in found}


def write_positions(directory: Path, positions: Mapping[str, int]) -> None:
    """Raises OSError."""
    write_file(directory / POSITIONS, [msgspec.json.encode({_name(url): seq for url, seq in positions.items()})])


def _name(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()[:16]
