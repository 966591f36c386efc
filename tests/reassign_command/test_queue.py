"""What KIP-236 adds to the command: the queue, and the switch for new moves."""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kafka_reassign_rpc.client import WAITING, PartitionReassignment, Progress, ProgressSnapshot, TopicPartition
from kafka_reassign_rpc.reassign_command import action_list, action_watch
from kafka_reassign_rpc.reassign_command.action_queue import under_way
from kafka_reassign_rpc.zookeeper import znode_paths
from tests.controller.bare_controller import put_request
from tests.interop.clusters import Ours
from tests.reassign_command.run_command import Command, Files
from tests.stock.tools import Output
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.asyncio(loop_scope="package")]

GUARDED = "No reassignment may be started: {}. Cancellations are still possible."
BY_CONFIG = GUARDED.format("partition.reassignments.enabled=false is set for the cluster")
BY_ZNODE = GUARDED.format("/admin/reassign_cancel exists")
T = TopicPartition("t", 0)


@pytest_asyncio.fixture(loop_scope="package")
async def command(ours: Ours) -> AsyncIterator[Command]:
    host, port = await ours.address(3)
    await ours.set_rates()
    command = Command(f"{host}:{port}")
    yield command
    await command("--cancel", "--preserve-throttles")


async def test_236_12_a_queued_file_is_verified_entry_by_entry(command: Command, ours: Ours, files: Files) -> None:
    await ours.create_topic("queued", {0: [1, 2], 1: [2, 3]}, held=True)
    await command("--execute", "--reassignment-json-file", files.plan("queued", (0, [3, 4])))
    other = files.plan("queued", (1, [4, 5]))
    assert (await command("--execute", "--reassignment-json-file", other)).code == 1
    queued = await command("--execute-queue", "--throttle", "1B", "--reassignment-json-file", other)
    assert (queued.code, queued.err) == (0, "")
    assert queued.lines[-1] == "Successfully queued partition reassignment for queued-1"
    assert "The inter-broker throttle limit was set to 1 B/s" in queued.lines

    both = files.plan("queued", (0, [5, 4]), (1, [4, 5]))
    verified = await command("--verify-queue", "--reassignment-json-file", both)
    assert (verified.code, verified.err) == (1, "")
    assert verified.lines == [
        "Status of partition reassignment:",
        "Reassignment of partition queued-0 is still in progress, but to replica set 3,4 rather than 5,4.",
        "Reassignment of partition queued-1 is still in progress.",
    ]
    verified = await command("--verify-queue", "--json", "--reassignment-json-file", other)
    assert verified.code == 2
    [entry] = json.loads(verified.out)["partitions"]
    assert (entry["partition"], entry["state"], entry["target"]) == (1, "in progress", [4, 5])

    await command("--cancel")
    stands = files.plan("queued", (0, [1, 2]), (1, [2, 3]))

    async def done() -> Output | None:  # the broker that is asked learns of the cancel a moment late
        output = await command("--verify-queue", "--reassignment-json-file", stands)
        return output if output.code == 0 else None

    verified = await eventually(done)
    assert verified.lines[1:] == [
        "Reassignment of partition queued-0 is completed.",
        "Reassignment of partition queued-1 is completed.",
        "Clearing broker-level throttles on brokers 1,2,3,4,5",
        "Clearing topic-level throttles on topic queued",
    ]
    verified = await command("--verify-queue", "--preserve-throttles", "--reassignment-json-file", both)
    assert verified.code == 1
    assert verified.lines[1].endswith("but replica set is 1,2 rather than 5,4.")
    assert len(verified.lines) == 3


