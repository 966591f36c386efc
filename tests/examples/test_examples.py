"""Each program of examples/ against a running server."""

import asyncio
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from kafka_reassign_rpc.client import KafkaError, MoveTerms, ReassignmentClient, TopicPartition
from tests.stock.process import LoggedProcess
from tests.waiting import eventually

EXAMPLES = Path(__file__).parents[2] / "examples"
TOPIC = "payments"
SLOW = 1000  # bytes/s: such a move does not end in a test


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, EXAMPLES / program, *arguments], capture_output=True, text=True, timeout=240, check=False
    )


def has_replicas(client: ReassignmentClient, partition: TopicPartition, expected: tuple[int, ...]) -> bool:
    return replicas(client, partition) == expected


def replicas(client: ReassignmentClient, partition: TopicPartition) -> tuple[int, ...]:
    topic = client.describe_topics([partition.topic])[partition.topic]
    assert not isinstance(topic, KafkaError), topic
    return topic[partition.partition].replicas


def other_brokers(current: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(broker for broker in range(1, 7) if broker not in current)


async def test_move_partition_ends_when_the_partition_has_its_target(
    bootstrap: str, client: ReassignmentClient
) -> None:
    partition = TopicPartition(TOPIC, 0)
    target = other_brokers(replicas(client, partition))

    ended = run("move_partition.py", bootstrap, TOPIC, "0", ",".join(map(str, target)))

    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert (lines[0], lines[-1]) == (f"{partition} moves to {list(target)}", f"{partition} has moved")
    await eventually(lambda: replicas(client, partition) == target)


def test_move_partition_tells_why_the_controller_refused(bootstrap: str, client: ReassignmentClient) -> None:
    ended = run("move_partition.py", bootstrap, TOPIC, "0", "1,2,99")

    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout.startswith("The controller refused the move: ")
    assert "99" in ended.stdout


async def test_cancel_all_moves_gives_each_partition_its_original_replicas_back(
    bootstrap: str, client: ReassignmentClient
) -> None:
    before = {
        partition: replicas(client, partition) for partition in (TopicPartition(TOPIC, 1), TopicPartition(TOPIC, 2))
    }
    moves = {name: MoveTerms(tuple(other_brokers(current)), throttle=SLOW) for name, current in before.items()}
    assert client.alter_partition_reassignments(moves) == dict.fromkeys(moves)

    ended = run("cancel_all_moves.py", bootstrap)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert sorted(ended.stdout.splitlines()) == ["2 moves", *(f"{partition}: cancelled" for partition in before)]
    assert client.list_partition_reassignments() == {}
    for partition, original in before.items():
        await eventually(partial(has_replicas, client, partition, original))


async def test_follow_events_prints_what_happens_to_a_move(
    bootstrap: str, client: ReassignmentClient, tmp_path: Path
) -> None:
    partition = TopicPartition(TOPIC, 3)
    target = other_brokers(replicas(client, partition))
    program = LoggedProcess(tmp_path / "log")
    program.launch([sys.executable, str(EXAMPLES / "follow_events.py"), bootstrap])
    await program.wait_for_line(re.compile(rb"^following server \d+ from event \d+ on$", re.MULTILINE))

    assert client.alter_partition_reassignments({partition: target}) == {partition: None}

    name = str(partition).encode()
    await program.wait_for_line(re.compile(rb"^\d\d:\d\d:\d\d move\.started " + name + rb" \(\S+.*\)$", re.MULTILINE))
    await program.wait_for_line(re.compile(rb"^\d\d:\d\d:\d\d move\.completed " + name + rb" \(\S+.*\)$", re.MULTILINE))
    program.send(signal.SIGINT)
    assert await program.ended() == 130
    assert b"Traceback" not in program.printed()


@pytest.mark.parametrize("program", sorted(file.name for file in EXAMPLES.glob("*.py")))
async def test_an_example_without_arguments_shows_how_it_is_called(program: str) -> None:
    ended = await asyncio.to_thread(run, program)

    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"python examples/{program} localhost:9092" in ended.stderr
