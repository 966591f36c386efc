"""The catalogue of the server's settings: the text of each setting is complete and true."""

import argparse
import re
from pathlib import Path

import pytest

from kafka_reassign_rpc.api.config_entries import refuse_in_defaults
from kafka_reassign_rpc.cli import serve_command
from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import Setting, add_flags, read_settings
from kafka_reassign_rpc.core.configs.config_definitions import ConfigValueError
from kafka_reassign_rpc.core.leadership.elections import default_allows_unclean
from kafka_reassign_rpc.core.reassignment_algebra import min_insync_replicas
from kafka_reassign_rpc.core.settings.healing_settings import HealingThrottle
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from tests.tables import for_each

NAMES = [setting.name for setting in SETTINGS]


def cluster_with(name: str, value: str) -> Cluster:
    return Cluster(broker_configs={"<default>": {name: value}})


def takes_precedence(name: str, value: str) -> bool:
    """Whether a dynamic config of the whole cluster changes the value that the server applies."""
    cluster, unset = cluster_with(name, value), Cluster()
    return (
        cluster.soft.in_force != unset.soft.in_force
        or default_allows_unclean(cluster) != default_allows_unclean(unset)
        or min_insync_replicas(cluster, "t") != min_insync_replicas(unset, "t")
    )


def test_sv_1_each_setting_is_in_the_catalogue_once() -> None:
    assert len(set(NAMES)) == len(NAMES)


@for_each("setting", SETTINGS, ids=NAMES)
def test_sv_1_a_setting_is_dynamic_exactly_where_the_clusters_config_takes_precedence(
    setting: Setting,
) -> None:
    assert setting.dynamic == any(takes_precedence(setting.name, value) for value in ("7", "true", "false"))


@for_each("setting", SETTINGS, ids=NAMES)
def test_sv_1_the_default_of_a_setting_is_words_or_a_value_that_its_own_parser_accepts(setting: Setting) -> None:
    assert not any(code in setting.default_text for code in ("None", "True", "False", "(", "="))
    if not setting.default_words and setting.default is not None:
        assert setting.parse(setting.default_text) == setting.default


@for_each("setting", SETTINGS, ids=NAMES)
def test_sv_1_the_help_of_a_setting_is_sentences_that_name_the_unit_and_minus_one(setting: Setting) -> None:
    assert setting.help[0].isupper()
    assert setting.help.endswith(".")
    assert setting.group
    if setting.name.endswith(".ms"):
        assert "illiseconds" in setting.help
    if setting.name.endswith((".bytes", ".bytes.in.flight")):
        assert "ytes" in setting.help
    if setting.default_text == "-1":
        assert "-1: " in setting.help


def test_sv_1_the_help_of_serve_says_which_dynamic_settings_the_defaults_of_brokers_take() -> None:
    """Those of servers they refuse: stock tools would take them for secrets."""
    [line] = [one for one in serve_command.DESCRIPTION.splitlines() if "are Kafka's own: --entity-default" in one]
    for name in (setting.name for setting in SETTINGS if setting.dynamic):
        try:
            refuse_in_defaults({name: "5"}, {}, 1000)
        except ConfigValueError:
            assert name not in line
        else:
            assert name in line


def test_sv_1_the_help_of_serve_shows_every_setting_with_its_default(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")  # no line is wrapped
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--help"])
    assert ended.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert not re.search(r" object at 0x|<(class|function|bound)", shown)
    for setting in SETTINGS:
        if setting.secret or not setting.has_flag:
            assert setting.flag not in shown
            continue
        value = f"[{setting.value_word}]" if setting.is_switch else setting.value_word
        assert f"{setting.flag} {value} " in shown
        assert setting.value_word != "VALUE", "a word says what the value is"
        assert f"(default: {setting.default_text}{'; dynamic' * setting.dynamic})" in shown


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("zookeeper.session.timeout.ms", "20s", 20_000),
        ("zookeeper.session.timeout.ms", "20000", 20_000),
        ("failure.interval.ms", "5 min", 300_000),
        ("failure.interval.ms", "-1", -1),
        ("leader.imbalance.check.interval.seconds", "5min", 300),
        ("leader.imbalance.check.interval.seconds", "300", 300),
        ("socket.request.max.bytes", "100MiB", 100 * 2**20),
        ("partition.reassignments.max.bytes.in.flight", "1.5TB", 1_500_000_000_000),
        ("self.healing.throttle", "50MB", HealingThrottle(50_000_000)),
    ],
)
def test_sv_1_sizes_and_durations_may_have_a_unit_as_flags_and_in_the_file(
    name: str, text: str, value: object, tmp_path: Path
) -> None:
    file = tmp_path / "server.toml"
    file.write_text(f'"{name}" = "{text}"\n')
    for arguments in ([f"--{name.replace('.', '-')}={text}"], ["--config", str(file)]):
        parser = argparse.ArgumentParser()
        add_flags(parser, SETTINGS)
        assert read_settings(parser.parse_args(arguments), SETTINGS)[name] == value


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--failure-interval-ms", "50MB"], "got '50MB'; with a unit: 20s, 5min"),
        (["--socket-request-max-bytes", "20s"], "got '20s'; with a unit: 50MB, 500MiB"),
        (["--leader-imbalance-check-interval-seconds", "1.5s"], "whole number"),
        (["--broker-id", "20s"], "--broker-id: expected a whole number, got '20s'"),
        (["--self-healing-throttle", "20s"], "bytes per second"),
    ],
)
def test_sv_1_a_unit_that_does_not_fit_is_refused_with_what_would(arguments: list[str], why: str) -> None:
    parser = argparse.ArgumentParser()
    add_flags(parser, SETTINGS)
    with pytest.raises(UsageError) as refused:
        read_settings(parser.parse_args(arguments), SETTINGS)
    assert why in str(refused.value)
