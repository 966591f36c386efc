"""The wheel has all of the package, and each part of it runs without what only other parts need."""

import asyncio
import json
import re
import signal
import subprocess
import zipfile
from asyncio.subprocess import PIPE
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli.main import EXTRA_OF_COMMAND, MODULES_OF_EXTRA
from kafka_reassign_rpc.protocol import generate_stubs
from tests.http_client import get
from tests.packaging.conftest import CHECKOUT, EXTRAS, Environment
from tests.packaging.watch_words import BASE, OWN, PORT, VARIABLE, instructions, until_seen, watch, words
from tests.requirements import PROJECT, needed, of_extra
from tests.watch.moving_nodes import TWO_MOVE, moving_nodes

pytestmark = pytest.mark.gate


SERVER = ("aiozk", "aiohttp", "uvloop", "jinja2", "joserfc")
PIPELINE = ("pyarrow", "matplotlib", "numpy")
LACKS: Mapping[str, tuple[str, ...]] = {
    "": (*SERVER, *PIPELINE, "pyspark", "gssapi"),
    "kerberos": (*SERVER, *PIPELINE, "pyspark"),
    "server": (*PIPELINE, "pyspark", "gssapi"),
    "demo": (*PIPELINE, "gssapi"),
    "pipeline": ("aiozk", "aiohttp", "uvloop", "joserfc", "gssapi"),
}
"""What only other extras need."""
COMMANDS_OF: Mapping[str, tuple[str, ...]] = {
    "": (),
    "server": ("server",),
    "demo": ("server", "demo"),
    "pipeline": ("pipeline",),
}
"""The extras whose commands an extra brings."""
MOST_MB_OF_SERVER = 100
ANY_PORT = ("--listeners", "PLAINTEXT://127.0.0.1:0")
TYPES = "kafka_reassign_rpc/protocol/messages.pyi"
IMPORT_ALL = """
import importlib, pkgutil, sys, kafka_reassign_rpc
print(kafka_reassign_rpc.__file__)
for part in sys.argv[1:]:
    name = f"kafka_reassign_rpc.{part}"
    for found in pkgutil.walk_packages(getattr(importlib.import_module(name), "__path__", ()), f"{name}."):
        importlib.import_module(found.name)
"""
CLIENT = ("client", "core", "protocol", "reassign_command", "schemas", "support")
IN_SERVER = (
    *(*CLIENT, "api", "controller", "controller_channel", "embedded_zookeeper", "fleet", "preflight"),
    *("security", "server", "status_page", "watch", "zookeeper"),
)
PARTS: Mapping[str, tuple[str, ...]] = {
    "": CLIENT,
    "server": IN_SERVER,
    "pipeline": (*CLIENT, "pipeline", "planner"),
}
"""The folders of the package whose modules an extra is for."""


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    of_folder = {"kafka_reassign_rpc": CHECKOUT, "schemas": CHECKOUT / "kafka_reassign_rpc"}
    in_checkout = {
        (place / file.relative_to(CHECKOUT)).relative_to(CHECKOUT).as_posix()
        for folder, place in of_folder.items()
        for file in (CHECKOUT / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }

    with zipfile.ZipFile(wheel) as opened:
        in_wheel = {name for name in opened.namelist() if ".dist-info/" not in name}

    assert in_wheel == in_checkout | {TYPES}


def test_the_wheel_has_the_types_of_its_message_classes_which_the_build_wrote(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        assert opened.read(TYPES).decode() == generate_stubs.stub()
        assert "kafka_reassign_rpc/py.typed" in opened.namelist(), (
            "without it mypy reads no types of an installed package"
        )


def test_the_wheel_has_the_license(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (name for name in opened.namelist() if name.endswith("/licenses/LICENSE"))
        text = opened.read(name).decode()

    assert text == (CHECKOUT / "LICENSE").read_text()
    assert "Apache License" in text


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_hm_8_an_extra_brings_nothing_that_only_others_need(
    environments: Mapping[str, Environment], extra: str
) -> None:
    lacking = f"from importlib.util import find_spec; print([name for name in {LACKS[extra]} if find_spec(name)])"

    ended = environments[extra].run("-c", lacking)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "[]\n", "")


@pytest.mark.parametrize("extra", PARTS)
def test_hm_8_an_extra_brings_all_that_its_own_modules_import(
    environments: Mapping[str, Environment], extra: str
) -> None:
    environment = environments[extra]

    ended = environment.run("-W", "ignore", "-c", IMPORT_ALL, *PARTS[extra])

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(str(environment.packages)), "not the checkout's"


@pytest.mark.parametrize("extra", COMMANDS_OF)
def test_hm_8_the_help_of_each_environment_explains_its_commands_and_names_the_extra_of_all_others(
    environments: Mapping[str, Environment], extra: str
) -> None:
    ended = environments[extra].command("--help")

    assert (ended.returncode, ended.stderr) == (0, "")
    shown = " ".join(ended.stdout.split())
    for command, of in EXTRA_OF_COMMAND.items():
        advice = f"{command} needs the extra [{of}]: pip install 'kafka-reassign-rpc[{of}]'"
        assert (advice in shown) == (of not in COMMANDS_OF[extra]), command
        assert f" {command} " in shown


def test_hm_8_the_server_takes_less_than_a_hundred_megabytes(environments: Mapping[str, Environment]) -> None:
    def of(package: str) -> int:
        files = [Path(str(file.locate())) for file in distribution(package).files or ()]
        return sum(file.stat().st_size for file in files if file.exists())

    own = sum(file.stat().st_size for file in environments["server"].packages.glob("kafka_reassign_rpc/**/*.*"))
    sizes = {package: of(package) for package in needed(of_extra("server"))}

    assert own + sum(sizes.values()) < MOST_MB_OF_SERVER * 1e6, sizes


def test_the_bare_package_has_both_commands(bare: Environment) -> None:
    programs = bare.python.parent
    ended = subprocess.run(
        [programs / "kafka-reassign", "--help"], capture_output=True, text=True, check=False, env=bare.variables
    )

    assert (programs / "kafka-reassign-rpc").is_file()
    assert (ended.returncode, ended.stdout) == (1, ""), "as the stock tool does"
    assert ended.stderr.startswith("This tool helps to move topic partitions between replicas.")
    assert "--reassignment-json-file" in ended.stderr


def test_kafka_reassign_of_the_bare_package_reads_its_properties_and_tries_to_connect(
    bare: Environment, tmp_path: Path
) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text("default.api.timeout.ms=1000\n")

    arguments = ("--bootstrap-server", "127.0.0.1:1", "--list", "--command-config", properties)

    ended = bare.run("-m", "kafka_reassign_rpc.reassign_command.main", *arguments)

    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert "Unable to bootstrap from ['127.0.0.1:1']" in ended.stdout + ended.stderr


@pytest.mark.parametrize(("has", "command"), [("", "serve"), ("server", "zookeeper"), ("demo", "plan")])
def test_a_command_of_a_missing_extra_names_the_extra(
    environments: Mapping[str, Environment], has: str, command: str
) -> None:
    extra = EXTRA_OF_COMMAND[command]

    ended = environments[has].command(command, "--help")

    assert (ended.returncode, ended.stdout) == (2, "")
    advice = f"needs the extra [{extra}]: pip install 'kafka-reassign-rpc[{extra}]'"
    assert ended.stderr == f"kafka-reassign-rpc {command}: {advice}\n"


def test_hm_8_serve_without_a_zookeeper_and_without_the_demo_says_what_to_give_or_to_install(
    environments: Mapping[str, Environment], tmp_path: Path
) -> None:
    ended = environments["server"].command("serve", "--data-dir", tmp_path)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "kafka-reassign-rpc serve: --zookeeper-connect is not set, and a ZooKeeper of this command's own needs the"
        " extra [demo]: pip install 'kafka-reassign-rpc[demo]'\n"
    )
    assert not list(tmp_path.iterdir())


@contextmanager
def ready(environment: Environment, *arguments: str | Path) -> Iterator[str]:
    """`serve` with these arguments; its line when it can be used. It has to end
    well on SIGTERM."""
    with subprocess.Popen(
        [environment.python, "-m", "kafka_reassign_rpc.cli.main", "serve", *ANY_PORT, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=environment.packages,
        env=environment.variables,
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline()
        finally:
            process.send_signal(signal.SIGTERM)
            _, log = process.communicate(timeout=60)
    assert process.returncode == 0, log


def test_hm_8_the_server_alone_serves_an_operators_zookeeper(
    environments: Mapping[str, Environment], zk_connect: str, tmp_path: Path
) -> None:
    with ready(environments["server"], "--zookeeper-connect", zk_connect, "--data-dir", tmp_path) as line:
        assert line.startswith("ready bootstrap=127.0.0.1:")
        assert line.endswith(f"zookeeper={zk_connect} brokers=none\n")


def test_hm_8_the_demo_serves_a_zookeeper_and_six_simulated_brokers_of_its_own(
    environments: Mapping[str, Environment], tmp_path: Path
) -> None:
    with ready(environments["demo"], "--data-dir", tmp_path) as line:
        assert line.startswith("ready bootstrap=127.0.0.1:")
        assert line.endswith("brokers=1,2,3,4,5,6\n")


def test_kr_4_the_image_of_watch_adds_words_alone_to_that_of_the_server() -> None:
    assert [name for name, _ in instructions(OWN)] == ["FROM", "EXPOSE", "CMD"]
    assert instructions(OWN)[0] == ("FROM", "kafka-reassign-rpc")
    assert [rest for name, rest in instructions(BASE) if name == "ENV"] == ["PATH=/opt/kafka-reassign-rpc/bin:$PATH"]
    assert not re.search(r"java|jre|jdk|spark", BASE.read_text() + OWN.read_text(), re.IGNORECASE)


async def test_kr_4_the_container_watches_a_cluster_by_one_variable_without_java_and_without_spark(
    environments: Mapping[str, Environment],
) -> None:
    environment, program = environments["server"], environments[""].python.parent / "kafka-reassign-rpc"
    lacks = "from importlib.util import find_spec; from shutil import which; print(find_spec('pyspark'), which('java'))"
    path = {"PATH": str(environment.python.parent)}
    command = [*words(BASE, "ENTRYPOINT"), *words(OWN, "CMD")]
    async with moving_nodes() as (first, _):
        variables = {**path, VARIABLE: f"127.0.0.1:{first.port}"}
        async with watch(environment, program, command, variables) as line:
            ready = re.fullmatch(r"ready metrics=0\.0\.0\.0:(\d+) page=\S+\n", line)
            assert ready is not None, line
            address = f"127.0.0.1:{ready[1]}"
            await until_seen(address, len(TWO_MOVE))
            assert (await get(address, "/ready")).status == 200
            of_base = words(BASE, "HEALTHCHECK")
            assert of_base == [program.name, "health", "--pid", "1"], "tests/cli/test_health_command.py asks by the id"
            where = ("--watch", "--metrics-listener", f"0.0.0.0:{ready[1]}")
            for words_, said in (((program, of_base[1], *where), '{"status":"ok"}\n'), (("-c", lacks), "None None\n")):
                asked = await asyncio.create_subprocess_exec(environment.python, *words_, stdout=PIPE, env=path)
                out, _ = await asked.communicate()
                assert (asked.returncode, out.decode()) == (0, said)


async def test_kr_4_the_five_minutes_of_the_docs_are_right_word_for_word(
    environments: Mapping[str, Environment],
) -> None:
    page = (CHECKOUT / "docs/watch.md").read_text().partition("## Five minutes on your KRaft cluster")[2]
    [(extra, command)] = re.findall(
        r"^pip install 'kafka-reassign-rpc\[(\w+)\]'\n(kafka-reassign-rpc .*)$", page, re.MULTILINE
    )
    [(metrics, shown)] = re.findall(r"It prints `ready metrics=(\S+) page=(\S+)`", page)
    environment, program = environments[extra], environments[""].python.parent / "kafka-reassign-rpc"
    async with moving_nodes() as (first, _):
        given = command.replace("broker1:9092", f"127.0.0.1:{first.port}").split()
        any_port = ("--metrics-listener", metrics)
        async with watch(environment, program, [*given, *any_port], environment.variables) as line:
            ready = re.fullmatch(r"ready metrics=127\.0\.0\.1:(\d+) page=\S+\n", line)
            assert ready is not None, line
            assert line.replace(ready[1], PORT) == f"ready metrics={metrics} page={shown}\n"
            await until_seen(f"127.0.0.1:{ready[1]}", len(TWO_MOVE))
            moves = json.loads((await get(f"127.0.0.1:{ready[1]}", "/api/v1/moves")).body)["moves"]
            assert len(moves) == len(TWO_MOVE), "the docs promise names"


def test_all_is_made_of_each_extra_that_is_not_compiled() -> None:
    names = {name for name in PROJECT["project"]["optional-dependencies"] if name not in ("all", "kerberos")}

    assert {*of_extra("all")} == {one for name in names for one in of_extra(name)}


@pytest.mark.parametrize("extra", MODULES_OF_EXTRA)
def test_an_extra_brings_each_module_that_its_commands_need(extra: str) -> None:
    names = {name.replace("-", "_") for name in needed(of_extra(extra))}

    assert set(MODULES_OF_EXTRA[extra]) <= names


def test_hm_8_the_version_is_that_of_the_newest_release_in_the_changelog(bare: Environment) -> None:
    headings = [line.split() for line in (CHECKOUT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    unreleased, newest, *_ = (words[1].strip("[]") for words in headings)

    ended = bare.command("--version")

    assert unreleased == "Unreleased"
    assert newest == PROJECT["project"]["version"]
    assert ended.stdout == f"kafka-reassign-rpc {newest}\n"
