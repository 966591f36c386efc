"""Message bodies written by Kafka's own classes, 3.9.1 and 4.1.0, to compare our codec with.

`kafka_bodies.jsonl` has one for each API, version and direction that the codec reads; for messages whose schemas are
ours also the fields as Kafka names them. `python -m tests.protocol.kafka_bodies` writes it anew.
"""

import json
import subprocess
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kafka_reassign_rpc.protocol.messages import REQUESTS, RESPONSES, Message
from kafka_reassign_rpc.protocol.versions import SUPPORTED
from tests.jvm import QUICK
from tests.stock.jars import TOOL_VERSIONS, jars

_FILE = Path(__file__).with_name("kafka_bodies.jsonl")
_WRITER = Path(__file__).with_name("WriteBodies.java")


@dataclass(frozen=True)
class Body:
    """`by` is the version of Kafka that wrote it; `fields` is None for messages whose schema is kafka-python's."""

    key: int
    version: int
    direction: str
    by: str
    hex: str
    fields: Any

    @property
    def cls(self) -> Any:
        return (REQUESTS if self.direction == "request" else RESPONSES)[self.key]

    @property
    def data(self) -> bytes:
        return bytes.fromhex(self.hex)

    def __str__(self) -> str:
        return f"{self.cls.__name__}-v{self.version}-{self.by}"


@cache
def load() -> tuple[Body, ...]:
    return tuple(Body(**json.loads(line)) for line in _FILE.read_text().splitlines())


def write_with_kafka() -> tuple[Body, ...]:
    """Has Kafka write them now. Needs Java and Kafka's jars."""
    found: dict[tuple[int, int, str, str], Body] = {}
    for release in TOOL_VERSIONS:
        command = ["java", *QUICK, "-cp", f"{jars(release)}/*", str(_WRITER)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for line in output.splitlines():
            key, version, direction, data, fields = line.split("\t")
            low, high = SUPPORTED.get(int(key), (0, -1))
            if low <= int(version) <= high:
                cls = (REQUESTS if direction == "request" else RESPONSES)[int(key)]
                ours = issubclass(cls, Message)
                body = Body(int(key), int(version), direction, release, data, json.loads(fields) if ours else None)
                found.setdefault((body.key, body.version, direction, data), body)
    return tuple(found[name] for name in sorted(found))


def main() -> None:
    _FILE.write_text("".join(json.dumps(asdict(body), separators=(",", ":")) + "\n" for body in write_with_kafka()))


if __name__ == "__main__":
    main()
