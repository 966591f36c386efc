"""The directories of a node, as `kafka-storage.sh format` makes them.

The tool is a JVM of its own: in each process it runs for the first node of a kind. The metadata that it leaves do not
name the node, so later nodes get a copy, and an identity of their own.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from uuid import uuid4

from kafka_reassign_rpc.core.state.topic import topic_id_text

_META = "meta.properties"
_lock = Lock()
_left: dict[tuple[str, str, int, bool], list[dict[str, bytes]]] = {}
"""By version, roles, number of log dirs, and whether metadata have a dir of their own: for each dir what the tool has
left there besides `meta.properties`."""


def are_formatted(properties: Mapping[str, str]) -> bool:
    return all((folder / _META).exists() for folder in _folders(properties))


def write(
    version: str,
    run_java: Callable[[list[str]], object],
    cluster_id: str,
    config: Path,
    properties: Mapping[str, str],
) -> None:
    """`config`: the file with these properties. `run_java` runs a class of Kafka with arguments, and raises what ends
    this. Blocks."""
    folders = _folders(properties)
    kind = version, properties["process.roles"], len(folders), "metadata.log.dir" in properties
    with _lock:
        if kind not in _left:
            # an id of ZooKeeper mode may begin with "-"
            run_java(["kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id}", "-c", str(config)])
            _left[kind] = [_files(folder) for folder in folders]
            return
    for folder, files in zip(folders, _left[kind], strict=True):
        own = {"version": "1", "cluster.id": cluster_id, "node.id": properties["node.id"], "directory.id": new_id()}
        meta = "".join(f"{key}={value}\n" for key, value in own.items()).encode()
        for name, content in {**files, _META: meta}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)


def new_id() -> str:
    """Of a cluster or a directory. Kafka's are never like an option."""
    while (made := topic_id_text(uuid4())).startswith("-"):
        """The next one."""
    return made


def _folders(properties: Mapping[str, str]) -> list[Path]:
    names = properties["log.dirs"].split(",")
    if "metadata.log.dir" in properties:
        names.append(properties["metadata.log.dir"])
    return [Path(name) for name in names]


def _files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != _META)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}
