"""The types that are written down for the message classes, against the classes themselves."""

import ast
from collections.abc import Mapping
from inspect import iscoroutine, signature
from typing import Any, get_args, get_type_hints

from kafka_reassign_rpc.api import refusals
from kafka_reassign_rpc.api.api_definition import Answer, Api
from kafka_reassign_rpc.api.dispatch import SERVER_APIS
from kafka_reassign_rpc.api.large_requests import SMALL
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.fleet.fleet import CONTROLLED_APIS
from kafka_reassign_rpc.protocol import generate_stubs, messages
from kafka_reassign_rpc.support.turns import at_once
from tests.tables import for_each


def test_the_stub_declares_every_public_name_of_the_module() -> None:
    declared: set[str] = set()
    for node in ast.parse(generate_stubs.stub()).body:
        if isinstance(node, ast.ClassDef):
            declared.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            declared.add(node.target.id)
    assert generate_stubs.message_classes().keys() <= declared
    assert {"REQUESTS", "RESPONSES", "SCHEMAS"} <= declared


def test_the_stub_gives_each_message_the_base_that_it_has() -> None:
    written = [one for one in ast.parse(generate_stubs.stub()).body if isinstance(one, ast.ClassDef)]
    bases = {one.name: ", ".join(map(ast.unparse, one.bases)) for one in written}
    for name, cls in generate_stubs.message_classes().items():
        ours = issubclass(cls, messages.Message)
        asks = f"RequestFor[{messages.RESPONSES[cls.API_KEY].__name__}]" if cls.is_request() else "ApiMessage"
        expected = ("Message" if asks == "ApiMessage" else f"Message, {asks}") if ours else asks
        assert bases[name] == expected, name


_READ = dict.fromkeys(("int8", "int16", "uint16", "int32", "int64"), "int") | {
    **{"float64": "float", "bool": "bool", "string": "str", "bytes": "bytes", "records": "bytes"},
    **{"uuid": "UUID | None", "bitfield": "set[int] | None"},
}
_GIVEN = _READ | {"bitfield": "Collection[int] | None"}


def types_of(field: Mapping[str, Any]) -> tuple[str, str]:
    """What is read of a field of a schema, and what it may be given."""
    name = field["type"].removeprefix("[]")
    read, given = _READ.get(name, name), _GIVEN.get(name, f"{name} | tuple[object, ...]")
    is_list = name != field["type"]
    if is_list:
        read, given = f"list[{read}]", f"Sequence[{given}]"
    may_be_absent = "nullableVersions" in field or ("tag" in field and name not in _READ and not is_list)
    if may_be_absent:
        read, given = (one if one.endswith("| None") else f"{one} | None" for one in (read, given))
    return read, given


def fields_of(written: ast.ClassDef) -> tuple[dict[str, str], dict[str, str]]:
    read = {
        one.target.id: ast.unparse(one.annotation)
        for one in written.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    }
    [made] = [one for one in written.body if isinstance(one, ast.FunctionDef)]
    given = {one.arg: ast.unparse(one.annotation) for one in made.args.kwonlyargs if one.annotation is not None}
    return read, given


def test_the_stub_gives_each_field_the_types_of_its_schema_at_any_depth() -> None:
    left = [one for one in ast.parse(generate_stubs.stub()).body if isinstance(one, ast.ClassDef)]
    made = generate_stubs.message_classes()
    of_schema = [(one, made[one.name]._struct._fields) for one in left if one.name in made]
    assert len(of_schema) == len(made)
    seen = 0
    while of_schema:
        written, fields = of_schema.pop()
        expected = {field.name: types_of(field._json) for field in fields}
        read, given = fields_of(written)
        assert read == {name: of_field[0] for name, of_field in expected.items()}, written.name
        assert given.pop("version") == "int | None"
        assert given == {name: of_field[1] for name, of_field in expected.items()}, written.name
        inner = {field._json["type"].removeprefix("[]"): field._fields for field in fields if field._fields}
        nested = {one.name: one for one in written.body if isinstance(one, ast.ClassDef)}
        assert nested.keys() == inner.keys(), written.name
        of_schema += [(nested[name], inner[name]) for name in inner]
        seen += len(fields)
    assert seen > 1000


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
    return get_type_hints(function)[list(signature(function).parameters)[1]]
