"""Actions and options that the stock tool does not have: cancel everything, describe, watch, compare-and-set, JSON."""

import asyncio
import json
from typing import Any

import pytest
import pytest_asyncio

from tests.interop.clusters import TOPIC as TOPIC_CONFIGS
from tests.interop.clusters import Ours
from tests.reassign_command.run_command import Command, Files, kafka_reassign
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.asyncio(loop_scope="package")]


@pytest_asyncio.fixture(loop_scope="package")
async def command(ours: Ours) -> Command:
    host, port = await ours.address(3)
    await ours.set_rates()
    return Command(f"{host}:{port}")


async def sizes_known(command: Command) -> list[Any]:
    found: list[Any] = (await command.json("describe"))["reassignments"]
    assert found
    assert all(one["total_bytes"] is not None for one in found)
    return found


async def test_236_12_cancel_without_a_file_cancels_everything_and_takes_the_throttles_away(
    command: Command, ours: Ours, files: Files
) -> None:
    assert (await command("--cancel")).out == "No partition reassignments found.\n"
    for topic in ("all-a", "all-b"):
        await ours.create_topic(topic, {0: [1, 2]}, held=True)
        plan = files.plan(topic, (0, [3, 4]))
        await command("--execute", "--additional", "--throttle", "1", "--reassignment-json-file", plan)
    cancelled = await command("--cancel")
    assert (cancelled.code, cancelled.err) == (0, "")
    assert cancelled.lines == [
        "Successfully cancelled partition reassignments for: all-a-0,all-b-0",
        "Clearing broker-level throttles on brokers 1,2,3,4,5",
        "Clearing topic-level throttles on topics all-a,all-b",
    ]
    assert (await command.json("--list")) == {"reassignments": []}


async def test_236_12_cancel_everything_leaves_the_throttles_where_it_is_asked_to(
    command: Command, ours: Ours, files: Files
) -> None:
    await ours.create_topic("all-c", {0: [1, 2]}, held=True)
    await command("--execute", "--reassignment-json-file", files.plan("all-c", (0, [3, 4])))
    assert (await command.json("--cancel", "--preserve-throttles")) == {
        "cancelled": [{"topic": "all-c", "partition": 0}]
    }


async def test_240_6_describe_shows_identity_start_leader_throttles_and_bytes(
    command: Command, ours: Ours, files: Files
) -> None:
    nothing = await command("describe")
    assert (nothing.code, nothing.out) == (0, "No partition reassignments found.\n")
    await ours.create_topic("described", {0: [1, 2]}, held=True)
    plan = files.plan("described", (0, [3, 1]))
    await command("--execute", "--throttle", "2", "--reassignment-json-file", plan)

    async def described() -> Any:
        """The controller learns of throttles a moment after they are stored, and of bytes when brokers tell them."""
        [found] = await sizes_known(command)
        assert found["new_assigned"][0]["throttle"] == 2
        return found

    found = await eventually(described)
    assert found["leader"] == 1
    assert found["id"] > 0
    assert found["total_bytes"] == 2_000_000
    assert [(replica["broker"], replica["throttle"]) for replica in found["new_assigned"]] == [(3, 2), (1, None)]
    output = await command("describe")
    assert output.lines[0].startswith("1 move by rpc, started 20")
    assert output.lines[1].startswith(f"  described-0, id {found['id']}, leader 1 (")
    assert " ".join(output.lines[2:]).endswith("; to 3 (2 B/s)"), "broker 1 holds it already"
    await command("--cancel")


async def test_240_6_watch_follows_moves_to_their_end(command: Command, ours: Ours, files: Files) -> None:
    assert (await command("watch")).out == "No partition reassignments found.\n"
    await ours.create_topic("watched", {0: [1, 2], 1: [2, 3]}, held=True)
    plan = files.plan("watched", (0, [3, 4]), (1, [4, 5]))
    await command("--execute", "--reassignment-json-file", plan)
    await eventually(lambda: sizes_known(command))
    shown = [asyncio.Event(), asyncio.Event()]
    watching = asyncio.create_task(command("watch", "--reassignment-json-file", plan, first_line=shown[0]))
    looking = asyncio.create_task(command("watch", "--json", first_line=shown[1]))
    await asyncio.gather(*(one.wait() for one in shown))
    await ours.release("watched")
    output = await watching
    assert (output.code, output.err) == (0, "")
    assert output.lines[0].startswith("2 moves in flight: ")
    assert " of 8.0 MB (0 %)" in output.lines[0]
    assert output.lines[-1].startswith("Nothing moves any more: 2 partitions, 8.0 MB, ")
    documents = [json.loads(line) for line in (await looking).lines]
    assert {document["total"]["total_bytes"] for document in documents if document["moves"]} <= {8_000_000, None}
    assert [move["partition"] for move in documents[0]["moves"]] == [0, 1]
    assert documents[-1]["moves"] == []
    assert documents[-1]["finished"] == 2
    assert documents[-1]["total"]["done_bytes"] == 8_000_000


