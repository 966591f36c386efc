"""The commands of docs/night.md, one after the other, on a cluster that has lost broker 3."""

import argparse
import re
import shlex
from importlib import import_module
from pathlib import Path

from kafka_reassign_rpc.core.settings.healing_settings import APPROVAL, INTERVAL
from tests.controller.cluster import cluster
from tests.docs.pages import DOCS, text_of
from tests.fork_server import CLI, KAFKA_REASSIGN, output_of
from tests.waiting import eventually

_OF_SPARK = ("export", "plan", "submit")
"""`tests/pipeline` carries them out; here each has to be a command line that the product takes."""
_MAY_FAIL = ("check", "notify")
"""They say that broker 4 may not go, and that nobody takes the notification."""


def commands() -> list[list[str]]:
    blocks = re.findall(r"^```sh\n(.*?)^```", text_of(DOCS / "night.md"), re.MULTILINE | re.DOTALL)
    return [shlex.split(line, comments=True) for line in "".join(blocks).splitlines()]


def parsed(command: str, arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    import_module(f"kafka_reassign_rpc.cli.{command}_command").add_arguments(parser)
    return parser.parse_args(arguments)


def test_dp_2_each_command_of_the_page_of_the_night_for_a_drain_is_one() -> None:
    found = [line[1:] for line in commands() if line[0] == "kafka-reassign-rpc" and line[1] in _OF_SPARK]
    assert [command for command, *_ in found] == list(_OF_SPARK)
    for command, *arguments in found:
        parsed(command, arguments)


async def test_dh_5_and_46_7_each_command_of_the_page_of_the_night_does_what_it_is_for(
    zk_connect: str, tmp_path: Path
) -> None:
    found = [line for line in commands() if line[0] == "kafka-reassign" or line[1] not in _OF_SPARK]
    config = tmp_path / "server.toml"
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef0123456789abcdef")
    secret.chmod(0o600)
    config.write_text(f'"webhook.urls" = ["http://127.0.0.1:1/"]\n"webhook.secret.file" = "{secret}"\n')
    async with cluster(zk_connect, brokers=(1, 2, 3, 4), event_log=tmp_path) as world:
        await world.create_topic("t", {0: (3, 1), 1: (1, 3), 2: (1, 2)})
        await world.settings({INTERVAL: "86400000", APPROVAL: "required"})
        await world.kill_broker(3)

        async def is_noticed() -> bool:
            return "heal.noticed" in [one["event"] for one in await world.events()]

        await eventually(is_noticed)
        places = {"$BROKERS": world.bootstrap, "$ZOOKEEPER": zk_connect, "server.toml": str(config)}
        said = dict[str, str]()
        for name, *written in found:
            words = [places.get(word, word) for word in written]
            output = await output_of(KAFKA_REASSIGN if name == "kafka-reassign" else CLI, words, timeout=60)
            line = " ".join(word for word in words if word not in (world.bootstrap, "--bootstrap-server"))
            is_healed = "--approve" in words and output.out.startswith("No such repair waits")  # --now needs none
            may_fail = is_healed or (name == "kafka-reassign-rpc" and words[0] in _MAY_FAIL)
            assert output.code == 0 or (may_fail and output.code == 1), (name, words, output)
            said.setdefault(line, output.out)  # the repair may be over when a command comes once more
        assert "Broker 3: gone since " in said["heal --status"]
        assert "t-0: [3, 1] -> [" in said["heal --dry-run"]
        assert said["cordon --brokers 4"] == "Cordoned: 4.\n"
        assert " held" in said["hold --all --reason the shop is slow"]
        await eventually(lambda: world.moving_is(()))
