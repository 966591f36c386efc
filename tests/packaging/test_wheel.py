"""The wheel has all of the package, and each part of it installs without what only other parts need."""

import tomllib
import zipfile
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli.extras import EXTRA_OF_COMMAND, MODULES_OF_EXTRA
from tests.packaging.conftest import CHECKOUT, Environment

HEAVY = ("pyspark", "pyarrow", "matplotlib", "numpy", "aiozk", "aiohttp", "uvloop", "jinja2")


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    places = {"kafka_reassign_rpc": CHECKOUT / "kafka_reassign_rpc", "kafka_reassign_rpc/schemas": CHECKOUT / "schemas"}
    in_checkout = {
        f"{package}/{file.relative_to(folder).as_posix()}"
        for package, folder in places.items()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }

    with zipfile.ZipFile(wheel) as opened:
        in_wheel = {name for name in opened.namelist() if ".dist-info/" not in name}

    assert in_wheel == in_checkout


def test_the_wheel_has_the_license(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (name for name in opened.namelist() if name.endswith("/licenses/LICENSE"))
        text = opened.read(name).decode()

    assert text == (CHECKOUT / "LICENSE").read_text()
    assert "Apache License" in text


def test_the_bare_package_brings_nothing_that_only_the_server_or_the_pipeline_needs(bare: Environment) -> None:
    program = f"from importlib.util import find_spec; print([name for name in {HEAVY} if find_spec(name)])"

    ended = bare.run("python", "-c", program)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "[]\n", "")


def test_the_bare_package_has_the_python_client(bare: Environment) -> None:
    program = (
        "from kafka_reassign_rpc.client import AsyncReassignmentClient, ReassignmentClient; "
        "import kafka_reassign_rpc; print(kafka_reassign_rpc.__file__)"
    )

    ended = bare.run("python", "-c", program)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(str(bare.programs.parent)), "not the checkout's"


def test_the_bare_package_has_the_kafka_reassign_command(bare: Environment) -> None:
    ended = bare.run("kafka-reassign", "--help")

    assert (ended.returncode, ended.stdout) == (1, ""), "as the stock tool does"
    assert ended.stderr.startswith("This tool helps to move topic partitions between replicas.")
    assert "--reassignment-json-file" in ended.stderr


def test_kafka_reassign_of_the_bare_package_reads_its_properties_and_tries_to_connect(
    bare: Environment, tmp_path: Path
) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text("default.api.timeout.ms=1000\n")

    ended = bare.run("kafka-reassign", "--bootstrap-server", "127.0.0.1:1", "--list", "--command-config", properties)

    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert "Unable to bootstrap from ['127.0.0.1:1']" in ended.stdout + ended.stderr


@pytest.mark.parametrize("command", EXTRA_OF_COMMAND)
def test_a_command_of_a_missing_extra_names_the_extra(bare: Environment, command: str) -> None:
    extra = EXTRA_OF_COMMAND[command]

    ended = bare.run("kafka-reassign-rpc", command, "--help")

    assert (ended.returncode, ended.stdout) == (2, "")
    advice = f"needs the extra [{extra}]: pip install 'kafka-reassign-rpc[{extra}]'"
    assert ended.stderr == f"kafka-reassign-rpc {command}: {advice}\n"


def test_the_help_of_the_bare_package_names_every_command(bare: Environment) -> None:
    ended = bare.run("kafka-reassign-rpc", "--help")

    assert (ended.returncode, ended.stderr) == (0, "")
    for command in EXTRA_OF_COMMAND:
        assert command in ended.stdout


@pytest.mark.parametrize("extra", MODULES_OF_EXTRA)
def test_an_extra_brings_each_module_that_its_commands_need(extra: str) -> None:
    declared = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["optional-dependencies"][extra]
    names = {requirement.replace("-", "_").split(">")[0] for requirement in declared}

    assert set(MODULES_OF_EXTRA[extra]) <= names