async def test_236_12_a_candidate_for_the_queue_is_made_from_where_partitions_will_be(
    command: Command, ours: Ours, files: Files
) -> None:
    await ours.create_topic("foreseen", {0: [1, 2]}, held=True)
    await command("--execute", "--reassignment-json-file", files.plan("foreseen", (0, [3, 4])))
    topics = ("--topics-to-move-json-file", files.topics("foreseen"), "--broker-list", "1,2,3,4,5")

    async def size(action: str) -> int:
        [proposed] = (await command.json(action, *topics))["proposed"]["partitions"]
        return len(proposed["replicas"])

    async def is_shown() -> bool:  # by the broker that is asked: four replicas while it moves
        return await size("--generate") == 4

    await eventually(is_shown)
    assert await size("--generate-queue") == 2


async def test_236_12_what_cannot_be_queued_is_refused_before_anything_is_done(command: Command, files: Files) -> None:
    placed = files.plan("nope", (0, [1]), log_dirs=["/there"])
    for action in ("--execute-queue", "--verify-queue"):
        output = await command(action, "--reassignment-json-file", placed)
        assert output.code == 1
        assert output.out.startswith("Error: --execute-queue cannot place replicas in log dirs")
    refused = await command("--execute-queue", "--reassignment-json-file", placed, "--additional")
    assert 'Option "[additional]" can\'t be used with action "[execute-queue]"' in refused.err


async def test_236_6_new_moves_are_switched_off_and_on_and_the_znode_is_named(
    command: Command, ours: Ours, files: Files
) -> None:
    await ours.create_topic("switched", {0: [1, 2]}, held=True)
    plan = files.plan("switched", (0, [3, 4]))
    disabled = await command("--disable")
    assert (disabled.code, disabled.out) == (0, f"{BY_CONFIG}\n")
    refused = await command("--execute", "--reassignment-json-file", plan)
    assert (refused.code, refused.lines[-1]) == (1, f"switched-0: {BY_CONFIG}")
    assert await command.json("--disable") == {"enabled": False, "reason": BY_CONFIG}

    await ours.znodes.create(znode_paths.REASSIGN_CANCEL, b"")
    try:
        enabled = await command("--enable")
        assert enabled.code == 1
        gone = "partition.reassignments.enabled=false is not set for the cluster any more."
        assert enabled.out == f"{gone} But: {BY_ZNODE}\n"
        document = json.loads((await command("--enable", "--json")).out)
        assert (document["enabled"], document["reason"]) == (False, BY_ZNODE)
    finally:
        await ours.znodes.delete(znode_paths.REASSIGN_CANCEL)
    assert (await command("--enable")).out == "Reassignments may be started.\n"
    assert (await command("--execute", "--reassignment-json-file", plan)).code == 0


async def test_sv_7_events_are_printed_in_lines_and_as_documents(command: Command, ours: Ours, files: Files) -> None:
    await ours.create_topic("told", {0: [1, 2]}, held=True)
    await command("--execute", "--reassignment-json-file", files.plan("told", (0, [3, 4])))

    async def is_recorded() -> bool:  # recorded a moment after the answer
        output = await command("events")
        assert (output.code, output.err) == (0, "")
        return any(" move.started told-0 " in line and "target=[3,4]" in line for line in output.lines)

    await eventually(is_recorded)
    documents = [json.loads(line) for line in (await command("events", "--json")).lines]
    assert {("move.started", "told")} <= {(one["event"], one.get("topic")) for one in documents}
    refused = await command("--list", "--follow")
    assert "follow is not a recognized option" in refused.err


