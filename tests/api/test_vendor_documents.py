"""AskDocument: the documents of a server."""

import msgspec
import pytest

from kafka_reassign_rpc.api.ports import NodeEndpoint, RecordedEvents
from kafka_reassign_rpc.api.vendor_table import MOST_EVENT_BYTES
from kafka_reassign_rpc.core.healing.repair_targets import RepairCost
from kafka_reassign_rpc.core.healing.self_healing_status import (
    BrokerRepair,
    FailedBroker,
    GoneBroker,
    HealingStatus,
    LogDirFailure,
)
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, NotController, PolicyViolation
from kafka_reassign_rpc.core.status.broker_documents import BrokerState, ControllerState
from tests.api.ask import ask
from tests.api.model_node import ModelNode, ModelStatus
from tests.python_client.move_documents import move_document
from tests.vendor_requests import told, wanted


async def test_sv_11_a_document_of_the_status_page_is_answered_over_the_kafka_protocol() -> None:
    answer = await ask(ModelNode(), wanted("moves", limit=2, topic="pay"), 0)
    assert told(answer) == {"moves": {"limit": "2", "topic": "pay"}}


async def test_sv_11_a_document_that_makes_no_sense_or_that_another_server_has_is_an_error_with_its_text() -> None:
    node = ModelNode()
    answer = await ask(node, wanted("moves", limit=0), 0)
    assert (answer.error_code, answer.error_message, answer.body) == (InvalidRequest.code, "limit: too small", b"")
    node.status = ModelStatus()
    node.status.is_controller = False
    answer = await ask(node, wanted("moves"), 0)
    assert answer.error_code == NotController.code
    assert "broker 7 is the controller" in answer.error_message
    assert (await ask(node, wanted("status"), 0)).error_code == 0


async def test_236_6_it_says_why_no_moves_may_start() -> None:
    node = ModelNode()
    assert told(await ask(node, wanted("switch"), 0)) == {"disabled": None}
    assert node.controller is not None
    node.controller.disabled = PolicyViolation("Not today.")
    assert told(await ask(node, wanted("switch"), 0)) == {"disabled": "Not today."}


async def test_sv_11_the_controller_answers_its_version_and_states_of_brokers() -> None:
    node = ModelNode()
    assert node.controller is not None
    state = ControllerState("1.2.3", 7, 8, {3: BrokerState(500), 4: BrokerState(None, True), 5: BrokerState(0, True)})
    node.controller.told = state
    answer = await ask(node, wanted("controller"), 0)
    assert msgspec.json.decode(answer.body, type=ControllerState) == state
    assert told(answer)["brokers"]["4"] == {"leased_rate": None, "is_shutting_down": True}


async def test_46_6_lost_brokers_are_shown_with_their_times_and_with_what_holds_repairs_back() -> None:
    node = ModelNode()
    assert node.controller is not None
    failed = [FailedBroker(3, 1000, 61_000, 7), FailedBroker(4, 2000, None, 1)]
    repairs = [BrokerRepair(8, waiting=5, moving=6, is_back=True, unapproved=4, cost=RepairCost(900, None))]
    disks = [LogDirFailure(9, ["/d"], 1000, None, 2, RepairCost(70, 8)), LogDirFailure(10, [], 1000, None, None)]
    node.controller.health = HealingStatus(
        60_000, True, "healing is paused", failed, 5, 6, ["no rack"], repairs, log_dirs=disks,
        gone=[GoneBroker(11, None, 7, 8), GoneBroker(12, 900, 0, 1)],
    )  # fmt: skip
    answer = await ask(node, wanted("healing"), 0)
    assert msgspec.json.decode(answer.body, type=HealingStatus) == node.controller.health
    shown = told(answer)
    assert (shown["failed"][1]["heal_at"], shown["log_dirs"][1]["replicas"]) == (None, None), "unknown is null"
    assert shown["repairs"][0]["cost"] == {"bytes": 900, "copy_ms": None, "unsized": 0}


async def test_46_only_the_controller_answers_about_failed_brokers_itself_and_the_switch() -> None:
    node = ModelNode()
    assert node.controller is not None
    node.controller.active = False
    for document in ("healing", "controller", "switch"):
        assert (await ask(node, wanted(document), 0)).error_code == NotController.code, document


async def test_sv_7_events_come_with_their_server_the_oldest_one_kept_and_where_to_go_on() -> None:
    node = ModelNode()
    node.recorded = RecordedEvents(['{"seq":7}', "a torn li", '{"seq":8}'], 9, 7)
    found = told(await ask(node, wanted("event_log", from_seq=3), 0))
    assert (found["server"], found["oldest_seq"], found["next_seq"], found["complete_seq"]) == (1000, 7, 9, None)
    assert found["events"] == [{"seq": 7}, {"seq": 8}]


async def test_sv_7_a_server_that_is_not_the_controller_answers_from_its_own_log() -> None:
    node = ModelNode()
    assert node.controller is not None
    node.controller.active = False
    node.recorded = RecordedEvents([], 0, 0)
    assert (await ask(node, wanted("event_log"), 0)).error_code == 0


async def test_sv_7_a_client_that_asks_for_no_events_learns_which_servers_run() -> None:
    node = ModelNode()
    node.recorded = RecordedEvents([], 0, 0)
    node.running = [NodeEndpoint(1000, "h", 1), NodeEndpoint(1001, "i", 2)]
    found = told(await ask(node, wanted("event_log", from_seq=-1), 0))["servers"]
    assert found == [{"id": 1000, "host": "h", "port": 1}, {"id": 1001, "host": "i", "port": 2}]
    assert told(await ask(node, wanted("event_log", from_seq=0), 0))["servers"] == []


@pytest.mark.parametrize(("asked", "given"), [(10, 10), (2**31 - 1, MOST_EVENT_BYTES), (-5, -5), (0, 0)])
async def test_sv_7_an_answer_is_bounded_whatever_is_asked_for(asked: int, given: int) -> None:
    node = ModelNode()
    node.recorded = RecordedEvents([], 0, 0)
    await ask(node, wanted("event_log", from_seq=-1, max_bytes=asked), 0)
    assert node.asked_events == [(-1, given)]


async def test_sv_7_a_server_without_an_event_log_says_how_to_have_one() -> None:
    answer = await ask(ModelNode(), wanted("event_log"), 0)
    assert (answer.error_code, answer.body) == (PolicyViolation.code, b"")
    assert "event.log.dir" in answer.error_message


async def test_236_13_the_moves_in_flight_are_answered_of_all_or_of_named_partitions() -> None:
    node = ModelNode()
    assert node.controller is not None
    node.controller.moves = [move_document(("t", index)) for index in range(3)]
    for topics, numbers in ((None, [0, 1, 2]), ({"t": [2, 9]}, [2]), ({}, [])):
        found = told(await ask(node, wanted("in_flight", topics=topics), 0))
        known = [msgspec.json.decode(msgspec.json.encode(node.controller.moves[one])) for one in numbers]
        assert found == {"moves": known}
