"""What a settings file says of several clusters, and `/api/v1/clusters`."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from kafka_reassign_rpc.core.status.documents import VERSION, Status
from kafka_reassign_rpc.support.secrecy import told_name

MOST_CLUSTERS = 50
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
"""It is part of paths, labels of metrics and names of directories."""
_KEYS = {"name", "bootstrap-server", "command-config"}


class ClusterStatus(msgspec.Struct, frozen=True):
    """One of several clusters that `watch` looks at."""

    name: Annotated[str, Meta(description="as the settings file names it")]
    page: Annotated[str, Meta(description="the path of its own page")]
    api: Annotated[str, Meta(description="the path of its own API, in the place of `/api/v1/`")]
    status: Annotated[Status, Meta(description="its status")]

    @classmethod
    def of(cls, name: str, status: Status) -> "ClusterStatus":
        return cls(name, page_of(name), api_of(name), status)


class Clusters(msgspec.Struct, frozen=True):
    """`/api/v1/clusters`"""

    at: Annotated[int, Meta(description="when this was made")]
    clusters: Annotated[Sequence[ClusterStatus], Meta(description="in the order of the settings file")]


def page_of(name: str) -> str:
    return f"/clusters/{name}/" if name else "/"


def api_of(name: str) -> str:
    return f"/api/v{VERSION}/clusters/{name}/" if name else f"/api/v{VERSION}/"


class WatchedCluster(NamedTuple):
    """`name` is "" where there is no other; `bootstrap` has addresses, separated by commas."""

    name: str
    bootstrap: str
    command_config: str | None = None


def clusters(value: Any) -> tuple[WatchedCluster, ...]:
    """The tables `[[cluster]]` of a settings file. Raises ValueError."""
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ValueError("write [[cluster]], in double brackets, above each cluster")
    if not 1 <= len(value) <= MOST_CLUSTERS:
        raise ValueError(f"there are {len(value)} clusters: one process watches 1 to {MOST_CLUSTERS}")
    found: dict[str, WatchedCluster] = {}
    for place, table in enumerate(value, 1):
        one = _cluster(table, place)
        if one.name.lower() in found:
            raise ValueError(f"two clusters have the name {one.name} (upper and lower case count as the same)")
        found[one.name.lower()] = one
    return tuple(found.values())


def _cluster(table: Mapping[str, Any], place: int) -> WatchedCluster:
    which = f"cluster {place}"
    if unknown := sorted(table.keys() - _KEYS):
        raise ValueError(f"{which}: unknown key {told_name(unknown[0])}: there are {', '.join(sorted(_KEYS))}")
    no_texts = [key for key in sorted(table) if not isinstance(table[key], str)]
    if no_texts:
        raise ValueError(f"{which}: {no_texts[0]} is a text in quotes")
    name, bootstrap = table.get("name", ""), table.get("bootstrap-server", "").strip()
    if NAME.fullmatch(name) is None:
        raise ValueError(f"{which}: name: it has 1 to 63 letters, digits, - and _, a letter or digit first")
    if not bootstrap:
        raise ValueError(f"{which} ({name}): bootstrap-server is missing: HOST:PORT[,…]")
    config = table.get("command-config")
    if config is not None and not config.strip():  # nobody logs in without it
        raise ValueError(f"{which} ({name}): command-config is empty: name a file, or leave it out")
    return WatchedCluster(name, bootstrap, config)
