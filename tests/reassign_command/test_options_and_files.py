"""Parsers of command lines, JSON files and properties files.

test_same_as_stock_tool compares the messages about wrong input with those of the stock tool.
"""

import contextlib
import io
import re
import shlex
import ssl
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.client import Replica, TopicPartition, client_configs, load_properties
from kafka_reassign_rpc.reassign_command import action_context
from kafka_reassign_rpc.reassign_command.action_context import Output, check_addresses
from kafka_reassign_rpc.reassign_command.action_execute import expected_replicas
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed, UnreadableCommandLine
from kafka_reassign_rpc.reassign_command.main import COMMANDS, EXAMPLES, GROUPS, help_text, main, parse_command
from kafka_reassign_rpc.reassign_command.options import OPTIONS, chosen_action, parse
from kafka_reassign_rpc.reassign_command.reassignment_json import (
    format_assignment,
    parse_brokers,
    parse_executable_reassignment,
    parse_reassignment,
    set_order,
)
from kafka_reassign_rpc.security.properties import OF_CLIENTS, BadSetting, meant_by, parse_properties
from tests.python_client.scripted_nodes import ScriptedCluster, ScriptedNode, addresses, listening
from tests.reassign_command.run_command import kafka_reassign
from tests.tables import for_each

SERVER = ("--bootstrap-server", "h:1")


def test_236_12_values_come_after_a_space_or_an_equals_sign() -> None:
    found = parse(["--throttle=5", "--broker-list", "1,2", "word", "--list=x", "-", "--", "--verify"])
    assert (found.number("throttle"), found.value("broker-list"), found.number("timeout")) == (5, "1,2", 10_000)
    assert list(found.values) == ["throttle", "broker-list", "list"]


def test_236_12_an_optional_value_is_not_taken_from_the_next_option() -> None:
    assert parse(["--expect-current", "--json"]).value("expect-current") is None
    assert parse(["--expect-current", "file"]).value("expect-current") == "file"
    assert parse(["--expect-current"]).has("expect-current")


@pytest.mark.parametrize("text", ["", "1k", "--5", "1.5", str(2**63), "٣"])
def test_236_12_a_number_of_64_bits_and_nothing_else_is_a_number(text: str) -> None:
    with pytest.raises(CommandFailed, match="Cannot parse argument"):
        parse([f"--throttle={text}"] if text else ["--throttle", ""]).number("throttle")


@pytest.mark.parametrize(
    ("option", "text", "number"),
    [
        ("throttle", "50MB", 50_000_000),
        ("throttle", "500 MiB", 500 * 2**20),
        ("throttle", "-1", -1),
        ("replica-alter-log-dirs-throttle", "1.5GB", 1_500_000_000),
        ("timeout", "20s", 20_000),
        ("timeout", "20000", 20_000),
    ],
)
def test_236_12_sizes_and_durations_may_have_a_unit(option: str, text: str, number: int) -> None:
    assert parse([f"--{option}", text]).number(option) == number


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--nope"], "nope is not a recognized option"),
        (["-nope"], "n is not a recognized option"),
        (["--throttle"], "Option throttle requires an argument"),
    ],
)
def test_236_12_what_cannot_be_read_is_named(arguments: list[str], problem: str) -> None:
    with pytest.raises(UnreadableCommandLine, match=problem):
        parse(arguments)


@for_each(
    ("option", "hint"),
    [("--reasn", " (is --reason meant?)"), ("--status", " (kafka-reassign status is a command)"), ("--nope", "")],
)
def test_236_12_the_last_line_names_what_an_unknown_option_may_mean(option: str, hint: str) -> None:
    """The first line is that of the stock tool."""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        assert main([*SERVER, option]) == 1
    first, *_, last = said.getvalue().splitlines()
    assert first == f"{option[2:]} is not a recognized option"
    assert last == f"kafka-reassign: {first}{hint}"


@for_each(
    "arguments",
    [
        *(["--nope"], ["--throttle"], ["--list"], [*SERVER, "--list", "--since", "1h"], [*SERVER, "--execute"]),
        *([word, "--nope"] for word in COMMANDS),
        *([word, *SERVER] for word in ("hold", "release", "throttle", "move")),
        ["settings", *SERVER, "--set", "x"],
        ["heal", *SERVER, "--brokers", "3"],
    ],
)
def test_236_12_a_wrong_command_line_ends_with_what_is_wrong_and_has_a_short_usage(arguments: list[str]) -> None:
    """Scripts read it in the first line, too, where the stock tool has the options."""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        assert main(arguments) == 1
    lines = said.getvalue().splitlines()
    program = "kafka-reassign" + (f" {arguments[0]}" if arguments[0] in COMMANDS else "")
    assert lines[-1].startswith(f"{program}: ")
    assert len([line for line in lines if line.startswith(f"usage: {program} ")]) == 1
    assert lines[-2].startswith(f"       {program} --help ")
    assert len(lines) <= 5
    if arguments[0] not in COMMANDS:
        assert lines[0] == lines[-1].removeprefix("kafka-reassign: ")


