"""The catalogue of events is complete, and the code takes all names of events from it."""

import ast
import logging
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import kafka_reassign_rpc
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.catalogue import EVENT_FIELDS, EVENTS, EVERY_EVENT
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.pipeline.event_logs import event_files

PACKAGE = Path(kafka_reassign_rpc.__file__).parent
CATALOGUE = Path(catalogue.__file__)
SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if path != CATALOGUE)
CONSTANTS = {
    name: value for name, value in vars(catalogue).items() if name.isupper() and isinstance(value, str) and "." in value
}


@cache
def modules() -> list[tuple[Path, list[ast.AST]]]:
    """Each with all of its nodes: to walk a tree takes most of the time here."""
    parsed = ((path, ast.parse(path.read_text(encoding="utf-8"))) for path in SOURCES)
    return [(path.relative_to(PACKAGE), list(ast.walk(tree))) for path, tree in parsed]


def constructions() -> Iterator[tuple[str, ast.Call]]:
    """Every `Event(…)`, with its place, in modules that import the event's class."""
    for path, nodes in modules():
        imports = any(
            isinstance(node, ast.ImportFrom) and any(alias.name == "Event" for alias in node.names) for node in nodes
        )
        defines = any(isinstance(node, ast.ClassDef) and node.name == "Event" for node in nodes)
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Event":
                assert imports or defines
                yield f"{path}:{node.lineno}", node


def test_sv_7_each_name_has_one_constant_one_level_and_one_meaning() -> None:
    names = {value for name, value in CONSTANTS.items() if name != "MOVE_PREFIX"}
    assert names == set(EVENTS)
    for name, event in EVENTS.items():
        assert event.name == name
        assert event.level in logging.getLevelNamesMapping()
        assert event.meaning.endswith(".")
        assert set(event.fields) <= set(EVENT_FIELDS), name
        assert CONSTANTS[name.replace(".", "_").upper()] == name


def test_sv_7_the_catalogue_explains_the_fields_of_the_event_log_and_of_its_export_and_no_others() -> None:
    fields = {"event", *EVENT_FIELDS}
    assert set(Event.__struct_fields__) == fields
    exported = {field.name for field in event_files.EVENTS} - {"more"}
    assert exported <= fields | set(EVERY_EVENT)
    assert {field for event in EVENTS.values() for field in event.fields} == set(EVENT_FIELDS)


@pytest.mark.long
def test_sv_7_no_name_of_an_event_is_in_the_code_outside_the_catalogue() -> None:
    found = [
        f"{path}:{node.lineno} {node.value}"
        for path, nodes in modules()
        for node in nodes
        if isinstance(node, ast.Constant) and node.value in EVENTS
    ]
    assert found == []
    for place, call in constructions():
        assert not isinstance(call.args[0], ast.Constant | ast.JoinedStr), place


@pytest.mark.long
def test_sv_7_events_are_made_with_the_fields_that_the_catalogue_gives_them() -> None:
    """Events whose name is chosen at run time are checked as they are recorded (tests/controller/conftest.py)."""
    checked = 0
    for place, call in constructions():
        name = call.args[0]
        if isinstance(name, ast.Attribute):
            event = EVENTS[CONSTANTS[name.attr]]
            given = {keyword.arg for keyword in call.keywords}
            for position, argument in enumerate(call.args[1:], 1):
                given.update(
                    ("topic", "partition")
                    if isinstance(argument, ast.Starred)
                    else (Event.__struct_fields__[position],)
                )
            assert given <= set(event.fields), place
            checked += 1
    assert checked > len(EVENTS) / 2