async def test_240_6_execute_may_watch_what_it_starts(command: Command, ours: Ours, files: Files) -> None:
    await ours.create_topic("both", {0: [1, 2]}, held=True)
    await ours.release("both")
    output = await command("--execute", "--watch", "--reassignment-json-file", files.plan("both", (0, [3, 4])))
    assert output.code == 0
    assert "Successfully started partition reassignment for both-0" in output.lines
    assert output.lines[-1].startswith(("Nothing moves any more: 1 partition, ", "No partition reassignments found."))


async def test_860_5_expected_replicas_in_the_plan_are_compared(command: Command, ours: Ours, files: Files) -> None:
    await ours.create_topic("expected", {0: [1, 2], 1: [2, 3]}, held=False)
    partitions = [
        {"topic": "expected", "partition": 0, "replicas": [2, 1], "expected_replicas": [1, 2]},
        {"topic": "expected", "partition": 1, "replicas": [3, 2], "expected_replicas": [1, 2]},
    ]
    plan = files.json({"version": 1, "partitions": partitions})
    output = await command("--execute", "--expect-current", "--reassignment-json-file", plan)
    assert output.code == 1
    assert output.lines[-2:] == [
        "Error reassigning partition(s):",
        "expected-1: The assignment is not the expected one: expected [1, 2], found [2, 3]",
    ]
    document = json.loads(
        (await command("--execute", "--expect-current", "--json", "--reassignment-json-file", plan)).out
    )
    assert document["started"] == []
    assert "expected-0: " in document["error"]
    missing = files.plan("expected", (0, [1, 2]))
    output = await command("--execute", "--expect-current", "--reassignment-json-file", missing)
    assert (output.code, output.out) == (
        1,
        'Error: --expect-current: "expected_replicas" do not say what to expect of expected-0\n',
    )


async def test_860_5_what_execute_printed_for_a_rollback_is_what_to_expect_next_time(
    command: Command, ours: Ours, files: Files
) -> None:
    await ours.create_topic("rollback", {0: [1, 2]}, held=False)
    there = files.plan("rollback", (0, [2, 1]))
    first = await command("--execute", "--reassignment-json-file", there)
    rollback = files.write(next(line for line in first.lines if line.startswith("{")))
    back = await command("--execute", "--expect-current", there, "--reassignment-json-file", rollback)
    assert back.code == 0
    again = await command("--execute", "--expect-current", there, "--reassignment-json-file", rollback)
    assert again.code == 1
    assert again.lines[-1].startswith("rollback-0: The assignment is not the expected one")


