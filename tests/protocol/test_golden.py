"""Frames that stock Kafka sent and received, 3.9.1 and 4.1.0: read and written again, they are the same bytes."""

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.protocol import messages
from kafka_reassign_rpc.protocol.frame_codec import (
    answer_header,
    decode_body_in_parts,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from tests.tables import for_each

DIRECTORY = Path(__file__).with_name("golden")
FRAMES: list[Any] = [
    pytest.param(frame, id=f"{file.stem}-{frame['direction']}-{index}")
    for file in sorted(DIRECTORY.glob("*.json"))
    for index, frame in enumerate(json.loads(file.read_text()))
]


@for_each("frame", FRAMES)
def test_sv_2_a_frame_of_stock_kafka_is_read_and_written_identically(frame: dict[str, Any]) -> None:
    data = bytes.fromhex(frame["hex"])
    if frame["direction"] == "request":
        request = decode_request(data)
        header = request.header
        assert (header.api_key, header.api_version) == (frame["key"], frame["version"])
        written = encode_request(
            request.body,
            version=header.api_version,
            correlation_id=header.correlation_id,
            client_id=header.client_id,
        )
    else:
        cls = getattr(messages, frame["api"] + "Response")
        correlation_id, body = decode_response(cls, data, version=frame["version"])
        written = encode_response(body, version=frame["version"], correlation_id=correlation_id)
    assert written[4:].hex() == frame["hex"]
    assert int.from_bytes(written[:4], "big") == len(data)


@for_each(
    "api, version",
    [
        ("AlterPartitionReassignments", 0),
        ("AlterPartitionReassignments", 1),
        ("ListPartitionReassignments", 0),
        ("LeaderAndIsr", 7),
        ("StopReplica", 4),
        ("UpdateMetadata", 8),
        ("ControlledShutdown", 3),
        ("AlterPartition", 3),
        ("AllocateProducerIds", 0),
    ],
)
@for_each("direction", ["request", "response"])
def test_sv_2_there_are_frames_of_every_message_that_matters(api: str, version: int, direction: str) -> None:
    found = {(frame["api"], frame["version"], frame["direction"]) for (frame,) in (param.values for param in FRAMES)}
    assert (api, version, direction) in found


@for_each("frame", [one for one in FRAMES if one.id.startswith("03-") and "response" in one.id])
def test_dp_1_an_answer_read_in_parts_is_the_same_and_a_cut_one_is_refused(frame: dict[str, Any]) -> None:
    data, version = bytes.fromhex(frame["hex"]), frame["version"]
    _, whole = decode_response(messages.MetadataResponse, data, version=version)
    _, start = answer_header(messages.MetadataResponse, data, version=version)
    data = data[start:]
    head, topics = decode_body_in_parts(messages.MetadataResponse, data, "topics", version=version)
    assert (head.cluster_id, head.controller_id, head.brokers) == (
        whole.cluster_id,
        whole.controller_id,
        whole.brokers,
    )
    assert list(topics) == whole.topics

    def read(cut: bytes) -> int:
        return len(list(decode_body_in_parts(messages.MetadataResponse, cut, "topics", version=version)[1]))

    behind = 4  # what is left unread behind the topics: tags, and an error code in version 13
    for length in range(len(data) - behind):
        with pytest.raises(RemoteProtocolError):
            read(data[:length])
