"""Random configs of topics, judged by Kafka's own LogConfig in a JVM, and read by what a broker runs at its start."""

import base64
import random
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from kafka_reassign_rpc.core.configs.config_definitions import TOPIC_CONFIGS, ConfigValueError, show, topic_default
from kafka_reassign_rpc.core.configs.config_layers import ASKED, BrokerAnswer, ConfigLayers, LiveBrokers, live_brokers
from kafka_reassign_rpc.core.configs.config_rules import validate_topic_configs
from kafka_reassign_rpc.core.restarts import table
from kafka_reassign_rpc.core.restarts.ending_values import topic_trouble
from tests.core.configs.random_topic_configs import random_broker, random_configs
from tests.jvm import QUICK
from tests.stock.jars import classpath

pytestmark = pytest.mark.gate
CASES = 8_000
BROKERS = 200
Configs = Mapping[str, str]


def packed(configs: Configs) -> str:
    return ",".join(base64.b64encode(f"{name}={value}".encode()).decode() for name, value in configs.items())


def unpacked(text: str) -> str:
    return base64.b64decode(text).decode()


def of_broker(static: Configs) -> LiveBrokers:
    """What is known of one broker of 3.9 with this configuration."""
    protocol = static.get("inter.broker.protocol.version", "3.9-IV0")
    return live_brokers({1: BrokerAnswer(frozenset(ASKED), static, protocol)}, {}, {})


def judged_here(configs: Configs, static: Configs) -> tuple[str | None, Configs]:
    """The reason of a refusal, or None; and what is stored."""
    try:
        return None, validate_topic_configs(configs, of_broker(static))
    except ConfigValueError as error:
        return str(error), configs


def judged_by_kafka(cases: Sequence[tuple[Configs, Configs, Configs]], directory: Path) -> list[str]:
    source = Path(__file__).with_name("JudgeTopicConfigs.java")
    path = classpath("3.9.1")
    subprocess.run(["javac", "--release", "17", "-cp", path, "-d", str(directory), str(source)], check=True)
    lines = ["\t".join(map(packed, case)) for case in cases]
    answers = subprocess.run(
        ["java", *QUICK, "-Dlog4j.configuration=none", "-cp", f"{directory}:{path}", "JudgeTopicConfigs"],
        input="".join(f"{line}\n" for line in lines).encode(),
        capture_output=True,
        check=True,
    ).stdout.decode()
    return answers.splitlines()


def test_hm_1_random_topic_configs_are_accepted_exactly_where_kafkas_own_classes_accept_them(tmp_path: Path) -> None:
    draw = random.Random(32)
    brokers = [random_broker(draw) for _ in range(BROKERS)]
    cases: list[tuple[Configs, Configs, Configs]] = []
    here: list[str | None] = []
    for _ in range(CASES):
        static, configs = draw.choice(brokers), random_configs(draw)
        reason, stored = judged_here(configs, static)
        cases.append((static, configs, stored))
        here.append(reason)
    seen: Counter[str] = Counter()
    for (started, wanted, _stored), reason, line in zip(cases, here, judged_by_kafka(cases, tmp_path), strict=True):
        verdict, _, values = line.partition("\t")
        where = (started, wanted, reason, verdict)
        if reason is None:
            assert verdict == "ok", (*where, "" if verdict == "ends" else unpacked(verdict))
            seen["accepted"] += 1
            in_force = dict(unpacked(one).split("=", 1) for one in values.split(","))
            assert {name: in_force_here(name, wanted, started) for name in in_force} == in_force, where
        elif "no more than 2147483647" in reason and "throttled" in reason:
            assert verdict == "ends", where
            seen["a broker would end"] += 1
        elif "no room for an entry" in reason:
            assert verdict == "ok", where  # LogConfig takes it, and no log of it can begin
        else:
            assert verdict not in ("ok", "ends"), where
            message = unpacked(verdict)
            assert message == reason or not {"nope", "Retention.ms", "log.retention.ms", ""}.isdisjoint(wanted), where
            seen[message.split(":")[-1].strip(" 0123456789-").split("(")[0][:40]] += 1
    assert seen["accepted"] > CASES // 5
    assert seen["a broker would end"] > 10
    assert len(seen) > 20, "refused for many a reason"


def in_force_here(name: str, configs: Configs, static: Configs) -> str:
    definition = TOPIC_CONFIGS[name]
    text = configs.get(name, topic_default(definition, ConfigLayers(static=static).effective()))
    return show(definition, text or "")


def test_hm_1_what_is_said_to_end_a_broker_is_what_ends_one(tmp_path: Path) -> None:
    """What any client of ZooKeeper may have written, read by a broker that starts."""
    draw = random.Random(33)
    brokers = [random_broker(draw) for _ in range(BROKERS)]
    cases: list[tuple[Configs, Configs, Configs]] = []
    while len(cases) < CASES:
        static, stored = draw.choice(brokers), random_configs(draw)
        cases.append((static, dict[str, str](), stored))
    ended = 0
    for (started, _none, written), line in zip(cases, judged_by_kafka(cases, tmp_path), strict=True):
        reason = topic_trouble(written, of_broker(started).tiered_storage)
        if line.startswith("ends"):
            ended += 1
            assert reason is not None, (started, written)
        else:
            assert reason is None or reason.ending is table.TOPIC_INDEX, (started, written, reason)
    assert CASES // 10 < ended < CASES * 9 // 10
