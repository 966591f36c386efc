"""Writes the pages that follow from the code: settings.md, metrics.md, events.md, errors.md, apis.md,
connections.md, snapshots.md, plans.md, results.md, restarts.md and status-api.md.

`python -m docs.generate` writes them; `python -m docs.generate --check` writes nothing, and its exit code 1 says that
one of them is out of date.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from docs.error_advice import ADVICE
from docs.markdown import NOTE, code, table
from docs.own_messages import MESSAGES
from docs.plan_columns import plans_page
from docs.restarts import restarts_page
from docs.result_columns import results_page
from docs.snapshot_columns import snapshots_page
from docs.status_api import status_api_page, status_schema_file
from kafka_reassign_rpc.api.api_definition import ApiGroup
from kafka_reassign_rpc.api.dispatch import SERVER_APIS
from kafka_reassign_rpc.api.vendor_table import COMMANDS, DOCUMENTS, Row
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.controller.telemetry.event_recorder import (
    LONGEST_NAME,
    LONGEST_REASON,
    LONGEST_WHO,
    MOST_IDS,
    OF_ALL_ADDRESSES,
    OF_AN_ADDRESS,
    OF_ZNODES,
    REPORT_MS,
)
from kafka_reassign_rpc.controller.telemetry.metric_catalogue import METRICS
from kafka_reassign_rpc.core import kafka_errors
from kafka_reassign_rpc.core.document_and_command_bodies import LONGEST_BODY, Parameters
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS
from kafka_reassign_rpc.core.state.requesters import LONGEST_PART, LONGEST_PRINCIPAL
from kafka_reassign_rpc.protocol import served_connection
from kafka_reassign_rpc.server import connection_states
from kafka_reassign_rpc.support.bounded_log import LONGEST_FIELD, LONGEST_LINE

FOLDER = Path(__file__).parent
SCHEMAS = FOLDER.parent / "schemas"

COMMANDS_WITH_EXIT_CODES = (
    "check",
    "status",
    "leave",
    "log",
    "health",
    "export",
    "plan",
    "submit",
    "audit",
    "history",
    "hash",
)


def settings_page() -> str:
    """Every setting of `serve`, by group."""
    groups: dict[str, list[list[str]]] = {}
    for setting in SETTINGS:
        default = setting.default_text if setting.default is None else f"`{setting.default_text}`"
        dynamic = "yes" if setting.dynamic else ""
        groups.setdefault(setting.group, []).append([f"`{setting.name}`", default, dynamic, setting.help])
    head = ["setting", "default", "dynamic", "meaning"]
    kafkas = [f"`{setting.name}`" for setting in SETTINGS if setting.dynamic and setting.of_kafka]
    parts = [
        NOTE.format(source="kafka_reassign_rpc/cli/server_settings.py"),
        "# Settings of the server",
        "`kafka-reassign-rpc serve` takes each setting as a flag, and as a key of a TOML file (`--config FILE`). A flag"
        " wins over the file. Three settings of [watch](watch.md) have an environment variable, which wins over the"
        " file too. Passwords and keys have no flag, since everybody on the machine can read a command line.",
        "`--kafka-config FILE` hands over a broker's server.properties: its settings of ZooKeeper, of security and of"
        " new topics hold for the server too, unless a flag or the TOML file says otherwise. All others are left out;"
        " `listeners` and `advertised.listeners` are taken with `--kafka-config-listeners true` only. Settings of TLS"
        " may hold for one listener, in both files: `listener.name.<name in small letters>.<setting>`.",
        "```\n"
        "kafka-reassign-rpc serve --config server.toml --broker-id 1001\n\n"
        "# server.toml\n"
        '"zookeeper.connect" = "zk1:2181,zk2:2181/kafka"\n'
        'listeners = "PLAINTEXT://controller1:9092"\n'
        "failure.interval.ms = 1800000\n"
        "```",
        "## Settings of all servers",
        'A setting with "yes" under *dynamic* is only the server\'s default. Set for all servers, it takes precedence'
        " and needs no restart:",
        "```\n"
        "kafka-reassign settings --bootstrap-server … --set failure.interval.ms=30min\n"
        "kafka-configs.sh --bootstrap-server … --entity-type brokers --entity-name 1000 --alter --add-config"
        " failure.interval.ms=1800000\n"
        "```",
        "1000 is the `broker.id` of any running server that the client can reach: all share one value. It is in"
        " `/admin/reassignment_settings` ([znodes](znodes.md)). Those that Kafka has too stay among the dynamic configs"
        " of all brokers (`--entity-default`): " + ", ".join(kafkas) + ".",
        "A value there holds; else one among the default configs of brokers, where earlier versions kept"
        " them ([how they move](operations.md#settings-that-moved)); else that of the server's file or flag.",
        "No flag and no key of the file sets these:",
        "\n".join(
            f"- `{name}` (default `{one.default}`): {one.documentation}"
            for name, one in SERVER_SETTINGS.items()
            if name not in {setting.name for setting in SETTINGS}
        ),
    ]
    for group, rows in groups.items():
        parts += [f"## {group[:1].upper()}{group[1:]}", table(head, rows)]
    return "\n\n".join(parts) + "\n"


def metrics_page() -> str:
    """Every metric of `/metrics`."""
    rows = [[f"`{metric.name}`", metric.kind, code(metric.labels), metric.meaning] for metric in METRICS]
    parts = [
        NOTE.format(source="kafka_reassign_rpc/controller/telemetry/metric_catalogue.py"),
        "# Metrics",
        "With `--metrics-listener HOST:PORT` a server shows these at `/metrics`, as Prometheus reads them."
        " [Operations](operations.md#what-to-alarm-on) says which of them deserve an alarm.",
        "The same listener serves the [status page](operations.md#the-status-page) at `/`.",
        "`/health` answers 200 while the process works. `/ready` answers 200 while the server is the controller or"
        " is ready to take over from it, else 503 with the reason.",
        "A histogram has the suffixes `_bucket`, `_sum` and `_count`. The Prometheus client adds `process_*`"
        " (CPU, memory, open files).",
        table(["metric", "kind", "labels", "meaning"], rows),
    ]
    return "\n\n".join(parts) + "\n"


def events_page() -> str:
    """Every event that a server records."""
    rows = [[f"`{event.name}`", event.level, event.meaning, code(event.fields)] for event in catalogue.EVENTS.values()]
    fields = [[f"`{name}`", meaning] for name, meaning in catalogue.EVENT_FIELDS.items()]
    always = [[f"`{name}`", meaning] for name, meaning in catalogue.EVERY_EVENT.items()]
    parts = [
        NOTE.format(source="kafka_reassign_rpc/core/events/catalogue.py"),
        "# Events",
        "A server records each decision three times: as a line on standard error, as a JSON line in"
        " `--event-log-dir`, and for clients (`kafka-reassign events`, document `event_log` of"
        " [AskDocument](apis.md#documents-and-commands)). A field that does not apply"
        " is left out.",
        "Decisions and refusals have files of their own (`events-*` and `refusals-*`), each with its own limit: one"
        " without rights cannot push out changes. Their numbers are those of one sequence, and readers get"
        f" both in that order. Refusals have a limited rate: those of one address {OF_AN_ADDRESS.at_once} at once and"
        f" {OF_AN_ADDRESS.per_second} more each second, those of all addresses {OF_ALL_ADDRESSES.at_once} and"
        f" {OF_ALL_ADDRESSES.per_second}, those of znodes {OF_ZNODES.at_once} and {OF_ZNODES.per_second}. The others"
        f" are counted in the metrics, and in an event `refusals.left_out` {REPORT_MS // 1000} seconds later.",
        f"Long values are cut: a `reason` after {LONGEST_REASON} characters, `who` after {LONGEST_WHO}, a topic after"
        f" {LONGEST_NAME}, a principal after {LONGEST_PRINCIPAL}, a client id after"
        f" {LONGEST_PART}, a list of brokers after {MOST_IDS}. Texts for"
        " people that were cut end with their full length. On standard error every other"
        f" value is cut after {LONGEST_FIELD} characters and a line after {LONGEST_LINE}.",
        "```\n"
        '{"seq":12,"at":1795257132502,"server":1000,"epoch":1,"event":"move.refused","topic":"payments","partition":1,\n'
        ' "who":"User:ANONYMOUS as kafka-python-3.0.12 from 127.0.0.1","reason":"INVALID_REPLICA_ASSIGNMENT: Replica'
        ' assignment has brokers that are not alive. …","target":[9],\n'
        ' "principal":"User:ANONYMOUS","client_id":"kafka-python-3.0.12","address":"127.0.0.1",\n'
        ' "listener":"PLAINTEXT"}\n'
        "```",
        "## Names",
        table(["event", "level", "meaning", "fields"], rows),
        "## Fields",
        "Every event has these:",
        table(["field", "meaning"], always),
        "Some events have these:",
        table(["field", "meaning"], fields),
    ]
    return "\n\n".join(parts) + "\n"


def known_errors() -> dict[str, type[KafkaError]]:
    """The error classes by name, in the order of their codes."""
    found = {
        name: value
        for name, value in vars(kafka_errors).items()
        if isinstance(value, type) and issubclass(value, KafkaError) and value is not KafkaError
    }
    return dict(sorted(found.items(), key=lambda item: item[1].code))


def exit_codes(command: str) -> list[list[str]]:
    """The exit codes of a command of `kafka-reassign-rpc`, out of its own help."""
    module = import_module(f"kafka_reassign_rpc.cli.{command}_command")
    listed = re.search(r"exit codes:(.*?)(?:\n\s*example|\Z)", getattr(module, "EPILOG", ""), re.DOTALL)
    if listed is None:
        raise ValueError(f"the help of {command} lists no exit codes")
    codes = re.split(r",\s+(?=\d+ )", " ".join(listed[1].split()))
    return [[f"`{command}`", *code.split(" ", 1)] for code in codes]


def errors_page() -> str:
    """Every Kafka error that the server answers, and the exit codes of the commands."""
    rows = [
        [f"`{error().name}`", str(error.code), "yes" if error.retriable else "", error.default_message, ADVICE[name]]
        for name, error in known_errors().items()
    ]
    codes = [row for command in COMMANDS_WITH_EXIT_CODES for row in exit_codes(command)]
    parts = [
        NOTE.format(
            source="kafka_reassign_rpc/core/kafka_errors.py, docs/own_messages.py and the help of the commands"
        ),
        "# Errors and exit codes",
        "## Errors",
        "The server answers these Kafka errors. The same call may succeed later where *retriable* says yes. Most"
        " answers carry a message that is more precise than the meaning here.",
        table(["error", "code", "retriable", "meaning in Kafka", "what to know or do"], rows),
        "## Messages of this product",
        "Stock Kafka and its tools do not have these. `…` means what differs.",
        table(["message", "what to know or do"], [list(row) for row in MESSAGES]),
        "## Exit codes",
        "Every command ends with 0 on success, 1 when it failed, 2 for wrong flags, settings or input, 130 on Ctrl-C."
        " Where the disk is full, or its standard output cannot be written, it has failed: one line on standard error"
        " says so, and nothing half-written is left."
        " `serve`, `fleet` and `zookeeper` end with 0 after SIGTERM and Ctrl-C.",
        "`kafka-reassign` ends like the stock tool: 0, or 1 for whatever went wrong, and 1 after `--help`. Beyond that"
        " `--verify-queue` ends with 2 where moves wait or are in flight, and `--enable` with 1 where something else"
        " keeps reassignments disabled. A filter that finds nothing (`hold --topic`, `throttle --partitions`,"
        " `events --broker`) ends with 1 and the nearest name.",
        table(["kafka-reassign-rpc", "code", "meaning"], codes),
    ]
    return "\n\n".join(parts) + "\n"


def connections_page() -> str:
    """The states of a connection: what becomes of its requests, its stream, and why it is not read."""

    def meanings(of: Mapping[Any, str]) -> str:
        return table(["state", "meaning"], [[f"`{state.name}`", meaning] for state, meaning in of.items()])

    def rows(of: Iterable[Any]) -> str:
        return table(
            ["in", "event", "next state", "when"],
            [
                [", ".join(state.name for state in row.states), row.event.name, row.after.name, row.meaning]
                for row in of
            ],
        )

    parts = [
        NOTE.format(source="kafka_reassign_rpc/server/connection_states.py and protocol/served_connection.py"),
        "# Connections of the server",
        "A connection has three states, each in a table of its own. The code follows the first two tables: an event"
        " that a state lacks is a defect. `tests/server/test_connection_states.py` walks all rows over real objects.",
        "The parts know each other in one direction only: `server_connection.py` uses the stream, the guard, the"
        " writer, the flow control and the list of open connections. None of them holds a connection, but the list and"
        " its budgets, which see it through the protocols `OpenConnection`, `Waiter` and `Reader`.",
        "## Work",
        "What becomes of the requests (`Work`).",
        meanings(connection_states.MEANINGS),
        rows(connection_states.WORK),
        "## Stream",
        "Whether bytes are taken in, and whether a frame is in work (`Stream`).",
        meanings(served_connection.MEANINGS),
        rows(served_connection.STREAM),
        "## Reading",
        "A connection is read while there is no reason against it (`Pause`). It is paused when bytes arrive while there"
        " is one, not before: most clients wait for their answers.",
        table(
            ["reason", "begins", "ends"],
            [[f"`{reason.name}`", row.begins, row.ends] for reason, row in connection_states.PAUSES.items()],
        ),
    ]
    return "\n\n".join(parts) + "\n"


def schemas() -> Iterator[Mapping[str, Any]]:
    """The schemas of this product, by name. Kafka's JSON may have comments."""
    for path in sorted(SCHEMAS.glob("*.json")):
        yield json.loads(re.sub(r"^\s*//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE))


def tagged_fields(fields: Iterable[Mapping[str, Any]], place: str = "") -> Iterator[tuple[int, str, str, str]]:
    """Tag, place in the message, type and meaning of every tagged field."""
    for field in fields:
        name = f"{place}.{field['name']}" if place else field["name"]
        if "tag" in field:
            yield field["tag"], name, field["type"], field.get("about", "")
        yield from tagged_fields(field.get("fields", ()), name)


def acl_text(acls: Iterable[Any]) -> str:
    """The permissions of an API, as an operator of ACLs writes them."""
    texts = []
    for acl in acls:
        text = f"{acl.operation.name} on {acl.resource.name.lower().replace('_', ' ')}"
        texts.append(f"{text} ({acl.only_for})" if acl.only_for else text)
    return ", ".join(texts) or "none"


def vendor_row(row: Row) -> list[str]:
    page = "[status-api.md](status-api.md)"
    asked = page if row.body is Parameters else names_of(row.body)
    answers = f"[{row.answers.__name__}](status-api.md#{row.answers.__name__.lower()})"
    answer = answers if row.body is Parameters else names_of(row.answers)
    return [f"`{row.name}`", row.needs.name, asked, answer, row.meaning]


def names_of(body: Any) -> str:
    """The fields of a JSON object, with those of the objects in its lists."""
    _, schemas = msgspec.json.schema_components((body,), ref_template="{name}")

    def named(schema: Mapping[str, Any]) -> str:
        texts = []
        for name, one in schema["properties"].items():
            inner = [schemas[ref] for ref in _references(one)]
            texts.append(f"`{name}`" + (f" ({named(inner[0])})" if inner else ""))
        return ", ".join(texts)

    return named(schemas[body.__name__]) or "nothing"


def _references(schema: Any) -> list[str]:
    if isinstance(schema, Mapping):
        own = [schema["$ref"]] if "$ref" in schema else []
        return own + [ref for one in schema.values() for ref in _references(one)]
    return [ref for one in schema for ref in _references(one)] if isinstance(schema, list) else []


def apis_page() -> str:
    """Every API that the server serves, the vendor APIs, and the tagged fields that Kafka does not have."""
    served = SERVER_APIS
    groups: dict[str, list[list[str]]] = {}
    vendor: list[list[str]] = []
    requests = {schema["apiKey"]: schema.get("about", "") for schema in schemas() if schema["type"] == "request"}
    for key, api in sorted(served.items()):
        versions = (
            f"{api.min_version}" if api.min_version == api.max_version else f"{api.min_version}-{api.max_version}"
        )
        row = [str(key), api.name, versions, f"{api.max_elements:,}", acl_text(api.acl)]
        if api.group is ApiGroup.VENDOR:
            vendor.append([*row, requests[key]])
        else:
            groups.setdefault(api.group.value, []).append(row)
    tags = [
        [schema["name"], str(tag), f"`{place}`", f"`{type_}`", about]
        for schema in schemas()
        if schema["apiKey"] in served
        for tag, place, type_, about in tagged_fields(schema["fields"])
    ]
    parts = [
        NOTE.format(source="kafka_reassign_rpc/api and schemas"),
        "# APIs",
        "The server answers these Kafka APIs. Of those that clients may send to any node, ApiVersions announces the"
        " versions that all brokers know too: a broker that is away counts as what it was, one that has not answered"
        " yet as one of 2.8. Where only the controller can answer, another server answers"
        ' NOT_CONTROLLER. "Elements" are the most that all arrays of a request may have together; eight numbers of one'
        " array count as one. The last column is Kafka's permission for the API, which the client's principal needs"
        " where the server has an authorizer ([authorization](authorization.md)).",
    ]
    for group, rows in groups.items():
        parts += [f"## For {group}", table(["key", "API", "versions", "elements", "permission"], rows)]
    parts += [
        "## Vendor APIs",
        "Kafka never allocated these keys. ApiVersions advertises them; stock clients skip keys that they do not know."
        " The fields are in the files of `schemas/`.",
        table(["key", "API", "versions", "elements", "permission", "meaning"], vendor),
        "## Documents and commands",
        "A request of AskDocument or DoCommand names a document or a command and has a JSON object for what it is"
        f" about, of at most {LONGEST_BODY} bytes; an answer without an error has JSON. A server refuses fields of a"
        " request that it does not know (INVALID_REQUEST), so that no term is passed over, and names that it does not"
        " know (UNSUPPORTED_VERSION). Answers may get more fields: clients pass over those. `null` is what is not"
        " known. Where another server has to answer, the error is NOT_CONTROLLER. Documents of the status page have the"
        " parameters and fields of [its API](status-api.md), in full. Every permission is on the cluster.",
        table(["document", "permission", "request", "answer", "meaning"], [vendor_row(row) for row in DOCUMENTS]),
        table(["command", "permission", "request", "answer", "meaning"], [vendor_row(row) for row in COMMANDS]),
        "## Tagged fields",
        "A client sends these only to a server that advertises API key 32241: other servers skip unknown tags silently."
        " Stock clients skip those of the answers.",
        table(["message", "tag", "field", "type", "meaning"], tags),
    ]
    return "\n\n".join(parts) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "settings.md": settings_page,
    "metrics.md": metrics_page,
    "events.md": events_page,
    "errors.md": errors_page,
    "apis.md": apis_page,
    "connections.md": connections_page,
    "snapshots.md": snapshots_page,
    "plans.md": plans_page,
    "results.md": results_page,
    "restarts.md": restarts_page,
    "status-api.md": status_api_page,
    "status-api.schema.json": status_schema_file,
}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m docs.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args(argv).check
    stale = False
    for name, page in PAGES.items():
        path, text = FOLDER / name, page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale = True
            sys.stdout.write(f"{path}: {'out of date' if check else 'written'}\n")
            if not check:
                path.write_text(text, encoding="utf-8")
    return int(check and stale)


if __name__ == "__main__":
    raise SystemExit(main())
