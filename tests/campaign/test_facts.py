"""What a cluster shows is read as it is: directories, topics, Metadata."""

import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from kafka_reassign_rpc.protocol.messages import MetadataResponse

from .facts import (
    Held,
    Topic,
    View,
    assigned_in,
    events_in,
    held_in,
    left_alone_in,
    topic_of,
    until_noticed,
    view_of,
)
from .history import Absence, Assigned
from .stock_controllers import stock_terms

ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def test_sv_4_every_directory_of_a_replica_is_seen_but_for_those_that_wait_for_their_end(tmp_path: Path) -> None:
    names = (
        "t-0",
        "a-b-12",
        "t-1.0123456789abcdef0123456789abcdef-future",
        "t-2.0123456789abcdef0123456789abcdef-delete",
        "other",
    )
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / "t-0" / "partition.metadata").write_text(f"version: 0\ntopic_id: {ID}")
    log = tmp_path / "t-0" / "00000000000000000000.log"
    log.touch()
    os.utime(log, (77, 77))
    (tmp_path / "meta.properties").touch()
    assert held_in({3: [tmp_path]}) == (
        Held(3, tmp_path.name, "a-b-12", None, is_empty=True),
        Held(3, tmp_path.name, "t-0", ID, written=77),
        Held(3, tmp_path.name, names[2], None, is_empty=True),
    )


def test_sv_4_a_topics_moving_partitions_are_seen() -> None:
    znode = {
        "partitions": {"0": [1, 2, 3], "1": [2], "2": [1]},
        "topic_id": ID,
        "adding_replicas": {"0": [3]},
        "removing_replicas": {"2": [4]},
        "version": 3,
    }
    assert topic_of(znode) == Topic(ID, {0: (1, 2, 3), 1: (2,), 2: (1,)}, frozenset({0, 2}))


def test_sv_4_two_answers_are_alike_exactly_where_they_show_the_same() -> None:
    def shown(**changed: Any) -> View:
        values: dict[str, Any] = {
            "error_code": 0,
            "partition_index": 0,
            "leader_id": 1,
            "leader_epoch": 4,
            "replica_nodes": [1, 2],
            "isr_nodes": [2, 1],
            "offline_replicas": [],
        }
        topics = MetadataResponse.MetadataResponseTopic
        partition = topics.MetadataResponsePartition(**(values | changed))
        topic = topics(error_code=0, name="t", topic_id=UUID(int=1), is_internal=False, partitions=[partition])
        broker = MetadataResponse.MetadataResponseBroker(node_id=1, host="h", port=1, rack=None)
        return view_of(MetadataResponse(brokers=[broker], controller_id=1000, topics=[topic]))

    assert shown() == shown(isr_nodes=[1, 2])
    assert shown().controller == 1000
    assert shown().brokers == {1}
    different = (
        {"leader_id": 2},
        {"leader_epoch": 5},
        {"replica_nodes": [2, 1]},
        {"isr_nodes": [1]},
        {"error_code": 5},
    )
    for changed in different:
        assert shown(**changed) != shown(), changed
    assert shown(offline_replicas=[2]) != shown()


def test_sv_4_events_and_the_logs_of_stock_controllers_tell_who_had_a_replica_from_when_on(tmp_path: Path) -> None:
    events = tmp_path / "events-1.jsonl"
    lines = [
        {"event": "move.started", "at": 1000, "topic": "a", "partition": 0, "replicas": [1, 2, 3]},
        {"event": "move.retargeted", "at": 2000, "topic": "a", "partition": 0, "replicas": [1, 2, 4]},
        {"event": "move.waiting", "at": 2500, "topic": "a", "partition": 1},
        {"event": "move.cancelled", "at": 3000, "topic": "a", "partition": 0, "replicas": [1, 2]},
        {"event": "topic.deleted", "at": 4500, "topic": "a"},
    ]
    events.write_text("\n".join(map(json.dumps, lines)) + '\n{"event": "move.comp')
    assert assigned_in(events_in([events])) == (
        Assigned("a-0", frozenset({1, 2, 3}), 1),
        Assigned("a-0", frozenset({1, 2, 4}), 2),
        Assigned("a-0", frozenset({1, 2}), 3),
        Assigned("a", frozenset(), 4.5),
    )
    log = tmp_path / "broker.log"
    at = datetime.fromtimestamp(1_700_000_000.25).isoformat(" ", "milliseconds").replace(".", ",")
    log.write_text(
        f"[{at}] INFO [Controller id=2] Successfully updated assignment of partition a-0 to "
        "ReplicaAssignment(replicas=3,2, addingReplicas=2, removingReplicas=) (kafka.controller.KafkaController)\n"
        f"[{at}] INFO [Controller id=2] Resigned (kafka.controller.KafkaController)\n"
    )
    assert stock_terms([log]).assigned == [Assigned("a-0", frozenset({2, 3}), 1_700_000_000.25)]


def test_sv_4_the_last_controller_tells_which_topics_it_leaves_alone() -> None:
    def told(at: int, event: str, topic: str = "") -> Mapping[str, Any]:
        return {"at": at, "event": event, "topic": topic}

    left, taken = "topic.left_alone", "topic.taken_up"
    lines = [told(1, left, "a"), told(2, "controller.elected"), told(3, left, "b"), told(4, left, "c")]
    assert left_alone_in(reversed(lines)) == {"b", "c"}
    assert left_alone_in([*lines, told(5, taken, "c")]) == {"b"}
    assert left_alone_in([*lines, told(5, taken, "c"), told(6, left, "c")]) == {"b", "c"}
    assert left_alone_in([*lines, told(5, "controller.elected")]) == frozenset()