def test_236_12_watch_goes_with_execute_and_with_no_other_action() -> None:
    plan = ("--reassignment-json-file", "f")
    assert chosen_action(parse([*SERVER, "--execute", "--watch", *plan])) == "execute"
    with pytest.raises(UnreadableCommandLine, match="can't be used with action"):
        chosen_action(parse([*SERVER, "--verify", "--watch", *plan]))
    for action in ("cancel", "list", "disable"):
        assert chosen_action(parse([*SERVER, f"--{action}", "--json"])) == action


def test_236_12_the_help_names_every_option_in_two_columns() -> None:
    text = help_text(COMMANDS.values())
    assert all(len(line) <= 80 for line in text.splitlines())
    for option in OPTIONS:
        assert f"\n--{option.name}" in text
    for name in COMMANDS:
        assert f"\n{name} " in text


def test_236_12_the_help_has_each_option_in_one_group_and_five_examples() -> None:
    grouped = [name for _, names in GROUPS for name in names]
    assert sorted(grouped) == sorted(option.name for option in OPTIONS)
    _, *examples = EXAMPLES.splitlines()
    assert len(examples) == 5
    for example in examples:
        words = shlex.split(example)[1:]
        if parse_command([*words, *SERVER]) is None:
            chosen_action(parse([*words, *SERVER]))


@for_each(
    ("flags", "server", "config"),
    [
        ((), "env:1", "/env"),
        (("--bootstrap-server", "h:1"), "h:1", "/env"),
        (("--command-config", "/f"), "env:1", "/f"),
        (("--bootstrap-controller", "c:1"), None, "/env"),
    ],
)
def test_236_12_the_environment_has_the_defaults_of_the_connection(
    flags: tuple[str, ...], server: str | None, config: str
) -> None:
    found = parse(["--list", *flags]).with_connection("env:1", "/env")
    assert (found.value("bootstrap-server"), found.value("command-config")) == (server, config)
    assert chosen_action(found) == "list"


