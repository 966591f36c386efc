"""ElectLeaders, and what brokers and producers ask the controller for: translation to and from the port."""

from typing import Any

import pytest

from kafka_reassign_rpc.core.kafka_errors import KafkaError, NotController
from kafka_reassign_rpc.protocol.messages import (
    AllocateProducerIdsRequest,
    AlterPartitionRequest,
    ControlledShutdownRequest,
    ElectLeadersRequest,
    InitProducerIdRequest,
)
from tests.api.ask import ask
from tests.api.model_node import ModelNode, topic


def elect(version: int, kind: int, **topics: list[int]) -> ElectLeadersRequest:
    wanted = [ElectLeadersRequest.TopicPartitions(version=version, topic=t, partitions=p) for t, p in topics.items()]
    return ElectLeadersRequest(
        version=version, election_type=kind, topic_partitions=wanted if topics else None, timeout_ms=1
    )


def elected(answer: Any) -> dict[tuple[str, int], int]:
    return {
        (t.topic, p.partition_id): p.error_code for t in answer.replica_election_results for p in t.partition_result
    }


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_g08_an_election_that_is_not_needed_is_an_error_of_what_was_named(version: int) -> None:
    node = ModelNode(topic("t", 2))
    node.controller.elections = {("t", 1): None}
    assert elected(await ask(node, elect(version, 0, t=[0, 1]), version)) == {("t", 0): 84, ("t", 1): 0}
    assert node.controller.calls == [("elect", [("t", 0), ("t", 1)], False)]


async def test_g08_and_is_left_out_where_all_partitions_were_asked_for() -> None:
    node = ModelNode(topic("t", 2))
    node.controller.elections = {("t", 1): None}
    assert elected(await ask(node, elect(2, 1), 2)) == {("t", 1): 0}
    assert node.controller.calls == [("elect", None, True)]


async def test_elections_elsewhere_are_not_controller_per_partition_and_at_the_top_for_all() -> None:
    node = ModelNode(topic("t"))
    node.controller = None
    answer = await ask(node, elect(2, 0, t=[0]), 2)
    assert (answer.error_code, elected(answer)) == (0, {("t", 0): 41})
    assert (await ask(node, elect(2, 0), 2)).error_code == 41


async def test_an_unknown_election_type_is_an_invalid_request() -> None:
    assert (await ask(ModelNode(topic("t")), elect(2, 5, t=[0]), 2)).error_code == 42


# ------------------------------------------------------------------------------------------------ from brokers


@pytest.mark.parametrize("version", range(4))
async def test_sv_4_alter_partition_reaches_the_controller_in_every_version(version: int) -> None:
    node = ModelNode(topic("t"))
    kind = AlterPartitionRequest
    name = {"topic_id": node.known["t"].id} if version >= 2 else {"topic_name": "t"}
    partitions = []
    for index in (0, 1):
        state = kind.TopicData.PartitionData.BrokerState
        isr = (
            {"new_isr_with_epochs": [state(version=version, broker_id=b, broker_epoch=b * 10) for b in (1, 2)]}
            if version >= 3
            else {"new_isr": [1, 2]}
        )
        partitions.append(
            kind.TopicData.PartitionData(
                version=version, partition_index=index, leader_epoch=5, partition_epoch=6, **isr
            )
        )
    topics = [kind.TopicData(version=version, partitions=partitions, **name)]
    request = kind(version=version, broker_id=1, broker_epoch=77, topics=topics)
    answer = await ask(node, request, version)
    [(_, asked)] = node.controller.calls
    assert (asked.broker_id, asked.broker_epoch, asked.api_version) == (1, 77, version)
    assert [(c.partition, c.isr, c.leader_epoch, c.partition_epoch) for c in asked.changes] == [
        (0, (1, 2), 5, 6),
        (1, (1, 2), 5, 6),
    ]
    assert asked.changes[0].isr_broker_epochs == ((10, 20) if version >= 3 else None)
    good, bad = answer.topics[0].partitions
    assert (good.error_code, good.leader_id, list(good.isr), good.partition_epoch) == (0, 1, [1, 2, 3], -1)
    assert bad.error_code == 3
    node.controller = None
    assert (await ask(node, request, version)).error_code == 41


@pytest.mark.parametrize("version", range(4))
async def test_sv_4_controlled_shutdown_names_what_is_left(version: int) -> None:
    node = ModelNode()
    request = ControlledShutdownRequest(version=version, broker_id=3, broker_epoch=9)
    answer = await ask(node, request, version)
    assert [(p.topic_name, p.partition_index) for p in answer.remaining_partitions] == [("t", 0)]
    assert node.controller.calls == [("controlled_shutdown", 3, 9 if version >= 2 else -1)]
    node.controller.active = False
    assert (await ask(node, request, version)).error_code == 41


@pytest.mark.parametrize("version", range(6))
async def test_sv_4_an_idempotent_producer_gets_its_id_from_the_controller_itself(version: int) -> None:
    node = ModelNode()
    request = InitProducerIdRequest(version=version, transactional_id=None, transaction_timeout_ms=1)
    answer = await ask(node, request, version)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (0, 5000, 0)
    node.controller.raises = NotController()
    answer = await ask(node, request, version)
    assert (answer.error_code, answer.producer_id) == (14, -1), "to be tried again"
    node.controller.active = False
    assert (await ask(node, request, version)).error_code == 14


async def test_sv_4_producer_ids_are_given_in_blocks() -> None:
    node = ModelNode()
    answer = await ask(node, AllocateProducerIdsRequest(version=0, broker_id=1, broker_epoch=2), 0)
    assert (answer.producer_id_start, answer.producer_id_len) == (5000, 1000)
    node.controller.raises = KafkaError("x")
    assert (await ask(node, AllocateProducerIdsRequest(version=0, broker_id=1, broker_epoch=2), 0)).error_code == -1
