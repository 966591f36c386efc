"""The Dockerfile and the locks that it installs. No image is built here."""

import argparse
import json
import re
import shlex
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kafka_reassign_rpc.cli.health_command import add_arguments
from kafka_reassign_rpc.cli.listener_settings import complete_listeners
from kafka_reassign_rpc.cli.main import COMMANDS
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import add_flags, read_settings
from tests.docs.pages import ROOT
from tests.requirements import PROJECT, needed, of_extra

INSTRUCTIONS = [
    (line.split(maxsplit=1)[0], line.split(maxsplit=1)[1])
    for line in re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    .replace("\\\n", " ")
    .splitlines()
    if line.strip()
]
SERVER_TOML = ROOT / "deploy/systemd/server.toml"
DIGEST = re.compile(r"[\w./-]+:\d+\.\d+\.\d+[\w.-]*@sha256:[0-9a-f]{64}")
"""An image by its exact version and its digest."""


class Locked(NamedTuple):
    requirement: str
    hashes: frozenset[str]


def locked(name: str) -> dict[str, Locked]:
    """The packages of a lock by their names."""
    found: dict[str, Locked] = {}
    for entry in re.split(r"^(?=[a-z0-9])", (ROOT / name).read_text(), flags=re.MULTILINE)[1:]:
        requirement = entry.partition("\\\n")[0].strip()
        hashes = frozenset(re.findall(r"--hash=(sha256:[0-9a-f]{64})", entry))
        found[canonicalize_name(Requirement(requirement).name)] = Locked(requirement, hashes)
    return found


def of(instruction: str) -> list[str]:
    return [rest for name, rest in INSTRUCTIONS if name == instruction]


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        (
            "requirements-production.lock",
            of_extra("server"),
        ),
        ("requirements-build.lock", PROJECT["dependency-groups"]["build"]),
        ("requirements-demo.lock", [*of_extra("demo"), *PROJECT["dependency-groups"]["build"]]),
    ],
)
def test_hm_6_each_lock_of_a_part_has_what_the_part_needs_and_nothing_else(lock: str, wanted: list[str]) -> None:
    packages, every = locked(lock), locked("requirements.lock")
    asked = needed(wanted)
    assert asked.keys() == packages.keys()
    for name, (requirement, hashes) in packages.items():
        assert hashes, name
        ((operator, version),) = ((one.operator, one.version) for one in Requirement(requirement).specifier)
        assert operator == "=="
        assert str(Requirement(every[name].requirement).specifier) == f"=={version}", (
            "as the tests have it: `make lock`"
        )
        assert hashes == every[name].hashes
        assert all(one.specifier.contains(version) for one in asked[name]), (name, version)


def test_hm_6_the_image_is_made_of_what_is_pinned() -> None:
    stages = set()
    for base, _, stage in (one.partition(" AS ") for one in of("FROM")):
        assert base in stages or DIGEST.fullmatch(base), base
        stages.add(stage)
    assert of("FROM")[-1] in stages
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    installs = [part.strip() for run in of("RUN") for part in run.split("&&") if "pip install" in part]
    *locks, own = installs
    assert [shlex.split(one)[-1] for one in locks] == ["requirements-build.lock", "requirements-production.lock"]
    assert all({"--require-hashes", "--no-deps"} <= {*shlex.split(one)} for one in locks)
    assert own == "pip install --no-deps --no-build-isolation .", "else it would get what is not pinned"
    ignored = {line for line in (ROOT / ".dockerignore").read_text().splitlines() if "*" not in line}
    for copied in of("COPY"):
        if not copied.startswith("--from=build"):
            *sources, _ = copied.split()
            for name in sources:
                assert (ROOT / name).exists(), name
                assert name not in ignored


def test_hm_6_the_image_runs_as_a_fixed_user_and_shows_both_ports() -> None:
    (user,) = of("USER")
    assert user == "10001:10001"
    (made,) = (run for run in of("RUN") if "useradd" in run)
    assert "--gid 10001" in made
    assert "--uid 10001 --gid 10001" in made
    ((serve, *arguments),) = (json.loads(one) for one in of("CMD"))
    assert serve == "serve"
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_flags(parser, SETTINGS)
    given = parser.parse_args(arguments)
    assert given.config == SERVER_TOML.read_text().split()[1].rstrip(":"), "where it lies with each way of deploying"
    given.config = str(SERVER_TOML)
    values = complete_listeners(read_settings(given, SETTINGS))
    assert values["zookeeper.connect"], "the image has no ZooKeeper of its own"
    ports = {values["listeners"][0].port, values["metrics.listener"][1]}
    (exposed,) = of("EXPOSE")
    assert {*map(int, exposed.split())} == ports
    assert of("VOLUME") == [values["data.dir"]]


def test_sv_11_the_image_asks_its_server_for_its_health() -> None:
    (check,) = of("HEALTHCHECK")
    program, command, *arguments = json.loads(check.partition("CMD ")[2])
    assert [json.dumps([program])] == of("ENTRYPOINT")
    assert command in COMMANDS
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_arguments(parser)
    assert parser.parse_args(arguments).pid == 1