def test_sv_4_a_broker_is_away_until_a_controller_has_noticed_that_it_is_back() -> None:
    lines: list[Mapping[str, Any]] = [
        {"event": "broker.lost", "at": 100_000, "broker": 3},
        *({"event": "broker.returned", "at": at, "broker": 3} for at in (105_500, 150_000)),
    ]
    absences = (
        Absence(3, 100, 105),  # registered half a second before it was noticed
        Absence(3, 101, 107),  # noticed before a step ended
        Absence(3, 120, 139),  # never noticed: the next one is another absence
        Absence(2, 100, 105),
    )
    assert until_noticed(absences, lines) == (Absence(3, 100, 105.5), *absences[1:])


def test_sv_4_the_moves_are_found_whose_end_a_stock_controller_sent_to_no_broker(tmp_path: Path) -> None:
    def told(second: str, text: str) -> str:
        return f"[2026-11-25 12:52:{second}] INFO [Controller id=2] {text} (kafka.controller.KafkaController)\n"

    def ended(second: str, name: str, adding: str = "") -> str:
        assignment = f"ReplicaAssignment(replicas=3,2, addingReplicas={adding}, removingReplicas=)"
        return told(second, f"Successfully updated assignment of partition {name} to {assignment}")

    stuck = (
        "java.lang.IllegalStateException: Controller to broker state change requests batch is not empty while creating"
    )
    lines = [
        ended("01,000", "a-0"),
        f"{stuck} a new one.\n",
        ended("02,000", "b-1"),
        ended("03,000", "b-2", adding="2"),
        told("09,000", "Resigned"),
        ended("10,000", "c-0"),
    ]
    log = tmp_path / "broker.log"
    log.write_text("".join(lines))
    [found] = stock_terms([log]).untold
    assert (found.name, found.replicas, found.at % 60) == ("b-1", frozenset({2, 3}), 2.0)


def test_sv_4_what_a_stock_controller_changed_right_before_it_resigned_may_have_reached_no_broker(
    tmp_path: Path,
) -> None:
    def assigned(second: str, name: str, replicas: str) -> str:
        assignment = f"ReplicaAssignment(replicas={replicas}, addingReplicas=2, removingReplicas=)"
        told = f"Successfully updated assignment of partition {name} to {assignment}"
        return f"[2026-11-25 12:52:{second}] INFO [Controller id=1] {told} (kafka.controller.KafkaController)\n"

    resigned = "[2026-11-25 12:52:27,034] INFO [Controller id=1] Resigned (kafka.controller.KafkaController)\n"
    lines = [assigned("25,033", "a-0", "1,2"), assigned("26,386", "b-0", "1,3,2"), resigned]
    log = tmp_path / "broker.log"
    log.write_text("".join([*lines, assigned("28,000", "c-0", "2,1"), resigned.replace("27,034", "31,000")]))
    [found] = stock_terms([log]).untold
    assert (found.name, found.replicas, round(found.at % 60, 3)) == ("b-0", frozenset({1, 2, 3}), 26.386)


def test_sv_4_a_stock_controller_that_was_killed_while_it_ended_a_move_may_have_sent_it_to_no_broker(
    tmp_path: Path,
) -> None:
    def told(second: str, text: str) -> str:
        return f"[2026-11-27 18:34:{second}] INFO [Controller id=2] {text} (kafka.controller.KafkaController)\n"

    def ends(second: str, name: str) -> str:
        caught_up = "have all caught up with the leader for reassigning"
        return told(second, f"Target replicas List(4, 1) {caught_up} partition {name}")

    assignment = "ReplicaAssignment(replicas=4,1, addingReplicas=, removingReplicas=)"
    ended = told("37,000", f"Successfully updated assignment of partition a-0 to {assignment}")
    log = tmp_path / "broker.log"
    killed = [ends("36,900", "a-0"), ended, ends("38,936", "b-3")]
    elected = "2 successfully elected as the controller. Epoch incremented to 9 and epoch zk version is now 9"
    for later in ([], [told("59,000", elected)]):
        log.write_text("".join([*killed, *later]))
        [found] = stock_terms([log]).untold
        assert (found.name, found.replicas, round(found.at % 60, 3)) == ("b-3", frozenset({1, 4}), 38.936)


def test_sv_4_stock_controllers_tell_when_they_were_elected(tmp_path: Path) -> None:
    elected = "3 successfully elected as the controller. Epoch incremented to 1 and epoch zk version is now 1"
    log = tmp_path / "broker.log"
    log.write_text(
        f"[2026-11-25 12:52:25,500] INFO [Controller id=3] {elected} (kafka.controller.KafkaController)\n"
        "[2026-11-25 12:52:26,500] INFO [Controller id=3] Partitions being reassigned: Map() (kafka.controller.K)\n"
    )
    assert [at % 60 for at in stock_terms([log]).elections] == [25.5]


def test_sv_4_stock_controllers_tell_which_registrations_have_ended(tmp_path: Path) -> None:
    def changed(added: str, deleted: str, bounced: str) -> str:
        brokers = f"Newly added brokers: {added}, deleted brokers: {deleted}, bounced brokers: {bounced}"
        live = "all live brokers: 1,2,3 (kafka.controller.KafkaController)"
        return f"[2026-11-25 12:52:25,500] INFO [Controller id=1] {brokers}, {live}\n"

    log = tmp_path / "broker.log"
    log.write_text(changed("4", "", "") + changed("", "4", "") + changed("", "", "2,3"))
    ended = stock_terms([log]).ended_registrations
    assert [one.broker for one in ended] == [4, 2, 3]
    assert {at % 60 for one in ended for at in (one.begin, one.end)} == {25.5}
