"""Requests of the two vendor APIs, and what their answers tell."""

from typing import Any

import msgspec

from kafka_reassign_rpc.protocol.messages import AskDocumentRequest, DoCommandRequest


def wanted(document: str, **given: object) -> AskDocumentRequest:
    return AskDocumentRequest(version=0, document=document, body=msgspec.json.encode(given))


def order(command: str, **given: object) -> DoCommandRequest:
    return DoCommandRequest(version=0, command=command, body=msgspec.json.encode(given))


def told(answer: Any) -> Any:
    """Of an answer without an error."""
    assert answer.error_code == 0, answer.error_message
    return msgspec.json.decode(answer.body)
