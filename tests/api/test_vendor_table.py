"""What holds for every document of AskDocument and every command of DoCommand."""

from typing import Any

import pytest

from kafka_reassign_rpc.api.ports import RecordedEvents
from kafka_reassign_rpc.api.vendor_table import ASK, COMMANDS, DO, DOCUMENTS, Row
from kafka_reassign_rpc.core.acls.acl_binding import AclOperation
from kafka_reassign_rpc.core.document_and_command_bodies import LONGEST_BODY
from kafka_reassign_rpc.protocol.messages import AskDocumentRequest, DoCommandRequest
from tests.api.ask import ask
from tests.api.model_node import ModelNode, topic
from tests.api.test_authorization import on_cluster
from tests.longest_turn import tries
from tests.tables import for_each
from tests.vendor_requests import order, wanted

NEEDS = {
    **dict.fromkeys(("status", "history", "moves", "brokers", "partitions", "departure"), "DESCRIBE"),
    **dict.fromkeys(("controller", "switch", "healing", "event_log", "in_flight"), "DESCRIBE"),
    **dict.fromkeys(("hold", "release", "heal", "approve"), "ALTER"),
    **dict.fromkeys(("throttle", "move_settings"), "ALTER_CONFIGS"),
}
IMPLIED = {"DESCRIBE": {"ALTER", "READ", "WRITE", "DELETE"}}
SENSIBLE: dict[str, dict[str, object]] = {
    "hold": {"all": True},
    "release": {"all": True},
    "throttle": {"rate": 5},
    "heal": {"broker": 1},
}
ROWS: list[tuple[Any, Row]] = [*((wanted, row) for row in DOCUMENTS), *((order, row) for row in COMMANDS)]
NAMES = [row.name for _, row in ROWS]


def request(make: Any, row: Row, body: bytes) -> AskDocumentRequest | DoCommandRequest:
    made: AskDocumentRequest | DoCommandRequest = make(row.name)
    made.body = body
    return made


def test_sv_5_the_names_are_unique_and_each_has_its_permission_in_the_api() -> None:
    for table, rows in ((ASK, DOCUMENTS), (DO, COMMANDS)):
        assert len({row.name for row in rows}) == len(rows)
        told = {name: acl.operation for acl in table.acl for name in acl.only_for.split(", ")}
        assert told == {row.name: row.needs for row in rows}


def test_sv_5_every_document_and_command_says_what_it_needs() -> None:
    assert {row.name: row.needs.name for _, row in ROWS} == NEEDS


@for_each(("make", "row"), ROWS, ids=NAMES)
async def test_sv_5_what_a_document_or_command_needs_on_the_cluster_is_enough_and_less_is_not(
    make: Any, row: Row
) -> None:
    needs = NEEDS[row.name]
    for right in (one.name for one in AclOperation if one > AclOperation.ALL):
        node = ModelNode()
        node.recorded = RecordedEvents([], 0, 0)
        answer = await ask(node, make(row.name, **SENSIBLE.get(row.name, {})), 0, on_cluster(right))
        if right == needs or right in IMPLIED.get(needs, ()):
            assert answer.error_code == 0, (right, answer)
            continue
        assert answer.error_code == 31, (right, answer)
        assert f" {row.name} of User:ANONYMOUS from 127.0.0.1 is not authorized. Needs {needs}" in answer.error_message
        assert node.controller is not None
        assert node.controller.calls == []
        assert node.configs.writes == 0


@for_each(("make", "row"), ROWS, ids=NAMES)
async def test_j03_a_client_without_rights_does_not_learn_which_server_is_the_controller_nor_what_a_body_lacks(
    make: Any, row: Row
) -> None:
    node = ModelNode()
    assert node.controller is not None
    node.controller.active = False
    for body in (b"{}", b"{"):
        assert (await ask(node, request(make, row, body), 0, on_cluster())).error_code == 31


@for_each(("make", "row"), ROWS, ids=NAMES)
async def test_sv_6_a_body_that_is_too_long_deep_or_no_json_or_has_what_the_row_lacks_does_nothing(
    make: Any, row: Row
) -> None:
    bodies = [
        b" " * (LONGEST_BODY + 1),
        b'{"rate":' + b"[" * 100_000,
        b'{"no_such_term":' + b"[" * 100_000,
        b'{"topics":{"a":' + b"[" * 100_000,
        b"[" * 100_000,
        b"\xff",
        b'{"x":"\xff"}',
        b'{"\\ud800":1}',
        b'{"broker":' + b"9" * 5_000 + b"}",
        b'{"no_such_term":null}',
        b"[]",
        b"null",
        b"{",
    ]
    for body in bodies:
        node = ModelNode()
        answer = await ask(node, request(make, row, body), 0)
        assert answer.error_code == 42, (body[:30], answer)
        assert len(answer.error_message) < 600
        assert node.controller is not None
        assert node.controller.calls == []


@pytest.mark.parametrize("make", [wanted, order], ids=["document", "command"])
async def test_sv_6_a_name_of_a_later_version_has_an_error_of_its_own(make: Any) -> None:
    answer = await ask(ModelNode(), make("x" * 20_000), 0)
    assert answer.error_code == 35
    assert "there are " in answer.error_message
    assert len(answer.error_message) < 400


@for_each("body", [
    b'{"topics":{' + b",".join(b'"%x":[]' % at for at in range(13_000)) + b'},"rate":5}',
    b'{"topics":{"a":[' + b",".join(b"%d" % (at % 9) for at in range(65_000)) + b']},"rate":5}',
], ids=["topics", "partitions"])  # fmt: skip
async def test_sv_6_a_body_of_the_greatest_length_holds_up_no_client(body: bytes) -> None:
    """In one go it takes half of the time that a turn may take: it is the bound of its length that this is about."""
    assert LONGEST_BODY - 30_000 < len(body) <= LONGEST_BODY
    node = ModelNode(topic("a", 5))
    for measured in tries():
        async with measured:
            answer = await ask(node, DoCommandRequest(version=0, command="throttle", body=body), 0)
        assert answer.error_code == 0
