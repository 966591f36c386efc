"""The commands of README.md's first move, one after the other, as written, on the cluster of `make serve`."""

import re
import shlex

from kafka_reassign_rpc.client import ReassignmentClient
from kafka_reassign_rpc.reassign_command.main import parse_command
from tests.docs.pages import README, section_of, shell_commands
from tests.fork_server import KAFKA_REASSIGN, output_of

ADDRESS = "localhost:9092"


def words(line: str) -> list[str]:
    """Without what differs from time to time: numbers and sizes."""
    return re.findall(r"[A-Za-z]{3,}", line)


async def test_236_12_the_first_move_of_the_readme_works_as_written_without_a_kafka_distribution(
    bootstrap: str, client: ReassignmentClient
) -> None:
    assert not client.list_partition_reassignments()
    commands = shell_commands(section_of(README, "In ZooKeeper mode: the first move"))
    ours = [(shlex.split(line), last) for line, last in commands if line.startswith("kafka-reassign ")]
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
