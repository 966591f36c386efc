"""Calls about the configs of thousands of topics send a few requests of bounded size."""

from typing import Any

from kafka_reassign_rpc.client.client_errors import Unreachable
from kafka_reassign_rpc.client.config_calls import (
    BROKER,
    RESOURCES_PER_REQUEST,
    TOPIC,
    Resource,
    change_configs,
    describe_configs,
)
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsResponse,
)

COUNT = 2 * RESOURCES_PER_REQUEST + 201
TOPICS: list[Resource] = [(TOPIC, f"t-{number}") for number in range(COUNT)]


class Nodes:
    """Answers every request but number `lost`. `asked` holds the node and the number of resources of each."""

    def __init__(self, *, lost: int = -1) -> None:
        self.asked: list[tuple[int | None, int]] = []
        self._lost = lost

    async def ask_any(self, build: Any, cls: Any, *, changes: bool = False) -> Any:
        return self._answer(None, build(0))

    async def ask_node(self, node: int, build: Any, cls: Any, *, changes: bool = False) -> Any:
        return self._answer(node, build(0))

    def _answer(self, node: int | None, request: Any) -> Any:
        self.asked.append((node, len(request.resources)))
        if len(self.asked) - 1 == self._lost:
            raise Unreachable
        results = [
            {
                "error_code": 0,
                "error_message": None,
                "resource_type": one.resource_type,
                "resource_name": one.resource_name,
            }
            for one in request.resources
        ]
        if isinstance(request, DescribeConfigsRequest):
            described = DescribeConfigsResponse.DescribeConfigsResult
            return DescribeConfigsResponse(results=[described(configs=[], **one) for one in results])
        altered = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
        return IncrementalAlterConfigsResponse(responses=[altered(**one) for one in results])


async def test_236_12_the_configs_of_thousands_of_topics_are_asked_for_by_the_hundred() -> None:
    nodes = Nodes()
    found = await describe_configs(nodes, TOPICS)  # type: ignore[arg-type]
    assert found == {topic: [] for topic in TOPICS}
    assert nodes.asked == [(None, RESOURCES_PER_REQUEST), (None, RESOURCES_PER_REQUEST), (None, 201)]
    assert await describe_configs(nodes, [(BROKER, "7")]) == {(BROKER, "7"): []}  # type: ignore[arg-type]
    assert nodes.asked[3:] == [(7, 1)]


async def test_236_12_throttles_of_thousands_of_topics_are_changed_by_the_hundred_whatever_is_lost() -> None:
    nodes = Nodes(lost=2)
    changes: dict[Resource, dict[str, str | None]] = {key: {"a": None} for key in [(BROKER, "7"), *TOPICS]}
    results = await change_configs(nodes, changes)  # type: ignore[arg-type]
    assert nodes.asked == [(7, 1), (None, RESOURCES_PER_REQUEST), (None, RESOURCES_PER_REQUEST), (None, 201)]
    assert results.keys() == changes.keys()
    failed = {resource for resource, error in results.items() if isinstance(error, KafkaError)}
    assert failed == set(TOPICS[RESOURCES_PER_REQUEST : 2 * RESOURCES_PER_REQUEST])
