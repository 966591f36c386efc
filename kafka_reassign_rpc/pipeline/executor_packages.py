"""What Spark's executors need beside PySpark: this package and msgspec, as an archive for `spark.archives`. msgspec is
compiled, so executors need the driver's platform and minor version of Python.
"""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

import kafka_reassign_rpc

NAME = "kafka-reassign-rpc-packages"
"""Executors unpack the archive into this directory."""


def build(directory: Path) -> Path:
    archive = directory / f"{NAME}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for package in (kafka_reassign_rpc, msgspec):
            root = Path(str(package.__file__)).parent
            for source in _files(root):
                file.write(source, Path(root.name) / source.relative_to(root))
    return archive


def _files(root: Path) -> Iterator[Path]:
    return (
        path for path in sorted(root.rglob("*")) if path.suffix in (".py", ".so", ".pyd", ".json") and path.is_file()
    )
