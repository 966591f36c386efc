"""The commands of README.md's first move, one after the other, as written, on the cluster of `make serve`."""

import re
import shlex

from kafka_reassign_rpc.client import ReassignmentClient
from kafka_reassign_rpc.reassign_command.command_line import parse_command
from tests.docs.pages import README, text_of
from tests.fork_server import KAFKA_REASSIGN, output_of

ADDRESS = "localhost:9092"


def commands() -> list[tuple[str, str]]:
    """Each command of the section, and the last line that it prints there."""
    section = text_of(README).partition("## The first move")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    found: list[tuple[str, str]] = []
    for line in filter(None, "\n".join(blocks).splitlines()):
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), ""))
        elif line != "…":
            found[-1] = (found[-1][0], line)
    return found


def words(line: str) -> list[str]:
    """Without what differs from time to time: numbers and sizes."""
    return re.findall(r"[A-Za-z]{3,}", line)


async def test_236_12_the_first_move_of_the_readme_works_as_written_without_a_kafka_distribution(
    bootstrap: str, client: ReassignmentClient
) -> None:
    assert not client.list_partition_reassignments()
    ours = [(shlex.split(line), last) for line, last in commands() if line.startswith("kafka-reassign ")]
    assert [option for line, _ in ours for option in line if option in ("describe-topic", "--dry-run", "--lease")]
    assert sum("move" in line for line, _ in ours) == 2
    for line, last in ours:
        assert ADDRESS in line
        if "watch" in line:  # it lasts as long as the moves
            assert parse_command(line[1:]) is not None
            continue
        output = await output_of(KAFKA_REASSIGN, [bootstrap if one == ADDRESS else one for one in line[1:]], timeout=60)
        assert (output.code, output.err) == (0, ""), line
        assert any(words(last) == words(printed) for printed in output.lines), (line, output.out)
