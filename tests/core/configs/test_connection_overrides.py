"""max.connections.per.ip.overrides, as KafkaConfig reads it."""

import pytest

from kafka_reassign_rpc.core.configs.config_definitions import ConfigValueError
from kafka_reassign_rpc.core.configs.config_rules import connection_overrides
from tests.tables import for_each


@for_each(
    "text, found",
    [
        ("", {}),
        ("  ", {}),
        ("a:1", {"a": 1}),
        (" a : 1 ,\tb:-2 ", {"a": 1, "b": -2}),
        ("::1:5", {"::1": 5}),
        (":5", {"": 5}),
        ("a:2147483647,b:-2147483648", {"a": 2**31 - 1, "b": -(2**31)}),
        ("a:1,a:2", {"a": 2}),
    ],
)
def test_hm_1_limits_of_connections_are_read_by_the_last_colon(text: str, found: dict[str, int]) -> None:
    assert connection_overrides(text) == found


@for_each(
    "text, why",
    [
        ("a", "begin 0, end -1, length 1"),
        ("a:1,bc", "begin 0, end -1, length 2"),
        ("a:1,", "begin 0, end -1, length 0"),
        ("a:", 'For input string: ""'),
        ("a:x", 'For input string: "x"'),
        ("a:2147483648", 'For input string: "2147483648"'),
        ("a:-2147483649", 'For input string: "-2147483649"'),
    ],
)
def test_hm_1_limits_of_connections_that_no_broker_can_read_are_refused_with_the_brokers_words(
    text: str, why: str
) -> None:
    with pytest.raises(ConfigValueError, match=why):
        connection_overrides(text)
