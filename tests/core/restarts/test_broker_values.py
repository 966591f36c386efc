"""Configs that brokers accept and cannot live with. `tests/stock/test_restarts.py` shows what they do to stock ones."""

import pytest

from kafka_reassign_rpc.core.configs.config_definitions import BROKER_CONFIGS, TOPIC_CONFIGS
from kafka_reassign_rpc.core.restarts import table
from kafka_reassign_rpc.core.restarts.ending_values import COUNT_LATER, MAX_LAG, MIN_LAG, later_trouble
from kafka_reassign_rpc.core.restarts.table import Ending

FACTOR, BUFFER, RATE = (
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.io.buffer.size",
    "log.cleaner.io.max.bytes.per.second",
)
DEDUPE, THREADS, CLEANS = "log.cleaner.dedupe.buffer.size", "log.cleaner.threads", "log.cleaner.enable"
LEADER = "leader.replication.throttled.rate"


@pytest.mark.parametrize(
    ("new", "ending"),
    [
        ({"log.flush.interval.ms": "-1"}, table.LOG_DEFAULTS),
        ({"log.flush.scheduler.interval.ms": "-7"}, table.LOG_DEFAULTS),
        ({"log.index.size.max.bytes": "11"}, table.INDEX_ROOM),
        ({MIN_LAG: "10", MAX_LAG: "5"}, table.COMPACTION_LAGS),
        ({LEADER: " 5 "}, table.RATES),
        ({"follower.replication.throttled.rate": "5\t"}, table.RATES),
        ({"replica.alter.log.dirs.io.max.bytes.per.second": " 5"}, table.RATES),
        ({FACTOR: "0"}, table.CLEANER_MAP),
        ({FACTOR: "NaN"}, table.CLEANER_MAP),
        ({BUFFER: "1"}, table.CLEANER_BUFFER),
        ({BUFFER: "7", THREADS: "4", DEDUPE: "9000000"}, table.CLEANER_BUFFER),
        ({RATE: "0"}, table.CLEANER_RATE),
        ({RATE: "1e-300"}, table.CLEANER_RATE),
        ({"log.cleaner.backoff.ms": "0"}, table.CLEANER_PAUSE),
        ({DEDUPE: "9000000000"}, table.CLEANER_MEMORY),
        ({BUFFER: "2147483647"}, table.CLEANER_MEMORY),
        ({"metric.reporters": "org.apache.kafka.tools.PushHttpMetricsReporter"}, table.REPORTERS),
    ],
)
def test_hm_1_what_a_broker_accepts_and_cannot_live_with_is_known(new: dict[str, str], ending: Ending) -> None:
    found = later_trouble({"metric.reporters": "mine.Reporter"}, new)
    assert found is not None
    assert found.ending is ending
    assert str(found).endswith(ending.dies)
    assert new.keys() <= COUNT_LATER.keys(), "it is asked for where it changes"


@pytest.mark.parametrize(
    "new",
    [
        {},
        {"log.flush.interval.ms": "0"},
        {"log.flush.interval.ms": "5", "log.flush.scheduler.interval.ms": "-7"},
        {"log.index.size.max.bytes": "12"},
        {LEADER: "+5"},
        {BUFFER: "2"},
        {RATE: "1"},
        {RATE: "-1"},
        {DEDUPE: "9000000"},
        {FACTOR: "0", CLEANS: "false"},
        {BUFFER: "0", CLEANS: "false"},
        {RATE: "0", CLEANS: "false"},
        {"log.cleaner.backoff.ms": "0", CLEANS: "false"},
        {DEDUPE: "9000000000", CLEANS: "false"},
        {"metric.reporters": "org.apache.kafka.common.metrics.JmxReporter"},
        {"metric.reporters": "mine.Reporter"},
    ],
)
def test_hm_1_what_a_broker_lives_with_is_not_held_against_it(new: dict[str, str]) -> None:
    assert later_trouble({"metric.reporters": "mine.Reporter"}, new) is None


def test_hm_1_buffers_that_a_broker_has_already_may_stay_and_no_others_may_grow() -> None:
    large = {DEDUPE: "3000000000"}
    assert later_trouble(large, large) is None
    assert later_trouble(large, {DEDUPE: "2000000000"}) is None
    assert later_trouble(large, {DEDUPE: "3000000001"}) is not None


def test_hm_1_every_default_of_topics_that_brokers_take_and_topics_may_not_have_is_judged() -> None:
    """From Kafka's own tables of both: a new one of a later release is found."""
    looser = {
        name
        for one in TOPIC_CONFIGS.values()
        if one.synonym and (name := one.synonym) and one.min is not None and BROKER_CONFIGS[name].min is None
    }
    assert looser == {"log.roll.ms", "log.roll.jitter.ms", "log.flush.interval.ms", "log.retention.ms"}
    assert looser <= COUNT_LATER.keys()
