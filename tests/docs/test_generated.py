"""The pages that follow from the code are up to date, and say something of everything."""

import ast
import re
from pathlib import Path

import pytest

from docs import generate
from docs.error_advice import ADVICE
from docs.own_messages import MESSAGES
from docs.plan_columns import TABLES
from docs.result_columns import RESULTS
from docs.status_api import status_schemas
from kafka_reassign_rpc.api import large_requests
from kafka_reassign_rpc.api.dispatch import SERVER_APIS
from kafka_reassign_rpc.api.vendor_table import COMMANDS, DOCUMENTS
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.controller.lifecycle import served_acls
from kafka_reassign_rpc.controller.telemetry.metric_catalogue import METRICS
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.restarts.table import ENDINGS
from kafka_reassign_rpc.core.topics import topic_changes
from kafka_reassign_rpc.pipeline.reports import plan_report
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import COLUMNS
from kafka_reassign_rpc.protocol.served_connection import Stream
from kafka_reassign_rpc.server.connection_states import Pause, Work
from kafka_reassign_rpc.status_page import status_stream
from kafka_reassign_rpc.status_page.requests import PARAMETERS
from tests.docs.pages import DOCS, ROOT, text_of
from tests.tables import for_each

LISTED = re.compile(r"^\| (?:`([^`]+)`|(\d+)) \|", re.MULTILINE)
"""The first cell of a row: a name, or the key of an API."""


@for_each("page", generate.PAGES)
def test_a_generated_page_is_up_to_date(page: str) -> None:
    assert text_of(DOCS / page) == generate.PAGES[page](), "run: python -m docs.generate"


def test_every_error_has_advice_and_no_advice_is_left_over() -> None:
    assert set(ADVICE) == set(generate.known_errors())


def names_in_catalogue(page: str) -> list[str]:
    if page == "errors.md":
        return [error().name for error in generate.known_errors().values()]
    if page == "apis.md":
        return [*map(str, SERVER_APIS), *(row.name for row in (*DOCUMENTS, *COMMANDS))]
    if page == "settings.md":
        return [setting.name for setting in SETTINGS]
    if page == "metrics.md":
        return [metric.name for metric in METRICS]
    if page == "status-api.md":
        fields = [name for schema in status_schemas().values() for name in schema["properties"]]
        return [*fields, *(name for parameters in PARAMETERS.values() for name in parameters)]
    if page == "connections.md":
        return [state.name for states in (Work, Stream, Pause) for state in states]
    if page == "snapshots.md":
        return [column.name for columns in COLUMNS.values() for column in columns]
    if page == "plans.md":
        return [name for one in TABLES for name in one.schema.names]
    if page == "results.md":
        return [column.name for one in RESULTS for column in one.columns]
    if page == "restarts.md":
        return [one.name for one in ENDINGS]
    if page == "status-api.schema.json":
        return []
    return [*catalogue.EVENTS, *catalogue.EVERY_EVENT, *catalogue.EVENT_FIELDS]


@for_each("page", generate.PAGES)
def test_each_entry_of_a_catalogue_has_a_row(page: str) -> None:
    listed = [name or key for name, key in LISTED.findall(text_of(DOCS / page))]
    entries = [name for name in listed if page != "errors.md" or name not in generate.COMMANDS_WITH_EXIT_CODES]
    assert sorted(entries) == sorted(names_in_catalogue(page))


def texts_in_code() -> set[str]:
    """Texts of the files that may have a message; … in the place of a value."""
    found = set()
    starts = [max(message.split("…"), key=len).strip()[:15] for message, _ in MESSAGES]
    for file in (ROOT / "kafka_reassign_rpc").rglob("*.py"):
        code = text_of(file)
        if not any(start in code for start in starts):
            continue
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
                found.add("".join(map(str, parts)))
    return found


def test_every_message_that_the_page_of_errors_explains_is_one_of_the_product() -> None:
    texts = texts_in_code()
    assert [message for message, _ in MESSAGES if not any(message in text for text in texts)] == []
    assert len({message for message, _ in MESSAGES}) == len(MESSAGES)


def test_the_limits_are_those_of_the_code() -> None:
    page = text_of(DOCS / "limits.md")
    for what, number in (
        ("elements of a request", SERVER_APIS[45].max_elements),
        ("partitions of a topic", topic_changes.MOST_PARTITIONS),
        ("replicas of a partition", large_requests.MOST_REPLICAS),
        ("ACLs", served_acls.MOST_ACLS),
        ("viewers of the status page", status_stream.MOST_VIEWERS),
        ("moves that a page of a plan lists", plan_report._MOVES),
    ):
        [row] = [line for line in page.splitlines() if line.startswith(f"| {what}")]
        assert re.search(rf"\b{number:,}\b", row), (what, number)


def test_every_tag_of_our_messages_is_found() -> None:
    schema = {"fields": [{"name": "A", "type": "[]B", "fields": [{"name": "C", "type": "int8", "tag": 7}]}]}
    assert list(generate.tagged_fields(schema["fields"])) == [(7, "A.C", "int8", "")]


def test_check_tells_a_stale_page_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "FOLDER", tmp_path)
    monkeypatch.setattr(generate, "PAGES", {"a.md": lambda: "new\n"})
    assert generate.main(["--check"]) == 1
    assert not (tmp_path / "a.md").exists()
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
    (tmp_path / "a.md").write_text("old\n")
    assert generate.main(["--check"]) == 1
    assert text_of(tmp_path / "a.md") == "old\n"
