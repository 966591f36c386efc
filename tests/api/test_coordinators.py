"""FindCoordinator: the server sends its clients to the brokers that coordinate their groups."""

from typing import Any

import pytest

from kafka_reassign_rpc.api.a10_find_coordinator import CHARACTERS_PER_ITEM, partition_for
from kafka_reassign_rpc.api.large_requests import SMALL
from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.protocol.messages import FindCoordinatorRequest
from tests.api.ask import ask
from tests.api.model_node import ModelNode, topic
from tests.tables import for_each

GROUP, TRANSACTION, SHARE = 0, 1, 2
UNAVAILABLE, INVALID = (15, -1, "", -1), (42, -1, "", -1)
LED = {index: Partition(replicas=(leader,), leader=leader, isr=(leader,)) for index, leader in enumerate((1, 2, 9, -1))}
"""By partition: two have a live leader, one a leader that is gone, one none."""
IN_PARTITION = ("d", "e", "f", "g")
"""Keys: their hash codes are those of ASCII."""


async def found(node: ModelNode, version: int, kind: int, *keys: str) -> list[Any]:
    request = FindCoordinatorRequest(version=version, key_type=kind)
    if version >= 4:
        request.coordinator_keys = list(keys)
        answer = await ask(node, request, version)
        assert [one.key for one in answer.coordinators] == list(keys)
        return [(one.error_code, one.node_id, one.host, one.port) for one in answer.coordinators]
    answers = []
    for key in keys:
        request.key = key
        one = await ask(node, request, version)
        answers.append((one.error_code, one.node_id, one.host, one.port))
    return answers


@for_each("version", range(7))
@for_each("knows", [True, False], ids=["from memory", "asked for"])
async def test_sv_2_the_leader_of_its_partition_keeps_a_group(version: int, *, knows: bool) -> None:
    node = ModelNode(topic("__consumer_offsets", LED), knows=knows)
    keepers = [(0, 1, "b1", 9092), (0, 2, "b2", 9092), UNAVAILABLE, UNAVAILABLE]
    assert await found(node, version, GROUP, *IN_PARTITION) == keepers
    if version >= 1:
        assert await found(node, version, TRANSACTION, "d") == [UNAVAILABLE], "its topic is not there"
        assert await found(node, version, SHARE, "d") == [UNAVAILABLE if version >= 6 else INVALID]
        for unknown in (3, -1, 127):
            assert await found(node, version, unknown, "d", "e") == [INVALID] * 2


async def test_sv_2_the_leader_of_its_partition_keeps_a_transaction() -> None:
    node = ModelNode(topic("__transaction_state", LED))
    assert await found(node, 5, TRANSACTION, "e") == [(0, 2, "b2", 9092)]
    assert await found(node, 5, GROUP, "e") == [UNAVAILABLE]


async def test_hm_4_a_client_that_may_not_act_as_a_broker_finds_no_coordinator_of_share_groups() -> None:
    request = FindCoordinatorRequest(version=6, key_type=SHARE, coordinator_keys=["d"])
    answer = await ask(ModelNode(), request, 6, AclAuthorizer())
    assert [one.error_code for one in answer.coordinators] == [31]


@pytest.mark.parametrize("changes", [{"partitions": {}}, {"partitions": LED, "deleting": True}])
async def test_sv_2_a_missing_or_leaderless_topic_has_no_coordinator(changes: dict[str, Any]) -> None:
    assert await found(ModelNode(topic("__consumer_offsets", **changes)), 4, GROUP, "d") == [UNAVAILABLE]


async def test_sv_5_long_keys_are_looked_for_in_slices() -> None:
    node = ModelNode(topic("__consumer_offsets", {0: LED[0]}))
    assert await found(node, 4, GROUP, "x" * (SMALL * CHARACTERS_PER_ITEM + 20), "y") == [(0, 1, "b1", 9092)] * 2


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        ("", 0),
        ("hello", 99162322),
        ("console-consumer", 648006740),
        ("polygenelubricants", 0),  # hashed to the number that has no absolute value
        ("\U0001f600", 1772899),  # two units of UTF-16
    ],
)
def test_sv_2_keys_are_hashed_as_in_java(key: str, hashed: int) -> None:
    assert partition_for(key, 2**31) == hashed
