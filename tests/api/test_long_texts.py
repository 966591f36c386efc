"""Answers that echo what a client or a znode chose can always be encoded, in every version."""

from typing import Any

import pytest

from kafka_reassign_rpc.core.kafka_errors import LONGEST_MESSAGE, InvalidTopic, KafkaError
from kafka_reassign_rpc.protocol.messages import (
    AlterConfigsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DescribeConfigsRequest,
    DescribeUserScramCredentialsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    ListReassignmentsRequest,
    MetadataRequest,
)
from kafka_reassign_rpc.protocol.versions import SUPPORTED
from tests.api.ask import ask
from tests.api.model_node import ModelNode, topic

LONGEST = 0x7FFF
NAMES = ("x" * LONGEST, "ß" * (LONGEST // 2), "€" * (LONGEST // 3))


def requests(version: int, name: str) -> list[Any]:
    """A request of each API that has error texts or echoes a name, about a thing of this name."""
    alter, incremental = AlterConfigsRequest.AlterConfigsResource, IncrementalAlterConfigsRequest.AlterConfigsResource
    describe, create = DescribeConfigsRequest.DescribeConfigsResource, CreateTopicsRequest.CreatableTopic
    config = alter.AlterableConfig(version=version, name=name, value=name)
    change = incremental.AlterableConfig(version=version, name=name, config_operation=0, value=name)
    of_topic = create.CreatableTopicConfig(version=version, name=name, value=name)
    found: list[Any] = [MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(version=version, name=name)])]
    for kind, resource in ((2, name), (4, name), (4, "1000"), (8, name), (99, name), (2, "t")):
        found += [
            AlterConfigsRequest(
                resources=[alter(version=version, resource_type=kind, resource_name=resource, configs=[config])]
            ),
            IncrementalAlterConfigsRequest(
                resources=[incremental(version=version, resource_type=kind, resource_name=resource, configs=[change])]
            ),
            DescribeConfigsRequest(
                resources=[
                    describe(version=version, resource_type=kind, resource_name=resource, configuration_keys=[name])
                ]
            ),
        ]
    for new, configs in ((name, []), ("new", [of_topic])):
        found.append(
            CreateTopicsRequest(
                topics=[
                    create(
                        version=version,
                        name=new,
                        num_partitions=1,
                        replication_factor=1,
                        assignments=[],
                        configs=configs,
                    )
                ]
            )
        )
    grown = CreatePartitionsRequest.CreatePartitionsTopic(version=version, name=name, count=2, assignments=None)
    elected = ElectLeadersRequest.TopicPartitions(version=version, topic=name, partitions=[0])
    return [
        *found,
        CreatePartitionsRequest(topics=[grown], timeout_ms=1, validate_only=False),
        ElectLeadersRequest(topic_partitions=[elected], timeout_ms=1),
        DescribeUserScramCredentialsRequest(users=[DescribeUserScramCredentialsRequest.UserName(version=0, name=name)]),
        ListReassignmentsRequest(topic_partitions=[(name, list(range(1000)))]),
    ]


@pytest.mark.parametrize("name", NAMES, ids=["ASCII", "two bytes", "three bytes"])
@pytest.mark.parametrize("version", range(14))
async def test_sv_6_a_name_as_long_as_the_protocol_allows_is_answered_in_every_version(
    version: int, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    for request in requests(version, name):
        low, high = SUPPORTED[request.API_KEY]
        if low <= version <= high:
            await ask(ModelNode(topic("t", 1)), request, version)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.parametrize("text", ["x" * 50_000, "\U0001f600" * 50_000, "a lone \ud800 surrogate"])
def test_sv_6_a_message_of_an_error_fits_into_every_answer(text: str) -> None:
    message = InvalidTopic(text).message
    assert len(message.encode()) <= LONGEST
    assert message.startswith(text[:6])
    assert len(message) <= LONGEST_MESSAGE + 30


def test_sv_6_a_message_that_fits_is_as_it_was_written() -> None:
    assert KafkaError("größer als 5 €").message == "größer als 5 €"
