"""DescribeProducers, see `partition_refusals`. The first error is INVALID_TOPIC_EXCEPTION, for a name that no topic can
have.
"""

from typing import Any

from kafka_reassign_rpc.api.api_definition import (
    PARTITION_NUMBERS,
    Acl,
    AclOperation,
    AclResource,
    Answer,
    Api,
    ApiGroup,
    RequestContext,
)
from kafka_reassign_rpc.api.partition_refusals import (
    Layout,
    PartitionError,
    PartitionRefusals,
    TopicRights,
    named_topics,
    same,
    topic_right,
)
from kafka_reassign_rpc.api.ports import Node
from kafka_reassign_rpc.core.kafka_errors import InvalidTopic, KafkaError, NotLeaderOrFollower
from kafka_reassign_rpc.core.topics.topic_changes import is_valid_name
from kafka_reassign_rpc.protocol.messages import DescribeProducersRequest, DescribeProducersResponse
from kafka_reassign_rpc.support.turns import Work

REFUSALS = PartitionRefusals(DescribeProducersResponse, Layout(partitions="partition_indexes", number=""))


def handle(node: Node, request: DescribeProducersRequest, ctx: RequestContext) -> Work[Answer]:
    known = yield from named_topics(node, request.topics)
    errors = TopicRights(topic_right(ctx.access, AclOperation.READ), known).errors(same(NotLeaderOrFollower()))

    def of_topic(name: str) -> PartitionError:
        return errors(name) if is_valid_name(name) else _invalid

    return (yield from REFUSALS.refuse(request, ctx.api_version, of_topic))


def _invalid(_index: int, _partition: Any) -> KafkaError:
    return InvalidTopic()


API = Api(
    key=61,
    name="DescribeProducers",
    min_version=0,
    max_version=0,
    group=ApiGroup.CLIENT,
    acl=(Acl(AclOperation.READ, AclResource.TOPIC),),
    handle=handle,
    fail=REFUSALS.fail,
    max_elements=PARTITION_NUMBERS,
)