@pytest.mark.parametrize("word", COMMANDS)
def test_236_12_the_environment_has_the_defaults_of_commands_that_are_words(
    word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needed = {
        **{"move": ["t", "-p", "0:1"], "hold": ["--all"], "release": ["--all"], "throttle": ["0"]},
        "describe-topic": ["t"],
    }.get(word, [])
    monkeypatch.setenv("KAFKA_REASSIGN_BOOTSTRAP_SERVER", "env:1")
    monkeypatch.setenv("KAFKA_REASSIGN_COMMAND_CONFIG", "/env")
    for flags, server, config in (((), "env:1", "/env"), ((*SERVER, "--command-config", "/f"), "h:1", "/f")):
        found = parse_command([word, *needed, *flags])
        assert found is not None
        assert (found[1].bootstrap_server, found[1].command_config) == (server, config)
    with pytest.raises(SystemExit):
        parse_command([word, "--help"])
    said = capsys.readouterr().out
    assert "KAFKA_REASSIGN_BOOTSTRAP_SERVER" in said
    assert "KAFKA_REASSIGN_COMMAND_CONFIG" in said


def test_236_12_a_misspelt_variable_of_the_environment_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KAFKA_REASSIGN_BOOTSTRAP_SERVERS", "h:1")
    assert main(["--list"]) == 1
    assert "is KAFKA_REASSIGN_BOOTSTRAP_SERVER meant?" in capsys.readouterr().err


def test_236_12_a_plan_keeps_log_dirs_and_expectations_apart() -> None:
    plan = parse_reassignment(
        '{"partitions":[{"topic":"t","partition":3,"replicas":[1,2],"log_dirs":["any","/d"],"expected_replicas":[2]}]}'
    )
    assert plan.targets == {TopicPartition("t", 3): (1, 2)}
    assert plan.log_dirs == {Replica(2, "t", 3): "/d"}
    assert plan.expected == {TopicPartition("t", 3): (2,)}
    assert expected_replicas(plan, None) == plan.expected


def test_860_5_expectations_from_a_file_have_to_cover_the_plan(tmp_path: Path) -> None:
    plan = parse_reassignment('{"partitions":[{"topic":"t","partition":3,"replicas":[1,2]}]}')
    current = tmp_path / "current"
    current.write_text(
        '{"partitions":[{"topic":"t","partition":3,"replicas":[5]},{"topic":"u","partition":0,"replicas":[1]}]}'
    )
    assert expected_replicas(plan, str(current)) == {TopicPartition("t", 3): (5,)}
    current.write_text('{"partitions":[]}')
    with pytest.raises(CommandFailed, match="do not say what to expect of t-3"):
        expected_replicas(plan, str(current))


@pytest.mark.parametrize("text", ["{", "nothing", '{"version": NaN}', '{"version": Infinity}', "\0"])
def test_236_12_what_is_no_json_is_said_in_one_line(text: str) -> None:
    with pytest.raises(CommandFailed, match=r"\AThe input string is not a valid JSON: .*\Z"):
        parse_reassignment(text)


@given(st.text())
def test_236_12_no_text_does_more_than_fail(text: str) -> None:
    for read in (parse_executable_reassignment, parse_brokers):
        with contextlib.suppress(CommandFailed):
            read(text)


def test_236_12_a_list_of_brokers_ends_before_its_empty_end() -> None:
    assert parse_brokers("1,2,,") == [1, 2]
    assert parse_brokers(",") == []


def test_236_12_an_assignment_is_printed_in_the_order_of_its_partitions() -> None:
    found = format_assignment({TopicPartition("t", 10): (1,), TopicPartition("t", 9): (2, 3)})
    assert found == (
        '{"version":1,"partitions":[{"topic":"t","partition":9,"replicas":[2,3],"log_dirs":["any","any"]},'
        '{"topic":"t","partition":10,"replicas":[1],"log_dirs":["any"]}]}'
    )


def test_236_12_sets_are_printed_in_javas_order() -> None:
    """Orders as printed by java.util.HashSet of JDK 17."""
    assert set_order([1000, 6, 1, 17, 16, 2, 1]) == [16, 1, 17, 2, 6, 1000]
    assert set_order(range(20, 0, -1)) == list(range(1, 21))
    assert set_order(["orders", "payments", "clicks", "a", "ä"]) == ["a", "ä", "payments", "clicks", "orders"]


def test_236_12_properties_are_read_as_java_reads_them() -> None:
    text = "# no\n! no\n a = b \nc:d\ne f=g\nlong=one,\\\n   two\nsl\\=ash=\\u0041\\tx\\\\\nempty\nwin=C:\\\\x\n"
    assert parse_properties(text) == {
        "a": "b ",
        "c": "d",
        "e": "f=g",
        "long": "one,two",
        "sl=ash": "A\tx\\",
        "empty": "",
        "win": "C:\\x",
    }


def test_236_12_properties_with_unusual_characters_are_read_as_java_reads_them() -> None:
    assert parse_properties("\\ud83d\\ude00=\U0001f600\n") == {"\U0001f600": "\U0001f600"}
    assert parse_properties("a=b\x85c\u2028d\x0be\rf=g\r\nh=i\\") == {"a": "b\x85c\u2028d\x0be", "f": "g", "h": "i"}
    assert parse_properties("a=\\\n\n\f b\\ c  :  =d\n=e") == {"a": "", "b c": "=d", "": "e"}


@pytest.mark.parametrize("text", ["a=\\u00zz", "a=\\u41", "\\u=b"])
def test_236_12_a_malformed_unicode_escape_in_properties_is_refused_in_javas_words(text: str) -> None:
    with pytest.raises(BadSetting, match=r"\AMalformed \\uxxxx encoding\.\Z"):
        parse_properties(text)


def test_236_12_properties_become_the_clients_configuration() -> None:
    warned: list[str] = []
    jaas = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="al\\"ice" password=secret;'
    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": jaas,
        "request.timeout.ms": "5",
        "unheard.topic": "x",
    }
    found = client_configs("a:1,b:2", properties, warned.append)
    assert found["bootstrap_servers"] == ["a:1", "b:2"]
    assert (found["sasl_plain_username"], found["sasl_plain_password"]) == ('al"ice', "secret")
    assert (found["security_protocol"], found["request_timeout_ms"]) == ("SASL_PLAINTEXT", 5)
    assert warned == ["The configuration 'unheard.topic' was supplied but isn't a known config."]


def test_sv_5_every_slip_of_a_security_setting_of_a_client_is_found_and_no_name_of_kafka_is_one() -> None:
    """A letter that is missing, two that changed places, and capitals. Names of brokers and of Kafka 4 are no slips."""
    for name in OF_CLIENTS:
        for at in range(len(name)):
            slips = {name[:at] + name[at + 1 :], name[:at] + name[at : at + 2][::-1] + name[at + 2 :], name.upper()}
            assert all(meant_by(slip, OF_CLIENTS) for slip in slips)
    others = (
        "sasl.server.callback.handler.class",
        "sasl.enabled.mechanisms",
        "sasl.mechanism.inter.broker.protocol",
        "security.inter.broker.protocol",
        "ssl.client.auth",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.assertion.claim.iss",
        "sasl.oauthbearer.jwt.retriever.class",
    )
    warned: list[str] = []
    client_configs("a:1", dict.fromkeys(others, "x"), warned.append)
    assert len(warned) == len(others)


