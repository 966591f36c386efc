"""What Spark's executors need beside PySpark: this package, msgspec, numpy and PyArrow, as an archive for
`spark.archives`. Three are compiled, so executors need the driver's platform and minor version of Python.
"""

import re
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

NAME = "kafka-reassign-rpc-packages"
"""Executors unpack the archive into this directory."""
_PACKAGES = ("kafka_reassign_rpc", "kafka_reassign_rpc.schemas", "msgspec", "numpy", "pyarrow")
"""A checkout has the schemas elsewhere than the package that they belong to."""
_LIBRARY = re.compile(r"\.(py|so|pyd|dll|json)$|\.so\.\d+$|^lib.*\.so\.[\d.]+$")
_NOT_NEEDED = re.compile(r"(^|/)(tests|include)/|flight")
"""Of PyArrow and numpy, a third of their bytes."""


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
    libraries = root.with_name(f"{package}.libs")  # what wheels bring along
    for folder, name in ((root, place), (libraries, Path(libraries.name))):
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            if _LIBRARY.search(path.name) and not _NOT_NEEDED.search(str(inside)) and path.is_file():
                yield name / inside, path
