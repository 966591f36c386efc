"""The wheel of this checkout, and an environment into which it was installed without any extra.

    wheel   the file that `pip wheel` builds
    bare    a virtual environment with the wheel and what its base dependencies bring, and nothing else

The versions are those of requirements.lock. pip takes them from the index that it is set up for.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "schemas", "kafka_reassign_rpc")


class Environment:
    """A virtual environment, seen from outside: its programs see nothing of the one that runs the tests."""

    def __init__(self, directory: Path) -> None:
        self.programs = directory / "bin"

    def run(self, program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.run(
            [self.programs / program, *arguments],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            cwd=self.programs,  # not the checkout, whose package would be imported from there
            env=variables,
        )


def succeed(command: Sequence[str | Path]) -> None:
    """Run a command; what it printed is the message when it fails."""
    ended = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.fixture(scope="package")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that the checkout is left as it is."""
    copy, out = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / name)
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    succeed([*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", out, copy])
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="package")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    directory = tmp_path_factory.mktemp("bare")
    environment = directory / "environment"
    locked = re.findall(r"^[a-z].*==[^\\]*", (CHECKOUT / "requirements.lock").read_text(), re.MULTILINE)
    constraints = directory / "constraints.txt"
    constraints.write_text("\n".join(locked) + "\n")
    succeed([sys.executable, "-m", "venv", "--without-pip", environment])
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--python",
        environment / "bin" / "python",
    ]
    succeed([*pip, "install", "--quiet", "--only-binary", ":all:", "--constraint", constraints, wheel])
    return Environment(environment)
