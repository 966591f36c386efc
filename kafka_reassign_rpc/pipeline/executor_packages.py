"""What Spark's executors need beside PySpark: this package and msgspec, as an archive for `spark.archives`. msgspec is
compiled, so executors need the driver's platform and minor version of Python.
"""

import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

NAME = "kafka-reassign-rpc-packages"
"""Executors unpack the archive into this directory."""
_PACKAGES = ("kafka_reassign_rpc", "kafka_reassign_rpc.schemas", "msgspec")
"""A checkout has the schemas elsewhere than the package that they belong to."""


def build(directory: Path) -> Path:
    archive = directory / f"{NAME}.zip"
    files = {name: source for package in _PACKAGES for name, source in _files(package)}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, source in files.items():
            file.write(source, name)
    return archive


def _files(package: str) -> Iterator[tuple[Path, Path]]:
    """By their place in the archive."""
    root, place = Path(str(import_module(package).__file__)).parent, Path(*package.split("."))
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".so", ".pyd", ".json") and path.is_file():
            yield place / path.relative_to(root), path