async def test_236_12_everything_can_be_printed_as_json(command: Command, ours: Ours, files: Files) -> None:
    await ours.create_topic("documents", {0: [1, 2]}, held=True)
    plan = files.plan("documents", (0, [3, 4]))
    executed = await command.json("--execute", "--throttle", "1B", "--reassignment-json-file", plan)
    entry = {"topic": "documents", "partition": 0}
    lie = [f"/simulated/broker-{broker}/dir-0" for broker in (1, 2)]
    assert executed["current"]["partitions"] == [{**entry, "replicas": [1, 2], "log_dirs": lie}]
    assert (executed["throttle"], executed["started"]) == (1, [entry])
    moving = {"replicas": [3, 4, 1, 2], "adding_replicas": [3, 4], "removing_replicas": [1, 2]}
    [listed] = (await command.json("--list"))["reassignments"]
    assert listed.pop("id") > 0
    assert listed == {**entry, **moving, "state": "moving", "route": "rpc", "reason": ""}
    verified = await command.json("--verify", "--reassignment-json-file", plan)
    state = {"state": "in progress", "replicas": [3, 4, 1, 2], "target": [3, 4]}
    assert verified == {"partitions": [{**entry, **state}], "log_dirs": [], "reassignments_in_flight": 1}
    assert (await command.json("--execute-queue", "--reassignment-json-file", plan))["queued"] == [entry]
    cancelled = await command.json("--cancel", "--reassignment-json-file", plan)
    throttles = {"brokers": [1, 2, 3, 4, 5], "topics": ["documents"]}
    assert cancelled == {"cancelled": [entry], "throttles_cleared": throttles}
    generated = await command.json(
        "--generate", "--topics-to-move-json-file", files.topics("documents"), "--broker-list", "4,5"
    )
    assert sorted(generated["proposed"]["partitions"][0]["replicas"]) == [4, 5]
    failed = await command("--json", "--execute", "--reassignment-json-file", files.plan("nope", (0, [1])))
    assert failed.code == 1
    assert json.loads(failed.out) == {
        "error": "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: Topic nope not found."
    }


@pytest.mark.parametrize("action", ["--generate", "--generate-queue"])
async def test_hm_4_nothing_is_proposed_for_a_server_although_it_is_a_node_of_the_cluster(
    command: Command, ours: Ours, files: Files, action: str
) -> None:
    topic = f"left-out{action}"
    await ours.create_topic(topic, {index: [1, 2] for index in range(6)}, held=False)
    wanted = ("--topics-to-move-json-file", files.topics(topic), "--broker-list")
    generated = await command("--json", action, *wanted, "1,2,1000", "--disable-rack-aware")
    assert generated.err == ("Warning: --broker-list: 1000 is left out: a reassignment server, which is no broker.\n")
    proposed = json.loads(generated.out)["proposed"]["partitions"]
    assert {tuple(sorted(one["replicas"])) for one in proposed} == {(1, 2)}
    without = await command(action, *wanted, "1,1000")
    assert without.code == 1
    assert "replication factor: 2 larger than available brokers: 1" in without.out.lower()


async def test_236_12_replicas_are_put_into_log_dirs(command: Command, ours: Ours, files: Files) -> None:
    """N11: the command tries until the timeout, because the broker may get the replica only by the move."""
    await ours.create_topic("places", {0: [1, 2]}, held=True)
    plan = files.plan("places", (0, [3, 1]), log_dirs=["/nowhere", "any"])
    output = await command("--execute", "--timeout", "300", "--reassignment-json-file", plan)
    assert output.code == 1
    assert output.lines[-1].startswith(
        ("Timed out before log directory move could be started for: places-0-3", "Error")
    )
    verified = await command("--verify", "--reassignment-json-file", plan)
    assert verified.code == 0
    assert "Reassignment of partition places-0 is still in progress." in verified.lines
    await command("--cancel", "--reassignment-json-file", plan)
    await ours.configure(TOPIC_CONFIGS, "places", {"follower.replication.throttled.replicas": None})


async def test_236_12_a_broker_that_is_gone_does_not_keep_the_other_throttles(command: Command, files: Files) -> None:
    plan = files.json({"version": 1, "partitions": [{"topic": "nope", "partition": 0, "replicas": [77]}]})
    output = await command("--verify", "--reassignment-json-file", plan)
    assert output.code == 1
    assert "Clearing topic-level throttles on topic nope" in output.lines
    assert output.lines[-2].startswith("Could not clear the throttles of broker 77: It is not registered. ")
    assert output.lines[-1] == "Could not clear the throttles of topic nope: The topic 'nope' does not exist."


async def test_236_12_a_cluster_that_does_not_answer_is_one_clear_line(files: Files) -> None:
    impatient = files.write("default.api.timeout.ms=300\nunheard.topic=1\n")
    output = await kafka_reassign("--list", "--bootstrap-server", "127.0.0.1:1", "--command-config", impatient)
    assert output.code == 1
    assert output.lines == [
        "Error: org.apache.kafka.common.errors.TimeoutException: Unable to bootstrap from ['127.0.0.1:1']: "
        "127.0.0.1:1: connection refused"
    ]
    assert output.err == "WARN The configuration 'unheard.topic' was supplied but isn't a known config.\n"
