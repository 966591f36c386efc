"""Znodes at which a starting broker or a migration stops; `tests/stock/test_restarts.py` tries stock brokers."""

import pytest

from kafka_reassign_rpc.core.restarts import table
from kafka_reassign_rpc.core.restarts.table import Ending
from kafka_reassign_rpc.preflight import restart_findings as znodes

CONFIG = b'{"version":1,"config":{%s}}'


@pytest.mark.parametrize(
    ("path", "data", "endings"),
    [
        ("/config/users/a", b"", []),
        ("/config/users/a", b"{", [table.CONFIG_JSON]),
        ("/config/brokers/1", b"[]", [table.CONFIG_JSON]),
        ("/config/topics/t", CONFIG % b'"retention.ms":7', [table.CONFIG_TEXTS]),
        ("/config/users/a", CONFIG % b'"producer_byte_rate":null', [table.CONFIG_TEXTS]),
        ("/config/topics/t", b'{"config":{"retention.ms":"abc"}}', [table.TOPIC_VALUES]),
        ("/config/brokers/none", b"{", [table.BROKER_NAMES]),
        ("/config/brokers/ 1 ", b"", []),
        ("/config/brokers/<default>", b"", []),
        ("/config/users/a/clients/50%", b"", [table.CLIENT_NAMES]),
        ("/config/users/50%/clients/a", b"", [table.CLIENT_NAMES]),
        ("/config/ips/10.0.0.1", CONFIG % b'"connection_creation_rate":"x"', [table.QUOTAS]),
    ],
)
def test_hm_1_configs_are_judged_as_brokers_decode_them(path: str, data: bytes, endings: list[Ending]) -> None:
    assert [one.ending for one in znodes.config_troubles(path, data)] == endings


def test_hm_1_what_may_stay_of_configs_is_reported() -> None:
    data = CONFIG % b'"producer_byte_rate":"x","request_percentage":"5","consumer_byte_rate":"y"'
    stays = [one.stays for one in znodes.config_troubles("/config/users/a", data)]
    assert stays == [{"request_percentage": "5"}] * 2


@pytest.mark.parametrize(
    ("data", "ending"),
    [
        (b'{"version":2,"status":1,"features":{}}', None),
        (b'{"version":1,"status":0,"features":{"x":{"min_version_level":1,"max_version_level":1}}}', None),
        (b'{"version":2,"status":1,"features":{"kraft.version":{"max_version_level":1}}}', table.FEATURE_LEVELS),
        (b'{"version":2,"status":1,"features":{"x":{"max_version_level":0}}}', table.FEATURES),
        (b'{"version":1,"status":1,"features":{"x":{"max_version_level":1}}}', table.FEATURES),
        (b'{"version":3,"status":1,"features":{}}', table.FEATURES),
        (b'{"version":2,"status":7,"features":{}}', table.FEATURES),
        (b'{"version":2,"status":1}', table.FEATURES),
        (b"", table.FEATURES),
    ],
)
def test_hm_1_features_are_judged_as_brokers_decode_them(data: bytes, ending: Ending | None) -> None:
    found = znodes.feature_trouble(data)
    assert (None if found is None else found.ending) is ending


@pytest.mark.parametrize(
    ("data", "wrong"),
    [(None, True), (b"", True), (b"{", True), (b'{"id":5}', True), (b'{"version":"1"}', True), (b'{"id":"c"}', False)],
)
def test_hm_1_a_cluster_id_is_one_that_a_broker_can_read(data: bytes | None, wrong: bool) -> None:
    assert (znodes.cluster_id_trouble(data) is not None) == wrong


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("config_change_0000000001", False), ("note", True), ("config_change_", True), ("config_change_x", True)],
)
def test_hm_1_an_announcement_without_a_number_is_named(name: str, wrong: bool) -> None:
    assert (znodes.change_trouble("/config/changes", name) is not None) == wrong