async def test_236_7_what_is_wrong_with_hand_made_znodes_is_printed_once_by_the_command(
    command: Command, ours: Ours
) -> None:
    await ours.create_topic("by-hand", {0: [1, 2], 1: [2, 3], 2: [3, 4]}, held=False)
    wrong = [
        {"topic": "unheard-of", "partition": 0, "replicas": [1]},
        {"topic": "by-hand", "partition": 0, "replicas": [2, 2]},
        {"topic": "by-hand", "partition": 1, "replicas": [77, 2]},
        {"topic": "by-hand", "partition": 2, "replicas": [9, 9]},
        {"topic": "by-hand", "partition": 2, "replicas": [4, 3]},
        "nonsense",
    ]
    queue = json.dumps({"version": 1, "partitions": wrong}).encode()
    await ours.znodes.create(znode_paths.REASSIGN_QUEUE, queue)
    await ours.until_shown("by-hand", {0: [1, 2], 2: [4, 3]})
    await ours.znodes.create(znode_paths.REASSIGN_PARTITIONS, b"{")
    request = await put_request(ours.znodes, b'{"version":1,"assignments":{"by-hand":{"0":[2,1],"x":[1]}}}')
    await ours.until_shown("by-hand", {0: [2, 1]})
    await ours.znodes.delete(znode_paths.REASSIGN_PARTITIONS)
    wanted = (
        ("unheard-of-0", "The partition does not exist."),
        ("by-hand-0", "Duplicate replica ids"),
        ("by-hand-1", "waits for broker 77, which is not alive"),
        ("by-hand-2 is there twice",),
        ("entry 5",),
        ("nothing of it is done",),
        (request, "'x' is no partition"),
    )

    async def all_are_reported() -> bool:
        lines = (await command("events")).lines
        counts = [sum(all(text in line for text in texts) for line in lines) for texts in wanted]
        return counts == [1] * len(wanted)

    await eventually(all_are_reported)
    assert "by-hand-1: replicas: 2,3. adding: 77. removing: 3. waiting." in (await command("--list")).out


@pytest.mark.parametrize(
    ("move", "target", "word", "text"),
    [
        (PartitionReassignment((1, 2), (3,), (2,), state=WAITING), (3, 1), "waiting", "is waiting in the queue."),
        (
            PartitionReassignment((1, 2), (3,), (2,), state=WAITING),
            (4, 1),
            "not as planned",
            "is waiting in the queue, but to replica set 1,3 rather than 4,1.",
        ),
        (PartitionReassignment((3, 1, 2), (3,), (2,)), (3, 1), "in progress", "is still in progress."),
        (
            PartitionReassignment((3, 1, 2), (3,), (2,)),
            (1, 3),
            "not as planned",
            "is still in progress, but to replica set 3,1 rather than 1,3.",
        ),
    ],
)
async def test_236_12_an_entry_waits_moves_or_is_not_as_planned(
    move: PartitionReassignment, target: tuple[int, ...], word: str, text: str
) -> None:
    found = under_way(T, move, target)
    assert (found.word, found.text) == (word, f"Reassignment of partition t-0 {text}")


async def test_236_12_what_waits_is_listed_as_waiting_and_counted_while_watching() -> None:
    waiting = PartitionReassignment((1, 2), (3,), (2,), state=WAITING)
    assert action_list.text({T: waiting}).splitlines()[1] == "t-0: replicas: 1,2. adding: 3. removing: 2. waiting."
    order = PartitionReassignment((1, 2), state=WAITING, waiting_target=(2, 1))
    assert action_list.text({T: order}).splitlines()[1] == "t-0: replicas: 1,2. order: 2,1. waiting."
    [document] = action_list.documents({T: waiting})
    assert (document["state"], document["id"]) == (WAITING, None)
    healed = PartitionReassignment((1, 2), (3,), (2,), state=WAITING, route="heal", reason="heal broker 2")
    assert action_list.text({T: healed}).endswith(" removing: 2. waiting. route: heal. reason: heal broker 2")
    [document] = action_list.documents({T: healed})
    assert (document["route"], document["reason"]) == ("heal", "heal broker 2")
    snapshot = ProgressSnapshot({T: Progress(10, 40)}, Progress(10, 40), 0, {}, waiting=3)
    assert action_watch.summary(snapshot) == "1 move in flight, 3 waiting: 10 B of 40 B (25 %)"
    assert action_watch.document(snapshot)["waiting"] == 3
