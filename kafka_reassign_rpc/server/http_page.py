"""What a server answers over HTTP, as a value."""

from typing import NamedTuple


class HttpPage(NamedTuple):
    """`content_type` as in the header."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
