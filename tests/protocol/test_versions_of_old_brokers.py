"""What the oldest supported broker knows, by the schemas in the jar of Kafka 2.8.2."""

import re
import zipfile

import pytest

from kafka_reassign_rpc.protocol.versions import OF_OLDEST_BROKER, SUPPORTED
from tests.stock.jars import jars, require

VERSION = "2.8.2"
_SCHEMA = re.compile(r"common/message/\w+Request\.json")

pytestmark = pytest.mark.stock


def highest_of_stock_broker() -> dict[int, int]:
    """The highest version of each API that a stock broker in ZooKeeper mode serves; the lowest is always 0."""
    found = {}
    with zipfile.ZipFile(jars(VERSION) / f"kafka-clients-{VERSION}.jar") as jar:
        for name in filter(_SCHEMA.fullmatch, jar.namelist()):
            text = jar.read(name).decode()
            key, versions = (_field(text, field) for field in ("apiKey", "validVersions"))
            if '"zkBroker"' in text:
                lowest, _, highest = versions.partition("-")
                assert lowest == "0"
                found[int(key)] = int(highest or lowest)
    return found


def _field(schema: str, name: str) -> str:
    found = re.search(rf'"{name}": *"?([\w-]+)', schema)
    assert found, name
    return found[1]


def test_sv_9_the_oldest_supported_broker_is_one_of_kafka_2_8() -> None:
    require(VERSION)
    stock = highest_of_stock_broker()
    shared = {key: (low, min(high, stock[key])) for key, (low, high) in SUPPORTED.items() if key in stock}
    assert shared == OF_OLDEST_BROKER
