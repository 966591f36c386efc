"""Which versions brokers know: by what 3.9 and 4.1 announced (golden frames), by the schemas in the jar of 2.8.2.

What a server announces in ApiVersions, from its own versions and those of the live brokers.
"""

import json
import re
import zipfile
from pathlib import Path

import pytest

from kafka_reassign_rpc.protocol.frame_codec import decode_response
from kafka_reassign_rpc.protocol.messages import REQUESTS, ApiVersionsResponse, MetadataRequest
from kafka_reassign_rpc.protocol.versions import (
    FIRST_VENDOR_KEY,
    OF_NEWEST_BROKER,
    OF_OLDEST_BROKER,
    SUPPORTED,
    ApiKey,
    Versions,
    announced_versions,
    common_version,
)
from tests import tiers
from tests.stock.jars import jars, require
from tests.tables import for_each

HERE = Path(__file__).parent
OLDEST = "2.8.2"
HIGHEST_OF_OLDEST = HERE / "versions-2.8.2.json"
"""By API key. `pytest --record tests/protocol/test_versions.py` writes it from the jar."""
_SCHEMA = re.compile(r"common/message/\w+Request\.json")


def announced(broker: str) -> dict[int, tuple[int, int]]:
    """The lowest and highest version of each API in the golden answer of a broker."""
    rows = json.loads((HERE / "golden" / "18-ApiVersions-v4.json").read_text())
    [answer] = [row["hex"] for row in rows if row["from"] == f"broker {broker}" and row["direction"] == "response"]
    _, body = decode_response(ApiVersionsResponse, bytes.fromhex(answer), version=4)
    return {one.api_key: (one.min_version, one.max_version) for one in body.api_keys}


def shared_with(stock: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    known = {key: found for key, found in SUPPORTED.items() if key in stock}
    return {key: (max(low, stock[key][0]), min(high, stock[key][1])) for key, (low, high) in known.items()}


def test_sv_9_the_newest_broker_in_zookeeper_mode_is_one_of_kafka_3_9() -> None:
    assert shared_with(announced("3.9.1")) == OF_NEWEST_BROKER


def test_sv_9_the_oldest_supported_broker_is_one_of_kafka_2_8() -> None:
    highest = json.loads(HIGHEST_OF_OLDEST.read_text())
    assert shared_with({int(key): (0, high) for key, high in highest.items()}) == OF_OLDEST_BROKER


def test_sv_9_beyond_3_9_the_codec_knows_the_highest_versions_of_4_1_of_what_tools_ask() -> None:
    of_4_1, of_3_9 = announced("4.1.0 (KRaft)"), announced("3.9.1")
    assert {key: found for key, found in SUPPORTED.items() if key in of_4_1 and found != of_3_9.get(key)} == {
        key: (0, of_4_1[key][1])
        for key in (
            ApiKey.METADATA,
            ApiKey.ALTER_PARTITION_REASSIGNMENTS,
            ApiKey.DESCRIBE_QUORUM,
            ApiKey.DESCRIBE_CLUSTER,
            ApiKey.LIST_CONFIG_RESOURCES,
            ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        )
    }


def test_sv_9_each_key_of_kafka_4_1_has_a_name_and_each_request_that_of_its_class() -> None:
    assert list(ApiKey) == list(range(93)), "Kafka has left out none"
    for key, cls in REQUESTS.items():
        if key < FIRST_VENDOR_KEY:
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__.removesuffix("Request"))
            assert ApiKey(key).name == words.upper()


@for_each(
    "low, high, highest, common",
    [
        (0, 12, None, 12),  # both know 0 … 13, or less
        (0, 20, None, 13),
        (0, 20, 9, 9),
        (13, 20, None, 13),
        (14, 20, None, -1),
        (9, 20, 9, 9),
        (10, 20, 9, -1),
        (0, 0, None, 0),
    ],
)
def test_sv_9_the_highest_version_that_both_sides_and_the_caller_know(
    low: int, high: int, highest: int | None, common: int
) -> None:
    assert common_version(MetadataRequest, {ApiKey.METADATA: (low, high)}, highest) == common


def test_sv_9_there_is_no_common_version_of_an_api_that_a_node_does_not_have() -> None:
    assert common_version(MetadataRequest, {ApiKey.FETCH: (0, 17)}) == -1


@pytest.mark.stock
def test_sv_9_the_recorded_versions_of_2_8_are_those_of_the_schemas_in_its_jar() -> None:
    require(OLDEST)
    found = highest_of_stock_broker()
    if tiers.records():
        HIGHEST_OF_OLDEST.write_text(json.dumps(found) + "\n")
    assert {int(key): high for key, high in json.loads(HIGHEST_OF_OLDEST.read_text()).items()} == found


def highest_of_stock_broker() -> dict[int, int]:
    """The highest version of each API that a stock broker in ZooKeeper mode serves; the lowest is always 0."""
    found = {}
    with zipfile.ZipFile(jars(OLDEST) / f"kafka-clients-{OLDEST}.jar") as jar:
        for name in filter(_SCHEMA.fullmatch, jar.namelist()):
            text = jar.read(name).decode()
            key, versions = (_field(text, field) for field in ("apiKey", "validVersions"))
            if '"zkBroker"' in text:
                lowest, _, highest = versions.partition("-")
                assert lowest == "0"
                found[int(key)] = int(highest or lowest)
    return dict(sorted(found.items()))


def _field(schema: str, name: str) -> str:
    found = re.search(rf'"{name}": *"?([\w-]+)', schema)
    assert found, name
    return found[1]


OWN: Versions = {1: (0, 13), 2: (2, 5), 3: (0, 1), 9: (0, 4)}


@for_each(
    ("brokers", "announced"),
    [
        ([], OWN),
        ([OWN, OWN], OWN),
        ([{1: (0, 12), 2: (2, 5), 3: (0, 1)}], {1: (0, 12), 2: (2, 5), 3: (0, 1), 9: (0, 4)}),
        ([{1: (0, 99), 2: (0, 99), 3: (0, 99), 4: (0, 7)}], OWN),
        ([{1: (0, 12), 2: (3, 9)}, {1: (1, 11), 2: (0, 4), 3: (0, 1)}], {1: (1, 11), 2: (3, 4), 9: (0, 4)}),
        ([{1: (0, 12), 2: (6, 9)}], {1: (0, 12), 9: (0, 4)}),
        ([{1: (0, 4), 3: (0, 1)}, {1: (5, 13), 3: (0, 1)}], {3: (0, 1), 9: (0, 4)}),
        ([{}], {9: (0, 4)}),
    ],
    ids=[
        "no brokers",
        "brokers like us",
        "one highest version is lower",
        "brokers that know more",
        "the least of several, and the highest minimum",
        "no common version, and an API that it lacks",
        "two brokers without a common version",
        "a broker that knows nothing",
    ],
)  # fmt: skip
def test_sv_9_clients_are_promised_what_every_broker_knows_and_in_full_what_only_servers_get(
    brokers: list[Versions], announced: Versions
) -> None:
    assert announced_versions(OWN, brokers, {9}) == announced
    assert list(announced_versions(OWN, brokers, {9})) == list(announced), "in the order of the keys"
