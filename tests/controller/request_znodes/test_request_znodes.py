"""Znodes under `/admin/reassignment_requests`, created by hand, with the real server."""

import json
import logging
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kafka_reassign_rpc.core.state.topic_partition import TopicPartition
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.reassignment_request_znodes import encode_request
from tests.controller.bare_controller import put_request, records
from tests.controller.cluster import THROTTLED, Cluster, cluster
from tests.waiting import eventually

ENABLED = "partition.reassignments.enabled"
RATE = "follower.replication.throttled.rate"


@pytest_asyncio.fixture
async def world(zk_connect: str) -> AsyncIterator[Cluster]:
    async with cluster(zk_connect) as made:
        await made.create_topic("held", {0: (1, 2), 1: (1, 2), 2: (1, 2)}, held=True)
        await made.create_topic("free", {0: (1, 2), 1: (1, 2)})
        yield made


async def requests(world: Cluster) -> list[str]:
    return sorted(await world.zk.children(znode_paths.REASSIGNMENT_REQUESTS))


async def all_requests_are_carried_out(world: Cluster) -> bool:
    return not await requests(world)


async def assignment_is(world: Cluster, name: tuple[str, int], replicas: list[int]) -> bool:
    """The replicas in the topic znode, which also names those that are pending deletion."""
    return await world.assignment(*name) == replicas


async def record_of(world: Cluster, name: tuple[str, int]) -> tuple[dict[str, object], int]:
    """The content of a move's record, and its czxid."""
    data, stat = await world.zk.get(znode_paths.reassignment(*name))
    return json.loads(data), stat.czxid


def count_log_lines(caplog: pytest.LogCaptureFixture, *texts: str) -> int:
    return sum(all(text in record.getMessage() for text in texts) for record in caplog.records)


async def test_236_8_a_request_becomes_moves_with_a_record_each_and_its_znode_is_deleted(
    world: Cluster,
) -> None:
    await put_request(world.zk, {("held", 0): (3, 4), ("free", 0): (4, 5), ("held", 1): (2, 1)})

    await eventually(lambda: all_requests_are_carried_out(world))
    await eventually(lambda: world.has(("free", 0, (4, 5))))
    assert await world.moving() == {("held", 0)} == await records(world.zk)
    assert await world.assignment("held", 1) == [2, 1], "a new order is done at once"
    record, move = await record_of(world, ("held", 0))
    by = {"who": "znode /admin/reassignment_requests/request_0000000000"}
    assert record == {"version": 1, "target": [3, 4], "original_replicas": [1, 2], "route": "request", "by": by}

    await put_request(world.zk, {("held", 0): (4, 5)})
    await eventually(lambda: assignment_is(world, ("held", 0), [4, 5, 1, 2]))
    assert await all_requests_are_carried_out(world)
    record, same = await record_of(world, ("held", 0))
    assert (record["target"], record["original_replicas"], same) == ([4, 5], [1, 2], move), "one move, changed"

    await put_request(world.zk, {("held", 0): (1, 2)})
    await eventually(lambda: world.has(("held", 0, (1, 2))))
    assert await records(world.zk) == set()
    await put_request(world.zk, {("held", 0): (3, 4)})
    await eventually(lambda: all_requests_are_carried_out(world))
    assert (await record_of(world, ("held", 0)))[1] > move, "another move"
    await world.release("held")
    await eventually(lambda: world.has(("held", 0, (3, 4))))
    assert await records(world.zk) == set()


async def test_236_8_requests_start_in_the_order_of_their_sequence_numbers(world: Cluster) -> None:
    await world.stop_server()
    for count in range(40):
        await put_request(world.zk, {("held", 0): (3, 4 + count % 2), ("held", 1): (5, 3 + count % 2)})
    await put_request(world.zk, {("held", 2): (5, 4)})
    await world.start_server()
    await eventually(lambda: all_requests_are_carried_out(world))
    for index, replicas in enumerate(([3, 5, 1, 2], [5, 4, 1, 2], [5, 4, 1, 2])):
        await eventually(lambda name=("held", index), to=replicas: assignment_is(world, name, to))  # type: ignore[misc]


