"""The schemas, and the message classes made from them."""

import json
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from kafka.protocol.api_header import ResponseClassRegistry

from kafka_reassign_rpc.protocol import messages
from kafka_reassign_rpc.protocol.versions import FIRST_VENDOR_KEY, SUPPORTED, ApiKey
from tests.protocol import values
from tests.tables import for_each

SCHEMAS = sorted(
    path.name.removesuffix(".json") for path in files(messages.SCHEMAS).iterdir() if path.name[-5:] == ".json"
)


def schema(name: str) -> Any:
    return json.loads((files(messages.SCHEMAS) / f"{name}.json").read_text())


def all_fields(fields: Any) -> Any:
    for field in fields:
        yield field
        yield from all_fields(field.get("fields", ()))


@for_each("name", SCHEMAS)
def test_455_1_every_schema_has_a_class_and_describes_its_fields(name: str) -> None:
    found = schema(name)
    assert found["name"] == name
    cls = getattr(messages, name)
    assert cls in values.OURS
    assert found["apiKey"] == cls.API_KEY
    assert cls.max_version == SUPPORTED[found["apiKey"]][1]
    common = [field for struct in found.get("commonStructs", ()) for field in all_fields(struct["fields"])]
    for field in [*all_fields(found["fields"]), *common]:
        assert field["about"].endswith((".", ".)")), f"{name}.{field['name']}"


@for_each("name", SCHEMAS)
def test_455_1_what_a_tagged_field_holds_has_no_tagged_fields_of_its_own(name: str) -> None:
    """kafka-python leaves them out when it encodes."""
    tagged = [field for field in all_fields(schema(name)["fields"]) if "tag" in field]
    assert not [inner["name"] for field in tagged for inner in all_fields(field.get("fields", ())) if "tag" in inner]


@for_each("name", SCHEMAS)
def test_455_1_no_field_hides_an_attribute_of_message_classes(name: str) -> None:
    """A top-level field called Type or Name would read as the type or the name of the message."""
    taken = {attribute for attribute in dir(messages.Message) if not attribute.startswith("__")}
    assert not taken & set(getattr(messages, name)._struct.fields)


def test_455_1_requests_and_answers_come_in_pairs() -> None:
    assert messages.REQUESTS.keys() == messages.RESPONSES.keys() == SUPPORTED.keys()


@for_each("key", sorted({cls.API_KEY for cls in values.OURS}))
def test_455_1_kafka_python_keeps_its_own_classes_for_its_own_clients(key: int) -> None:
    registered = ResponseClassRegistry._response_class_registry.get(key)
    assert registered is None or registered.__module__.startswith("kafka.")


def test_240_1_vendor_keys_are_beyond_those_of_kafka() -> None:
    vendor = {key for key in SUPPORTED if key not in set(ApiKey)}
    assert vendor >= {32240, 32241, 32250, 32251, 32252}
    assert not vendor & set(range(32242, 32250)), "keys that 0.2 had are used for nothing else"
    assert min(vendor) == FIRST_VENDOR_KEY > 300 > max(ApiKey)


def test_sv_1_every_file_of_the_package_is_part_of_the_distribution() -> None:
    root = Path(__file__).parents[2]
    listed = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {path.parent for path in root.glob("kafka_reassign_rpc/**/*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == [], "it is not found as a package"
    patterns = listed["package-data"]["*"]
    data = [
        path for path in root.glob("kafka_reassign_rpc/**/*") if path.is_file() and path.suffix not in {".py", ".pyc"}
    ]
    assert data
    assert [path for path in data if not any(path.match(pattern) for pattern in patterns)] == []
