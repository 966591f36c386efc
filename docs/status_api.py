"""The page about the API of the status page, and the JSON schema of its documents."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from docs.markdown import NOTE, table
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.status import broker_documents, documents
from kafka_reassign_rpc.status_page import requests
from kafka_reassign_rpc.status_page.status_stream import EVERY_S, MOST_VIEWERS, STREAM_S
from kafka_reassign_rpc.watch import clusters

ANSWERS = (
    documents.Status,
    documents.Moves,
    broker_documents.Brokers,
    documents.Partitions,
    broker_documents.Departure,
    documents.Events,
    documents.History,
    documents.Problem,
    clusters.Clusters,
)
"""The documents of the status page's API. Their parts follow from them."""


def status_schemas() -> dict[str, dict[str, Any]]:
    """JSON schemas of the documents and their parts, by name, in the order of `documents`."""
    _, components = msgspec.json.schema_components(ANSWERS, ref_template="#/$defs/{name}")
    places = [*vars(documents), *vars(broker_documents), *vars(clusters)]
    return dict(sorted(components.items(), key=lambda item: places.index(item[0])))


def status_schema_file() -> str:
    """The JSON schema of the status page's API."""
    schemas = status_schemas()
    schemas["Events"]["properties"]["events"]["items"] = {"$ref": "#/$defs/Event"}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"API of the status page, version {documents.VERSION}",
        "$defs": {**schemas, "Event": _event_schema(), "Changes": _changes_schema(schemas["Status"])},
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _event_schema() -> dict[str, Any]:
    """The JSON schema of an event: a field that does not apply is left out."""
    fields: dict[str, Any] = {name: {"type": "integer"} for name in catalogue.EVERY_EVENT} | {
        "event": {"type": "string"}
    }
    fields |= {name: {"type": ["integer", "null"]} for name in ("server", "epoch")}
    recorded = msgspec.json.schema_components((Event,))[1]["Event"]["properties"]
    fields |= {name: recorded[name]["anyOf"][0] for name in catalogue.EVENT_FIELDS}
    meanings = catalogue.EVERY_EVENT | catalogue.EVENT_FIELDS
    return {
        "title": "Event",
        "description": "One event of a server.",
        "type": "object",
        "properties": {name: {"description": meanings[name], **type_} for name, type_ in fields.items()},
        "required": list(catalogue.EVERY_EVENT),
    }


def _changes_schema(status: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of what the stream sends after a whole Status."""
    return {
        "title": "Changes",
        "description": "An event `changes` of `/api/v1/stream`: the fields of Status that have changed.",
        "type": "object",
        "properties": {name: {"$ref": f"#/$defs/Status/properties/{name}"} for name in status["properties"]},
        "required": ["at"],
    }


def _json_type(schema: Mapping[str, Any]) -> str:
    """A type of a JSON schema in words."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_json_type(one) for one in schema["anyOf"]))
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_json_type(schema['items'])}"
    if schema.get("type") == "object":
        return "object"
    return str(schema.get("type", "anything"))


def status_api_page() -> str:
    """The API of the status page: paths, parameters, documents."""
    parts = [
        NOTE.format(source="kafka_reassign_rpc/core/status and kafka_reassign_rpc/status_page"),
        "# API of the status page",
        "A server with `metrics.listener` shows a page at `/`, and the same as JSON below `/api/v1/`. Both read and"
        " change nothing. `status.page` says what they show ([settings](settings.md#files-logs-and-metrics));"
        " [security](security.md) says who may read. Fields may be added within version 1: programs leave out what they"
        " do not know. [status-api.schema.json](status-api.schema.json) has the same as a JSON schema.",
        "`null` is what the server does not know, never 0. Times are ms since 1970 (UTC) by the clock of the server,"
        " sizes bytes, rates bytes per second, durations ms.",
        "```\n"
        "curl -s http://127.0.0.1:9593/api/v1/status\n"
        "curl -s 'http://127.0.0.1:9593/api/v1/moves?state=stalled&sort=left&limit=10'\n"
        "curl -s 'http://127.0.0.1:9593/api/v1/departure?brokers=3,7'\n"
        "```",
        "| path | document | with `status.page=counts` | on a standby |\n"
        "|---|---|---|---|\n"
        "| /api/v1/status | [Status](#status) | without addresses, people and groups | yes, what it knows |\n"
        "| /api/v1/stream | server-sent events | as `status` | yes |\n"
        "| /api/v1/moves | [Moves](#moves) | 403 | 503, with the address of the controller's page |\n"
        "| /api/v1/brokers | [Brokers](#brokers) | 403 | 503, as above |\n"
        "| /api/v1/partitions | [Partitions](#partitions) | 403 | 503, as above |\n"
        "| /api/v1/departure | [Departure](#departure) | 403 | 503, as above |\n"
        "| /api/v1/events | [Events](#events) | 403 | yes, of all servers |\n"
        "| /api/v1/history | [History](#history) | yes | empty |\n"
        "| /api/v1/clusters | [Clusters](#clusters) | as `status` | only of `watch` with several clusters |",
        "An answer other than 200 is a [Problem](#problem): 400 for a parameter that makes no sense or is given"
        " twice, 401 without credentials where they are needed, 403, 404, 405, 503. The page, `/metrics`,"
        " `/health` and `/ready` read no parameters.",
        "## The stream",
        f"`/api/v1/stream` sends an event every {EVERY_S:g} seconds. The first one, `status`, has all fields of"
        " [Status](#status). Each further one, `changes`, has those top-level fields that have changed. A client that"
        f" reads too slowly gets `status` again. A stream ends after {STREAM_S:g} seconds, and EventSource opens the"
        f" next one by itself. There are {MOST_VIEWERS} streams at a time; one more gets 503.",
        "## Who asked for a move",
        "No znode has that. The controller remembers it for moves that were asked for in its own term; for others"
        " `who` is null, and the events have it, as long as some server keeps them.",
        "## Many moves",
        "Order and sums of [Moves](#moves) are made again as often as costs 1 % of a core: at once with a few moves,"
        " about twice a minute with a hundred thousand; `listed_at` says when. The moves of a page are always as they"
        " are now; one that is over by then is left out.",
        "## Parameters",
    ]
    for path, parameters in requests.PARAMETERS.items():
        rows = ((f"`{name}`", meaning) for name, meaning in parameters.items())
        parts += [f"### {path}", table(["parameter", "meaning"], rows)]
    parts.append("## Documents")
    for name, schema in status_schemas().items():
        fields = (
            (f"`{field}`", _json_type(type_), type_.get("description", ""))
            for field, type_ in schema["properties"].items()
        )
        parts += [f"### {name}", schema["description"], table(["field", "type", "meaning"], fields)]
    return "\n\n".join(parts) + "\n"
