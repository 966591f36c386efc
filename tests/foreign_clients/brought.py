"""Clients in other languages, brought once from their pinned versions at test time.

Where that cannot be done, the test that asks is skipped with the reason.
"""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

KAFKAJS = Path(__file__).parent / "kafkajs"
FRANZ_GO = Path(__file__).parent / "franz_go"
PLATFORMATIC = Path(__file__).parent / "platformatic"
PYTHONS = Path(__file__).parents[2] / ".data" / "clients"
_BUILD_S = 300


def kafkajs() -> Path:
    """The folder with kafkajs, installed from its lock file."""
    return _of_npm("kafkajs", KAFKAJS)


def platformatic() -> Path:
    """The folder with @platformatic/kafka, installed from its lock file."""
    return _of_npm("@platformatic/kafka", PLATFORMATIC)


def _of_npm(client: str, folder: Path) -> Path:
    lock = folder / "package-lock.json"
    done = folder / "node_modules" / ".package-lock.json"
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (done.exists() and done.stat().st_mtime >= lock.stat().st_mtime):
            _run(client, ("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"), folder)
    return folder


def python_with(requirement: str) -> Path:
    """The Python of an environment in which this client is installed, and nothing of ours."""
    environment = PYTHONS / requirement
    python = environment / "bin" / "python"
    PYTHONS.mkdir(parents=True, exist_ok=True)
    with (PYTHONS / f"{requirement}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = environment / "installed"
        if not done.exists():
            _run(requirement, (sys.executable, "-m", "venv", "--clear", str(environment)), PYTHONS)
            _run(requirement, (str(python), "-m", "pip", "install", "--quiet", requirement, "six"), PYTHONS)
            done.touch()
    return python


def franz_go(package: str = ".") -> Path:
    """The program that is built of a package of the module in `franz_go`."""
    name = "driver" if package == "." else package
    program = FRANZ_GO / "build" / name
    program.parent.mkdir(exist_ok=True)
    with (program.parent / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        sources = [*(FRANZ_GO / package).glob("*.go"), FRANZ_GO / "go.mod", FRANZ_GO / "go.sum"]
        newest = max(path.stat().st_mtime for path in sources)
        if not (program.exists() and program.stat().st_mtime >= newest):
            built = ("go", "build", "-mod=readonly", "-o", str(program), f"./{package}")
            _run("franz-go", built, FRANZ_GO)
    return program


def _run(client: str, command: Sequence[str], folder: Path) -> None:
    if shutil.which(command[0]) is None:
        problem = f"{command[0]} is not installed"
    else:
        try:
            result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=_BUILD_S)
        except subprocess.TimeoutExpired:
            problem = f"{' '.join(command[:2])} has not ended within {_BUILD_S} s"
        else:
            if result.returncode == 0:
                return
            problem = result.stderr[-500:]
    pytest.skip(f"{client} cannot be brought: {problem}")
