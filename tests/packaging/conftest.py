"""The wheel of this checkout, and environments into which it was installed with one of its extras, or without.

    wheel           the file that `pip wheel` builds
    bare            a virtual environment with the wheel and what it needs without an extra, and nothing else
    environments    such an environment for each extra; "" has `bare`

Nothing is downloaded: what an extra needs is linked from the environment of the tests, which has it by
requirements.lock. pip, without an index, then finds whether anything is missing that the wheel asks for.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.requirements import PROJECT, needed, of_extra

CHECKOUT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "kafka_reassign_rpc", "schemas")
EXTRAS = ("server", "demo", "pipeline", *(("kerberos",) if find_spec("gssapi") else ()))
"""All but `all`, which is made of them. GSSAPI is compiled, where that is possible (`make kerberos`)."""
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


class Environment:
    """A virtual environment, seen from outside: its programs see nothing of the one that runs the tests."""

    def __init__(self, directory: Path) -> None:
        succeed([sys.executable, "-m", "venv", "--without-pip", directory])
        self.python = directory / "bin" / "python"
        self.packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(directory)}))
        self.variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self.variables["COLUMNS"] = "200"

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """`python ARGUMENTS`, not in the checkout, whose package would be imported from there."""
        return subprocess.run(
            [self.python, *arguments],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            cwd=self.packages,
            env=self.variables,
        )

    def command(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """`kafka-reassign-rpc ARGUMENTS`"""
        return self.run("-m", "kafka_reassign_rpc.cli.main", *arguments)

    def link(self, packages: Iterable[str], path: Path | None = None) -> None:
        """Have packages that are installed, here or at the path, by links to their folders and files."""
        for package in packages:
            (found,) = distributions(name=package, path=[str(path)] if path else sys.path)
            for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
                (self.packages / name).symlink_to(Path(str(found.locate_file(name))))

    def install(self, what: str | Path) -> None:
        """By pip, which may take nothing from elsewhere."""
        succeed([*PIP, "--python", self.python, "install", "--quiet", "--no-index", what])


def succeed(command: Sequence[str | Path]) -> None:
    """Run a command; what it printed is the message when it fails."""
    ended = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.fixture(scope="package")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy as git has it: the checkout is left as it is, and what the build writes is not there before."""
    copy, out = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__", "messages.pyi"))
        else:
            shutil.copy(source, copy / name)
    succeed([*PIP, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", out, copy])
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="package")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environment = Environment(tmp_path_factory.mktemp("bare") / "environment")
    environment.link(needed(of_extra()))
    environment.install(wheel)
    return environment


@pytest.fixture(scope="package")
def environments(bare: Environment, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Environment]:
    """They have the package as `bare` has it: to unpack and to compile it takes longer than all else here."""
    directory = tmp_path_factory.mktemp("environments")

    def made(extra: str) -> Environment:
        environment = Environment(directory / extra)
        environment.link(needed(of_extra(extra)))
        environment.link([PROJECT["project"]["name"]], bare.packages)
        environment.install(f"{PROJECT['project']['name']}[{extra}]")
        return environment

    with ThreadPoolExecutor(2) as threads:
        return {"": bare, **dict(zip(EXTRAS, threads.map(made, EXTRAS), strict=True))}
