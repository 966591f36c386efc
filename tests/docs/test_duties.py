"""docs/duties.md: it has every event of Kafka's controller and every API that needs it, and the tests that it names."""

import ast
import re
from functools import cache

from kafka_reassign_rpc.protocol.versions import ApiKey
from tests.docs.pages import DOCS, ROOT, text_of

DUTIES = DOCS / "duties.md"

EVENTS = [
    "Startup",
    "ControllerChange",
    "Reelect",
    "RegisterBrokerAndReelect",
    "Expire",
    "ShutdownEventThread",
    "BrokerChange",
    "BrokerModifications",
    "ControlledShutdown",
    "TopicChange",
    "PartitionModifications",
    "TopicDeletion",
    "TopicDeletionStopReplicaResponseReceived",
    "LeaderAndIsrResponseReceived",
    "UpdateMetadataResponseReceived",
    "LogDirEventNotification",
    "IsrChangeNotification",
    "AlterPartitionReceived",
    "PartitionReassignmentIsrChange",
    "AutoPreferredReplicaLeaderElection",
    "ReplicaLeaderElection",
    "UncleanLeaderElectionEnable",
    "TopicUncleanLeaderElectionEnable",
    "ApiPartitionReassignment",
    "ZkPartitionReassignment",
    "ListPartitionReassignments",
    "UpdateFeatures",
    "AllocateProducerIds",
]
"""KafkaController.process, Kafka 3.9, without MockEvent."""
NEED_THE_CONTROLLER = {
    7, 19, 20, 22, 29, 30, 31, 33, 37, 38, 39, 40, 41, 43, 44, 45, 46, 48, 49, 50, 51, 55, 56, 57, 58, 64, 67, 80, 81
}  # fmt: skip
"""What KafkaApis forwards, or asks the controller to be active for; and the readers of what these change."""

_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_ROW = re.compile(r"^\| ([\d, ]+) \| ([\w, ]+) \|", re.MULTILINE)
_EVENT = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


@cache
def functions(file: str) -> set[str]:
    path = ROOT / file
    if not path.exists():
        return set()
    tree = ast.parse(text_of(path))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def missing(text: str) -> list[str]:
    """The tests that a text names and that do not exist."""
    return [f"{file}::{name}" for file, name in _TEST.findall(text) if name not in functions(file)]


def test_every_test_that_is_named_exists() -> None:
    text = text_of(DUTIES)
    assert len(_TEST.findall(text)) == text.count("::")
    assert len(_TEST.findall(text)) > 80
    assert missing(text) == []
    own = "tests/docs/test_duties.py"
    assert missing(f"`{own}::test_no_such` `tests/no.py::test_x` `{own}::missing`") == [
        f"{own}::test_no_such",
        "tests/no.py::test_x",
    ]


def test_every_event_of_the_controller_has_a_row_with_a_test() -> None:
    section = text_of(DUTIES).partition("## Events")[2].partition("\n## ")[0]
    assert sorted(_EVENT.findall(section)) == sorted(EVENTS)
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert [row for row in rows if not _TEST.search(row)] == []


def test_every_api_that_needs_the_controller_has_a_row_with_its_names() -> None:
    found: dict[int, str] = {}
    for keys, names in _ROW.findall(text_of(DUTIES)):
        found.update(zip(map(int, keys.split(", ")), names.split(", "), strict=True))
    assert found.keys() == NEED_THE_CONTROLLER
    for key, name in found.items():
        assert ApiKey(key).name.replace("_", "").lower() == name.lower()