def test_236_12_tls_is_checked_unless_the_operator_says_otherwise() -> None:
    found = client_configs("a:1", {"security.protocol": "SSL"}, print)
    assert found["ssl_context"].verify_mode is ssl.CERT_REQUIRED
    assert found["ssl_check_hostname"] is True
    trusting = {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": ""}
    assert client_configs("a:1", trusting, print)["ssl_check_hostname"] is False


@for_each(
    ("properties", "problem"),
    [
        ({"request.timeout.ms": "soon"}, r"Invalid value \[hidden\] for configuration request\.timeout\.ms"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, r"sasl\.jaas\.config"),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": "garbage"},
            r"sasl\.jaas\.config",
        ),
        ({"security.protcol": "SASL_SSL"}, r"security\.protcol: no client knows it; is security\.protocol meant\?"),
        ({"Security.Protocol": "SSL"}, r"is security\.protocol meant\?"),
        ({"security.protocol": "SSL", "ssl.truststore.locatoin": "/x"}, r"is ssl\.truststore\.location meant\?"),
        ({"security.protocol": "TLS"}, r"security\.protocol: expected one of PLAINTEXT, SSL"),
        (
            {"security.protocol": "SSL", "ssl.truststore.location": "/nope", "ssl.truststore.type": "PEM"},
            r"ssl\.truststore\.location: cannot read /nope: No such file",
        ),
    ],
)
def test_236_12_a_wrong_property_is_named(properties: dict[str, str], problem: str) -> None:
    with pytest.raises(BadSetting, match=problem):
        client_configs("a:1", properties, print)


def test_236_12_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="nope"):
        load_properties(str(tmp_path / "nope"))
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"\xff\xfe")
    with pytest.raises(BadSetting, match="not UTF-8"):
        load_properties(str(garbage))


@pytest.mark.parametrize("address", ["", "host", "host:", "host:x", "host:70000", "a b:1"])
def test_236_12_what_is_no_address_is_refused_at_once(address: str) -> None:
    why = r"(Invalid (url|port) in bootstrap\.servers: .* \(expected HOST:PORT\)|No resolvable bootstrap urls .*)"
    with pytest.raises(CommandFailed, match=rf"^Failed to create new KafkaAdminClient: {why}$"):
        check_addresses(address)


def test_236_12_one_address_that_can_be_resolved_is_enough() -> None:
    check_addresses("no-such-host.invalid:1,127.0.0.1:1,[::1]:1")
    with pytest.raises(CommandFailed, match="No resolvable bootstrap urls"):
        check_addresses("no-such-host.invalid:1")


def test_236_12_a_cluster_that_does_not_answer_is_named_long_before_the_command_gives_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    is_said = threading.Event()

    def say(text: str) -> None:
        said.append(text)
        is_said.set()

    def connects(**_: object) -> None:
        assert is_said.wait(60)
        raise ValueError("nobody")

    monkeypatch.setattr(action_context, "SLOW_S", 0.0)
    monkeypatch.setattr(action_context, "say", say)
    monkeypatch.setattr(action_context, "ReassignmentClient", connects)
    context = action_context.ActionContext(
        parse(["--bootstrap-server", "127.0.0.1:1", "--list"]), Output(io.StringIO(), as_json=False)
    )
    with pytest.raises(CommandFailed, match="nobody"):
        _ = context.client
    assert said == ["127.0.0.1:1 does not answer yet, trying on"]


@pytest.mark.parametrize("command", [["--list"], ["status"], ["settings"], ["hold", "--all"]])
async def test_hm_1_every_command_says_on_standard_error_for_what_it_waits_and_until_when(
    command: list[str], tmp_path: Path
) -> None:
    cluster, config = ScriptedCluster(), tmp_path / "client.properties"
    cluster.controller = -1
    config.write_text("request.timeout.ms=4000\n")
    async with listening(ScriptedNode(cluster, 1)) as node:
        at = ("--bootstrap-server", addresses([node])[0], "--command-config", str(config))
        ended = await kafka_reassign(*command, *at)
    assert ended.code == 1
    assert re.match(r"No answer yet, trying on until \d\d:\d\d:\d\d: The cluster has no controller", ended.err), ended
