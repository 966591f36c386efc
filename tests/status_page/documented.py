"""Answers of the status page's API, held against docs/status-api.schema.json as strictly as it can be read.

Programs leave out fields that they do not know: so may a later server have more of them, and the schema allows it. A
test allows no field that is not documented.
"""

import json
from typing import Any

from jsonschema import Draft202012Validator

from tests.docs.pages import DOCS, text_of
from tests.http_client import get

SCHEMA = json.loads(text_of(DOCS / "status-api.schema.json"))
CLOSED = {name: {**one, "additionalProperties": False} for name, one in SCHEMA["$defs"].items()}
PATHS = {
    "status": "Status",
    "moves": "Moves",
    "brokers": "Brokers",
    "partitions": "Partitions",
    "departure": "Departure",
    "events": "Events",
    "history": "History",
}
"""The document of each path."""
EVENTS_OF_STREAM = {"status": "Status", "changes": "Changes"}


class Documented:
    """Asks a server's API, and takes no answer that differs from its document.

    told  fields that had a value in some answer, as `Move.topic`; of an enumeration each value, as `Move.state=moving`
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.told: set[str] = set()

    async def ask(self, path: str, status: int = 200, method: str = "GET") -> Any:
        """The answer to a path below /api/v1, with its parameters: a Problem unless `status` is 200."""
        answer = await get(self.address, f"/api/v1/{path}", method)
        assert answer.status == status, answer.body
        assert answer.headers["content-type"] == "application/json"
        document = json.loads(answer.body)
        self.check(PATHS[path.partition("?")[0]] if status == 200 else "Problem", document)
        return document

    async def ask_all(self, *, departure: bool = True) -> None:
        """`departure`: whether the server can tell who may go."""
        for path in PATHS:
            if path == "departure" and not departure:
                continue
            await self.ask(f"{path}?brokers=1" if path == "departure" else path)

    def check(self, name: str, document: Any) -> None:
        """Raises jsonschema.ValidationError where the value is no such document, and AssertionError where a number is
        below 0: what is not known is null."""
        Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": CLOSED}).validate(document)
        self._note(CLOSED[name], document)

    def untold(self, *names: str) -> set[str]:
        """Fields of these documents that no answer has had a value of, and values of enumerations."""
        fields = {
            found
            for name in names
            for field, type_ in CLOSED[name]["properties"].items()
            for found in [f"{name}.{field}", *(f"{name}.{field}={value}" for value in type_.get("enum", ()))]
        }
        return fields - self.told

    def _note(self, schema: Any, value: Any) -> None:
        for choice in schema.get("anyOf", ()):
            self._note(choice, value)
        if "$ref" in schema and value is not None:
            self._note(_referred(schema["$ref"]), value)
        elif schema.get("type") == "array" and isinstance(value, list):
            for one in value:
                self._note(schema["items"], one)
        elif "title" in schema:
            for field, type_ in schema["properties"].items():
                found = value.get(field)
                if found is None:
                    continue
                name = f"{schema['title']}.{field}"
                assert not isinstance(found, int) or found >= 0 or name in ("Event.epoch", "Event.server"), (
                    f"{name}: {found}"
                )
                self.told.add(name)
                if "enum" in type_:
                    self.told.add(f"{name}={found}")
                self._note(type_, found)


def _referred(reference: str) -> Any:
    found: Any = {"$defs": CLOSED}
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    return found