async def test_236_8_requests_start_in_the_order_of_their_creation_past_the_largest_number_too(world: Cluster) -> None:
    """ZooKeeper's sequence goes on with -2147483648; a name may have been made by hand."""
    await world.stop_server()
    await world.zk.ensure_path(znode_paths.REASSIGNMENT_REQUESTS)
    names = ("request_2147483646", "request_2147483647", "request_-2147483648", "request_-2147483647", "by-0000000001")
    for index, order in enumerate((names, names[::-1], names[2:] + names[:2])):
        for count, name in enumerate(order):
            data = encode_request({TopicPartition("held", index): (4, 5) if count == len(order) - 1 else (3, 4)})
            await world.zk.create(znode_paths.reassignment_request(name), data)
        await world.start_server()
        await eventually(lambda: all_requests_are_carried_out(world))
        await eventually(lambda name=("held", index): assignment_is(world, name, [4, 5, 1, 2]))  # type: ignore[misc]
        await world.stop_server()


async def test_236_8_invalid_targets_are_reported_once_and_valid_ones_start(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    mixed = {
        "held": {"0": [3, 4], "1": [3, 3], "2": "x", "07": [1], "9": [1, 2]},
        "nope": {"0": [1, 2]},
        "no\nsuch\ud800": {"0": [1]},
        "free": [1],
    }
    names = [
        await put_request(world.zk, data)
        for data in (b"", b"{", b"[" * 50_000, b'{"version":7,"assignments":{}}', b'{"version":1,"assignments":[1]}')
    ]
    bad = await put_request(world.zk, json.dumps({"version": 1, "assignments": mixed}).encode())
    await put_request(world.zk, b'{"version":1,"assignments":{"free":{"1":[1],"1":[4,5]},"free":{"0":[4,5]}}}')

    await eventually(lambda: all_requests_are_carried_out(world))
    await eventually(lambda: world.has(("free", 0, (4, 5)), ("free", 1, (4, 5))))
    assert await world.moving() == {("held", 0)}
    await eventually(lambda: count_log_lines(caplog, "free-1 is there twice: the later target counts") == 1)
    for name in names:
        assert (
            count_log_lines(caplog, name)
            == count_log_lines(caplog, name, "entry.refused: nothing of it can be done")
            == 1
        )
    for text in (
        "held-1: to [3, 3]; Duplicate replica ids",
        "'held'-2: Expected",
        "'held': '07' is no partition",
        "held-9: to [1, 2]; The partition does not exist.",
        "nope-0: to [1, 2]; The partition does not exist.",
        "no\\nsuch\\ud800-0: to [1]; The partition does not exist.",
        "'free': no object of partitions",
    ):
        assert count_log_lines(caplog, bad, text) == 1, text
    assert count_log_lines(caplog, bad) == 7


async def test_236_8_the_controller_leaves_znodes_without_a_number_and_those_that_it_cannot_delete(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    handmade = znode_paths.reassignment_request("request_1")
    await world.zk.create(handmade, b'{"version":1,"assignments":{"held":{"0":[4,5]}}}')
    await world.zk.create(znode_paths.REASSIGN_CANCEL, b"")
    name = await put_request(world.zk, {("held", 0): (3, 4)})
    await world.zk.create(znode_paths.reassignment_request(f"{name}/somebody"), b"else's")
    await world.zk.delete(znode_paths.REASSIGN_CANCEL)

    await eventually(lambda: count_log_lines(caplog, name, "it is done, and cannot be deleted"))
    assert (await world.zk.get(znode_paths.reassignment_request(name)))[0] == b"", "it is not taken up again"
    assert await requests(world) == [name, "request_1"]
    assert await world.moving() == {("held", 0)}
    assert await world.alter({("held", 0): None}) == {("held", 0): (0, None)}

    await put_request(world.zk, {("held", 1): (3, 4)})
    await eventually(lambda: count_log_lines(caplog, "request_1)", "no sequence number in its name"))
    await eventually(lambda: world.moving_is({("held", 1)}))
    await world.stop_server()
    await world.start_server()
    await world.submit({("held", 2): (4, 5)})
    await eventually(lambda: world.started(("held", 2)))
    assert await world.moving() == {("held", 1), ("held", 2)}, "nor does the next controller, nor waits the batch"
    assert await requests(world) == [name, "request_1"]


@pytest.mark.parametrize("switch", ["znode", "config"])
async def test_236_6_requests_wait_while_reassignments_are_disabled_and_deleting_one_withdraws_it(
    world: Cluster, switch: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    if switch == "znode":
        await world.zk.create(znode_paths.REASSIGN_CANCEL, b"")
    else:
        await world.settings({ENABLED: "false"})
    await eventually(lambda: count_log_lines(caplog, "reassignments.disabled"))
    names = [await put_request(world.zk, {("held", index): (3, 4)}) for index in range(3)]
    await eventually(lambda: count_log_lines(caplog, "3 of its znodes wait", "No reassignment may be started"))
    await world.stop_server()
    await world.start_server()
    assert await requests(world) == names
    assert await world.moving() == set()

    await world.zk.delete(znode_paths.reassignment_request(names[1]))
    if switch == "znode":
        await world.zk.delete(znode_paths.REASSIGN_CANCEL)
    else:
        await world.settings({})
    await eventually(lambda: all_requests_are_carried_out(world))
    assert await world.moving() == {("held", 0), ("held", 2)}


async def test_h01_h02_a_move_to_a_dead_broker_waits_and_its_request_is_deleted(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    await world.kill_broker(5)
    await put_request(world.zk, {("free", 0): (1, 5), ("free", 1): (3, 4)})
    await eventually(lambda: all_requests_are_carried_out(world))
    await eventually(lambda: world.moving_is({("free", 0)}))
    await eventually(lambda: assignment_is(world, ("free", 1), [3, 4]))
    assert await world.assignment("free", 0) == [1, 5, 2]
    await eventually(
        lambda: count_log_lines(caplog, "free-0: to [1, 5]; waits for broker(s) [5], which are not alive") == 1
    )
    await world.start_broker(5)
    await eventually(lambda: world.has(("free", 0, (1, 5))))


async def test_236_8_the_batch_and_requests_do_not_override_each_other(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    await put_request(world.zk, {("held", 0): (3, 4)})
    await eventually(lambda: all_requests_are_carried_out(world))
    await world.submit({("held", 0): (4, 5), ("held", 1): (3, 4)})
    await eventually(
        lambda: count_log_lines(caplog, "held-0: to [4, 5]; ignored", "a znode under /admin/reassignment_requests")
    )
    await eventually(lambda: world.started(("held", 1)))
    await put_request(world.zk, {("held", 1): (4, 5), ("held", 2): (4, 5)})
    await eventually(
        lambda: count_log_lines(caplog, "held-1: to [4, 5]; ignored", "started by /admin/reassign_partitions")
    )
    assert await all_requests_are_carried_out(world)
    assert await world.batch() == {("held", 1): {"replicas": [3, 4], "original_replicas": [1, 2]}}
    targets = [(await record_of(world, ("held", index)))[0]["target"] for index in range(3)]
    assert targets == [[3, 4], [3, 4], [4, 5]]

    await world.cancel_all()
    assert await world.moving() == {("held", 0), ("held", 2)}, "what the batch did not start is not its to cancel"


async def test_236_10_a_new_controller_continues_moves_then_requests_then_the_batch(
    world: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    await put_request(world.zk, {("held", 0): (3, 4)})
    await eventually(lambda: all_requests_are_carried_out(world))
    await world.stop_server()
    caplog.set_level(logging.WARNING, "kafka_reassign_rpc.controller")
    await world.submit({("held", 0): (4, 5), ("held", 1): (4, 5), ("free", 0): (4, 5)})
    await put_request(world.zk, {("held", 1): (3, 4)})

    await world.start_server()

    await eventually(lambda: all_requests_are_carried_out(world))
    await eventually(world.batch_gone)
    await eventually(
        lambda: all(count_log_lines(caplog, f"held-{index}: to [4, 5]; ignored") == 1 for index in range(2))
    )
    await eventually(lambda: world.has(("free", 0, (4, 5))))
    await world.configure("topics", "held", {THROTTLED: ""})
    await eventually(lambda: world.has(("held", 0, (3, 4)), ("held", 1, (3, 4))))


async def test_236_8_requests_work_after_their_parent_znode_is_deleted_and_created_again(world: Cluster) -> None:
    await world.zk.delete(znode_paths.REASSIGNMENT_REQUESTS)
    await put_request(world.zk, {("free", 0): (4, 5)})
    await eventually(lambda: world.has(("free", 0, (4, 5))))
