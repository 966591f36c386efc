"""The build rules of what is made of `schemas/`. All else about the package is in pyproject.toml, which cannot say it.

A wheel carries the schemas as `kafka_reassign_rpc.schemas`, a checkout reads them where they lie. The types of the
message classes, `protocol/messages.pyi`, are written into the checkout before anything is built: mypy reads them there,
and a wheel has them from there. The Makefile writes them again after a change.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

SCHEMAS = "kafka_reassign_rpc.schemas"
ROOT = Path(__file__).parent


def write_types() -> None:
    """Of this checkout's schemas, whether or not a package is installed from here or from elsewhere."""
    sys.path.insert(0, str(ROOT))
    sys.modules[SCHEMAS] = module_from_spec(spec_from_file_location(SCHEMAS, ROOT / "schemas" / "__init__.py"))
    from kafka_reassign_rpc.protocol import generate_stubs

    generate_stubs.STUB.write_text(generate_stubs.stub(), encoding="utf-8")


class BuildWithTypes(build_py):
    def run(self) -> None:
        write_types()
        super().run()


if __name__ == "__main__":
    setup(
        packages=[*find_packages(include=["kafka_reassign_rpc*"]), SCHEMAS],
        package_dir={SCHEMAS: "schemas"},
        cmdclass={"build_py": BuildWithTypes},
    )
