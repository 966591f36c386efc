"""Sizes and durations with units in the options of the pipeline's commands and of fleet."""

import argparse
from collections.abc import Callable
from typing import Any

import pytest

from kafka_reassign_rpc.cli import fleet_command
from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.cli.value_parsers import byte_count, byte_rate, milliseconds, seconds
from tests.tables import for_each


@for_each(
    ("parse", "given", "value"),
    [
        (byte_count(1), "50MB", 50_000_000),
        (byte_count(1), "500 MiB", 500 << 20),
        (byte_count(1), "1.5GB", 1_500_000_000),
        (byte_count(1), "7", 7),
        (byte_count(1), 7, 7),
        (byte_count(-1), "-1", -1),
        (byte_rate(0), "0", 0),
        (byte_rate(0), "999B", 999),
        (byte_rate(0), "1000", 1000),
        (byte_rate(0), 40_000_000, 40_000_000),
        (milliseconds(1), "20s", 20_000),
        (milliseconds(1), "20", 20),
        (seconds(1), "20s", 20),
        (seconds(1), "20", 20),
        (seconds(1), "5 min", 300),
        (seconds(1), "2000ms", 2),
    ],
)
def test_dp_3_sizes_and_durations_may_have_units(parse: Callable[[Any], int], given: Any, value: int) -> None:
    assert parse(given) == value


@pytest.mark.parametrize(
    ("parse", "given", "why"),
    [
        (byte_count(1), "20s", "expected a whole number, got '20s'; with a unit: 50MB, 500MiB"),
        (byte_count(1), "0MB", "expected a whole number from 1 to 9223372036854775807, got 0; with a unit"),
        (byte_count(1), "9999999PB", "expected a whole number from 1 to"),
        (byte_count(1), "0.5B", "expected a whole number, got '0.5B'"),
        (byte_rate(0), "999", "999 asks for a unit: 999MB per second, or 999B if that is meant"),
        (byte_rate(0), " 05 ", "05 asks for a unit"),
        (byte_rate(0), "-1", "expected a whole number from 0 to"),
        (milliseconds(1), "50MB", "expected a whole number, got '50MB'; with a unit: 20s, 5min"),
        (seconds(1), "1500ms", "expected a whole number, got '1500ms'; with a unit: 20s, 5min"),
        (seconds(1), "-20", "expected a whole number from 1 to"),
    ],
)
def test_dp_3_a_wrong_size_or_duration_is_named_with_an_example(
    parse: Callable[[Any], int], given: str, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        parse(given)


def test_sv_1_fleet_takes_sizes_and_durations_with_units() -> None:
    parser = argparse.ArgumentParser()
    fleet_command.add_arguments(parser)
    given = ["--zookeeper-connect", "z:1", "--broker-ids", "1", "--bandwidth", "50MB", "--disk", "2TiB"]
    given += ["--topic", "t:1:1:500kB", "--topic", "u:1:1:64K", "--session-timeout-ms", "20s"]
    config = fleet_command.configuration(parser.parse_args(given))
    assert (config.bandwidth, config.disk, config.session_timeout_ms) == (50_000_000, 2 << 40, 20_000)
    assert [topic.size for topic in config.topics] == [500_000, 64 << 10]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (
            "plan heal --snapshot s --out o --bandwidth fast",
            "--bandwidth: expected a whole number, got [hidden]; with a",
        ),
        (
            "plan rebalance --snapshot s --out o --max-bytes 20s",
            "--max-bytes: expected a whole number, got '20s'; with",
        ),
        (
            "plan heal --snapshot s --out o --max-bytes-per-broker 0GB",
            "--max-bytes-per-broker: expected a whole number",
        ),
        ("export --bootstrap-server b:1 --out o --watch 50MB", "--watch: expected a whole number, got '50MB'; with a"),
        (
            "submit --plan p --bootstrap-server b:1 --throttle 20s",
            "--throttle: expected a whole number, got '20s'; with",
        ),
        ("submit --plan p --bootstrap-server b:1 --throttle 5", "--throttle: 5 asks for a unit: 5MB per second"),
        ("plan drain --brokers 1 --snapshot s --out o --throttle 40", "--throttle: 40 asks for a unit"),
        ("plan heal --snapshot s --out o --bandwidth 125", "--bandwidth: 125 asks for a unit"),
        ("submit --plan p --bootstrap-server b:1 --max-moves 0", "--max-moves: expected a whole number from 1 to"),
    ],
)
def test_dp_3_commands_of_the_pipeline_name_the_flag_of_a_wrong_value(
    command: str, why: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["kafka-reassign-rpc", *command.split()])
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(main())
    assert ended.value.code == 2
    assert why in capsys.readouterr().err
