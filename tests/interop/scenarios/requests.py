"""A: the shape of a request, and who answers it."""

import struct

from kafka.protocol.admin import AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest

from ..session import Session
from ..wire import Closed
from .registry import scenario


@scenario
async def a01_alter_at_a_broker_that_is_not_the_controller(s: Session) -> None:
    await s.create("t", {0: [1, 2]})
    await s.alter("at broker 2", {("t", 0): [2, 3]}, node=2)
    await s.alter("nothing asked at broker 3", {}, node=3)
    await s.settled("t")  # in KRaft mode a broker hands an Alter on, and the move begins
    await s.state("unchanged")


@scenario
async def a02_list_at_a_broker_that_is_not_the_controller(s: Session) -> None:
    await s.listing("all at broker 2", node=2)
    await s.listing("some at broker 4", {"nope": [0, 1]}, node=4)


@scenario
async def a05_alter_of_nothing(s: Session) -> None:
    await s.alter("no topics", {})
    answer = await s.cluster.ask(
        AlterPartitionReassignmentsRequest(timeout_ms=1, topics=[("nope", []), ("also-not", [])]), 0
    )
    s.note("topics without partitions", answer["responses"])


@scenario
async def a10_good_and_bad_partitions_in_one_alter(s: Session) -> None:
    await s.create("t", {0: [1, 2], 1: [2, 3], 2: [3, 1]})
    await s.create("u", {0: [1]})
    mixed = {
        ("t", 0): [2, 3],
        ("t", 1): [],
        ("t", 2): None,
        ("t", 3): [1, 2],
        ("t", -1): [1, 2],
        ("u", 0): [5],
        ("nope", 0): [1],
        ("nope", 1): None,
    }
    await s.alter("mixed", mixed)
    await s.settled()
    await s.state("the good ones moved")


@scenario
async def a12_timeouts_of_a_request(s: Session) -> None:
    for timeout_ms in (0, -1, 2**31 - 1):
        answer = await s.cluster.ask(ListPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=[]), 0)
        s.note(f"list within {timeout_ms}", answer)
    await s.create("t", {0: [1]})
    for timeout_ms in (0, -1):
        topics = [(s.real("t"), [(0, [1 - timeout_ms, 4])])]
        answer = await s.cluster.ask(AlterPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=topics), 0)
        s.note(f"alter within {timeout_ms}", [p["error_code"] for t in answer["responses"] for p in t["partitions"]])
        await s.settled()
    await s.state("moved")


@scenario
async def a13_partitions_that_cannot_exist(s: Session) -> None:
    await s.create("t", {0: [1, 2]})
    strange = (-1, -(2**31), 1, 2**31 - 1)
    await s.alter("targets", {("t", index): [2, 3] for index in strange})
    await s.alter("cancels", {("t", index): None for index in strange})
    await s.listing("list", {"t": strange})


@scenario
async def a14_names_that_no_topic_can_have(s: Session) -> None:
    names = ("", ".", "..", "a b", "ä", "x" * 250, "/", "%2F")
    await s.alter("targets", {(name, 0): [1] for name in names})
    await s.alter("cancels", {(name, 0): None for name in names})
    await s.listing("list", {name: [0] for name in names})


@scenario
async def a16_the_same_partition_twice_in_one_alter(s: Session) -> None:
    await s.create("t", {0: [1, 2], 1: [1, 2]})
    await s.alter("the same target twice", [("t", 0, [2, 3]), ("t", 0, [2, 3])])
    await s.settled()
    await s.alter("two targets, the later one counts", [("t", 0, [3, 4]), ("t", 0, [4, 5])])
    await s.settled()
    await s.alter("a bad one, then a good one", [("t", 1, []), ("t", 1, [2, 3])])
    await s.settled()
    await s.alter("a good one, then a bad one", [("t", 1, [3, 4]), ("t", 1, [9])])
    await s.settled()
    await s.state("after all")


@scenario
async def a17_the_same_topic_twice_in_one_alter(s: Session) -> None:
    await s.create("t", {0: [1, 2], 1: [1, 2]})
    await s.create("u", {0: [1, 2]})
    await s.alter("a topic on both sides of another", [("t", 0, [2, 3]), ("u", 0, [2, 3]), ("t", 1, [3, 4])])
    await s.settled()
    await s.state("all moved")


@scenario
async def a18_a_target_and_a_cancel_of_the_same_partition(s: Session) -> None:
    await s.create("t", {0: [1, 2]}, held=True)
    await s.alter("start", {("t", 0): [3, 4]})
    await s.alter("cancel, then target", [("t", 0, None), ("t", 0, [4, 5])])
    await s.state("after the target")
    await s.alter("target, then cancel", [("t", 0, [3, 5]), ("t", 0, None)])
    await s.state("after the cancel")


@scenario
async def a19_versions_that_are_not_served(s: Session) -> None:
    for key, version in ((45, 2), (46, 1), (45, -1), (46, 99)):
        wire = await s.cluster.connect(s.cluster.controller_id)
        header = struct.pack(">hhih", key, version, 1, 1) + b"x\x00"
        frame = header + b"\x00\x00\x00\x00" + b"\x01\x00\x00"
        try:
            s.note(f"{key} version {version}", (await wire.raw(struct.pack(">i", len(frame)) + frame)).hex())
        except Closed:
            s.note(f"{key} version {version}", "closed")


@scenario
async def a20_malformed_requests_close_the_connection(s: Session) -> None:
    header = struct.pack(">hhih", 45, 0, 1, 1) + b"x\x00"
    bodies = {
        "ends in the header": None,
        "ends before the topics": b"\x00\x00\x00\x01",
        "more topics than bytes": b"\x00\x00\x00\x01" + b"\xff\xff\xff\xff\x07",
        "a name longer than the frame": b"\x00\x00\x00\x01" + b"\x02\xff\x7f",
        "a null name": b"\x00\x00\x00\x01" + b"\x02\x00\x01\x00\x00",
        "null topics": b"\x00\x00\x00\x01" + b"\x00\x00",
        "an overlong varint": b"\x00\x00\x00\x01" + b"\xff" * 10,
    }
    for label, body in bodies.items():
        frame = header[:7] if body is None else header + body
        wire = await s.cluster.connect(s.cluster.controller_id)
        try:
            s.note(label, (await wire.raw(struct.pack(">i", len(frame)) + frame)).hex())
        except Closed:
            s.note(label, "closed")
    await s.listing("others are served", {"nope": [0]})


@scenario
async def a21_unknown_tags_and_bytes_after_the_body(s: Session) -> None:
    header = struct.pack(">hhih", 46, 0, 5, 1) + b"x"
    bodies = {
        "a tag in the header": b"\x01\x63\x02ab" + b"\x00\x00\x00\x01" + b"\x01\x00",
        "a tag in the body": b"\x00" + b"\x00\x00\x00\x01" + b"\x01" + b"\x01\x63\x02ab",
        "bytes after the body": b"\x00" + b"\x00\x00\x00\x01" + b"\x01\x00" + b"more",
    }
    for label, rest in bodies.items():
        frame = header + rest
        wire = await s.cluster.connect(s.cluster.controller_id)
        try:
            s.note(label, (await wire.raw(struct.pack(">i", len(frame)) + frame)).hex())
        except Closed:
            s.note(label, "closed")
