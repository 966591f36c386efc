"""Any message that fits a schema is the same after encoding and decoding, in every version; the bytes are Kafka's."""

import base64
import re
from typing import Any
from uuid import UUID

import kafka.protocol.admin as kafka_python
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.protocol.schemas.fields.array import ArrayField
from kafka.protocol.schemas.fields.struct import StructField

from kafka_reassign_rpc.protocol import messages
from kafka_reassign_rpc.protocol.bounded_decoder import decoder
from kafka_reassign_rpc.protocol.decoder_source import UNLIMITED, decoded, least_size
from kafka_reassign_rpc.protocol.frame_codec import (
    decode_request,
    decode_response,
    encode_body,
    encode_request,
    encode_response,
)
from kafka_reassign_rpc.protocol.versions import SUPPORTED
from tests.effort import examples
from tests.protocol import kafka_bodies, values
from tests.tables import for_each

pytestmark = pytest.mark.timeout(1200)  # a run of everything tries all examples of all messages in one test


OUR_TAGS = (236, 240, 241, 242, 243, 244, 860, 2361, 2362, 2363, 2364)
THEIRS = [cls for cls in (*messages.REQUESTS.values(), *messages.RESPONSES.values()) if cls not in values.OURS]


def there_and_back(body: Any, version: int) -> Any:
    if body.is_request():
        frame = encode_request(body, version=version, correlation_id=-5, client_id="someone")
        return decode_request(frame[4:]).body
    frame = encode_response(body, version=version, correlation_id=-5)
    return decode_response(type(body), frame[4:], version=version)[1]


@pytest.mark.long
@for_each("cls, version", values.all_versions(values.OURS), ids=values.names)
@pytest.mark.more
@settings(max_examples=examples(25))
@given(data=st.data())
def test_455_1_every_message_of_ours_comes_back_as_it_was(cls: Any, version: int, data: st.DataObject) -> None:
    body = data.draw(values.messages(cls, version))
    assert there_and_back(body, version) == body


@pytest.mark.long
@for_each("cls, version", values.all_versions(THEIRS), ids=values.names)
@pytest.mark.more
@settings(max_examples=examples(6))
@given(data=st.data())
def test_sv_2_every_other_message_comes_back_as_it_was(cls: Any, version: int, data: st.DataObject) -> None:
    body = data.draw(values.messages(cls, version))
    if cls is messages.ApiVersionsResponse:
        body.error_code = 0  # an ApiVersions answer with error 35 is read in version 0
    if cls is messages.MetadataRequest and version == 0 and body.topics is None:
        body.topics = []
    if cls is messages.DeleteTopicsRequest and version == 6:
        body.topic_names = []
    assert there_and_back(body, version) == body


@pytest.mark.long
@for_each("cls, version", values.all_versions(values.OURS), ids=values.names)
@pytest.mark.more
@settings(max_examples=examples(10))
@given(data=st.data())
def test_sv_6_no_message_is_smaller_than_the_least_size_that_bounds_counts(
    cls: Any, version: int, data: st.DataObject
) -> None:
    body = data.draw(values.messages(cls, version))
    assert len(encode_body(body, version=version)) >= least_size(cls._struct, version, cls.flexible_version_q(version))


@pytest.mark.long
@pytest.mark.parametrize("name", ["AlterPartitionReassignments", "ListPartitionReassignments"])
@pytest.mark.parametrize("direction", ["Request", "Response"])
@given(data=st.data())
def test_455_1_the_bytes_are_those_of_kafka_python(name: str, direction: str, data: st.DataObject) -> None:
    ours, theirs = getattr(messages, name + direction), getattr(kafka_python, name + direction)
    version = data.draw(st.integers(0, theirs.max_version))
    body = data.draw(values.messages(theirs, version))
    wire = bytes(body.encode(version=version))
    found, end = decoded(decoder(ours, version)(wire, 0, UNLIMITED))
    assert end == len(wire)
    assert encode_body(found, version=version) == wire
    assert as_plain(found, theirs._struct, version) == as_plain(body, theirs._struct, version)


@for_each("body", kafka_bodies.load())
def test_sv_2_what_kafkas_own_classes_write_is_read_and_written_identically(body: kafka_bodies.Body) -> None:
    found, end = decoded(decoder(body.cls, body.version)(body.data, 0, UNLIMITED))
    assert end == len(body.data)
    assert encode_body(found, version=body.version).hex() == body.hex


@for_each("body", [body for body in kafka_bodies.load() if body.fields is not None])
def test_455_1_each_field_of_ours_means_what_it_means_to_kafka(body: kafka_bodies.Body) -> None:
    found, _ = decoded(decoder(body.cls, body.version)(body.data, 0, UNLIMITED))
    assert as_plain(found, body.cls._struct, body.version) == renamed(body.fields)


def test_sv_2_every_version_that_kafka_has_is_measured_against_kafka() -> None:
    measured = {(body.key, body.version, body.direction) for body in kafka_bodies.load()}
    wanted = {
        (key, version, direction)
        for key, (low, high) in SUPPORTED.items()
        if key < 1000  # the others are ours alone
        for version in range(low, high + 1)
        for direction in ("request", "response")
    }
    assert measured == wanted


@pytest.mark.stock
@pytest.mark.release
def test_sv_2_the_recorded_bodies_are_what_kafka_writes_today() -> None:
    assert kafka_bodies.write_with_kafka() == kafka_bodies.load()


def as_plain(message: Any, schema: StructField | ArrayField, version: int) -> dict[str, Any]:
    """The fields of `schema` that `version` has and Kafka knows, as dictionaries and lists."""
    return {
        field.name: _plain(getattr(message, field.name), field, version)
        for field in schema.fields.values()
        if field.for_version_q(version) and field.tag not in OUR_TAGS
    }


def _plain(value: Any, field: Any, version: int) -> Any:
    if value is None:
        return "A" * 22 if field.type_str == "uuid" else None
    if field.is_struct_array():
        return [as_plain(element, field, version) for element in value]
    if isinstance(field, StructField):
        return as_plain(value, field, version)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, UUID):
        return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
    return value


def renamed(fields: Any) -> Any:
    """Kafka's JSON with our names: snake_case, and two fields that have another name here."""
    if isinstance(fields, list):
        return [renamed(element) for element in fields]
    if isinstance(fields, dict):
        other: dict[str, str] = {"isKRaftController": "isKraftController", "type": "requestType"}
        return {
            re.sub("(?=[A-Z])", "_", other.get(str(name), str(name))).lower(): renamed(value)
            for name, value in fields.items()
        }
    return fields
