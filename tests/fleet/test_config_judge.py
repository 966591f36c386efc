"""What a broker says to cluster-wide configs. `tests/mixed_clusters/test_cluster_defaults.py` asks stock ones."""

import pytest

from kafka_reassign_rpc.core.configs.config_definitions import ConfigValueError
from kafka_reassign_rpc.core.configs.config_rules import judge_reconfiguration
from tests.tables import for_each

PART = (
    "Invalid value org.apache.kafka.common.config.ConfigException: {} for configuration Invalid dynamic configuration"
)
THREADS = "Dynamic thread count update validation failed for"
REFUSED: dict[str, dict[str, str]] = {
    "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1": {
        "log.retention.ms": "0"
    },
    "requirement failed: log.roll.ms must be greater than or equal to 1": {"log.roll.ms": "0"},
    "requirement failed: log.roll.jitter.ms must be greater than or equal to 0": {"log.roll.jitter.ms": "-1"},
    "requirement failed: max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is"
    " set.": {"max.connections.per.ip": "0"},
    "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.": {
        "log.cleaner.dedupe.buffer.size": "1048576"
    },
    "/ by zero": {"log.cleaner.threads": "0"},
    PART.format("Invalid max.connections 0"): {"max.connections": "0"},
    PART.format(f"{THREADS} num.io.threads=1000, value should not be greater than double the current value 8"): {
        "num.io.threads": "1000"
    },
    PART.format(f"{THREADS} num.network.threads=7, value should not be greater than double the current value 3"): {
        "num.network.threads": "7"
    },
    PART.format(f"{THREADS} num.replica.fetchers=0, value should be at least 1"): {"num.replica.fetchers": "0"},
    PART.format("Log cleaner threads cannot be increased to more than double the current value 1"): {
        "log.cleaner.threads": "3"
    },
    PART.format(
        "Invalid value 6 for configuration log.local.retention.bytes: Value must not be more than log.retention.bytes"
        " property value: 5"
    ): {"log.retention.bytes": "5", "log.local.retention.bytes": "6"},
    PART.format(
        "Invalid value -1 for configuration log.local.retention.ms: Value must not be -1 as log.retention.ms value is"
        " set as 604800000."
    ): {"log.local.retention.ms": "-1"},
}


@for_each(("text", "wanted"), REFUSED.items())
def test_hm_1_a_simulated_broker_refuses_in_the_words_of_a_stock_one(text: str, wanted: dict[str, str]) -> None:
    with pytest.raises(ConfigValueError) as refused:
        judge_reconfiguration({}, {}, {}, wanted, "plaintext")
    assert str(refused.value) == text


def test_hm_1_a_broker_that_cannot_apply_what_is_set_refuses_every_change_but_the_one_that_cures() -> None:
    standing = {"log.local.retention.ms": "999999999999", "log.segment.bytes": "2000"}
    with pytest.raises(ConfigValueError):
        judge_reconfiguration({}, standing, {}, {**standing, "log.flush.interval.ms": "5"}, "plaintext")
    judge_reconfiguration({}, standing, {}, {"log.segment.bytes": "2000"}, "plaintext")


def test_hm_1_threads_are_compared_with_those_that_run_now() -> None:
    judge_reconfiguration({"num.io.threads": "2"}, {"num.io.threads": "4"}, {}, {"num.io.threads": "8"}, "plaintext")
    with pytest.raises(ConfigValueError):
        judge_reconfiguration({"num.io.threads": "2"}, {}, {}, {"num.io.threads": "8"}, "plaintext")
    judge_reconfiguration({}, {}, {"num.io.threads": "8"}, {"num.io.threads": "1000"}, "plaintext")
