"""The types that are written down for the message classes, against the classes themselves."""

import ast
from inspect import iscoroutine
from typing import Any, get_args, get_type_hints

from kafka_reassign_rpc.api import refusals
from kafka_reassign_rpc.api.api_definition import Answer, Api
from kafka_reassign_rpc.api.large_requests import SMALL
from kafka_reassign_rpc.api.registry import SERVER_APIS
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.fleet.broker_apis import CONTROLLED_APIS
from kafka_reassign_rpc.protocol import generate_stubs, messages
from kafka_reassign_rpc.support.turns import at_once
from tests.tables import for_each


def test_the_committed_stub_is_what_the_generator_writes() -> None:
    assert generate_stubs.STUB.read_text(encoding="utf-8") == generate_stubs.stub(), (
        "run python -m kafka_reassign_rpc.protocol.generate_stubs"
    )


def test_the_stub_declares_every_public_name_of_the_module() -> None:
    declared: set[str] = set()
    for node in ast.parse(generate_stubs.stub()).body:
        if isinstance(node, ast.ClassDef):
            declared.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            declared.add(node.target.id)
    assert generate_stubs.message_classes().keys() <= declared
    assert {"REQUESTS", "RESPONSES", "SCHEMAS"} <= declared


@for_each("api", [*SERVER_APIS.values(), *CONTROLLED_APIS.values()], ids=lambda api: api.name)
def test_a_handler_is_annotated_with_the_request_class_of_its_api(api: Api) -> None:
    """`Api` takes handlers of any request, so mypy cannot see a handler under the wrong key."""
    if api.handle.__module__ == refusals.__name__:  # of several APIs: a row names the request once, for all
        request: Any = messages.REQUESTS[api.key]
        failed = api.fail(request(version=0), 0, InvalidRequest("why"))
        answer = at_once(failed, SMALL) if iscoroutine(failed) else failed
        assert isinstance(answer, messages.RESPONSES[api.key])
        return
    taken = _second_parameter(api.handle)
    assert messages.REQUESTS[api.key] in (
        get_args(taken) or (taken,)
    )  # of several APIs: those that it takes, and no more
    if api.key not in CONTROLLED_APIS and api.fail.__module__ == api.handle.__module__:  # no helper of several APIs
        fail = get_type_hints(api.fail)
        assert next(iter(fail.values())) is messages.REQUESTS[api.key]
        assert fail["return"] in (messages.RESPONSES[api.key], Answer), "its own answer, or one in slices"


def _second_parameter(function: Any) -> Any:
    return list(get_type_hints(function).values())[1]
