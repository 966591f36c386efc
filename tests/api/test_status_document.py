"""DescribeStatus: documents of the status page over the Kafka protocol."""

from kafka_reassign_rpc.core.kafka_errors import InvalidRequest, NotController
from kafka_reassign_rpc.protocol.messages import DescribeStatusRequest
from tests.api.ask import ask
from tests.api.model_node import ModelNode, ModelStatus


async def test_sv_11_a_document_of_the_status_page_is_told_over_the_kafka_protocol() -> None:
    answer = await ask(ModelNode(), DescribeStatusRequest(document="moves", query="limit=2"), 0)
    assert (answer.error_code, answer.content) == (0, b'{"moves": "limit=2"}')


async def test_sv_11_a_document_that_there_is_not_or_that_another_server_has_is_an_error_with_its_text() -> None:
    answer = await ask(ModelNode(), DescribeStatusRequest(document="nothing"), 0)
    assert (answer.error_code, answer.error_message, answer.content) == (InvalidRequest.code, "no such document", b"")
    node = ModelNode()
    node.status = ModelStatus()
    node.status.is_controller = False
    answer = await ask(node, DescribeStatusRequest(document="moves"), 0)
    assert answer.error_code == NotController.code
    assert "broker 7 is the controller" in answer.error_message
    assert (await ask(node, DescribeStatusRequest(document="status"), 0)).error_code == 0
