"""A wrong flag or setting gives one clear line and exit code 2; every command explains itself with --help."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli import fleet_command, plan_command, serve_command, zookeeper_command
from kafka_reassign_rpc.cli.long_running import check_level
from kafka_reassign_rpc.cli.main import COMMANDS, main

Refused = Callable[..., None]


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kafka_reassign_rpc.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=cwd,
    )


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Check that arguments give exit code 2 and one line with the reason, and that the command starts nothing."""

    def started(*_: object, **__: object) -> int:
        pytest.fail("it was not refused")

    def set_up_logging(level: str, _: str) -> None:
        check_level(level)

    for module in (serve_command, fleet_command, zookeeper_command):
        monkeypatch.setattr(module, "run_until_signalled", started)
        monkeypatch.setattr(module, "set_up_logging", set_up_logging)

    def check(*arguments: str, saying: str) -> None:
        try:
            code: object = main(arguments)
        except SystemExit as end:  # argparse
            code = end.code
        said = capsys.readouterr()
        assert code == 2
        assert said.out == ""
        *usage, last = said.err.strip().splitlines()
        assert last.startswith("kafka-reassign-rpc")
        assert saying in last
        assert [one[:7] for one in usage] in ([], ["usage: ", " " * 7])

    return check


ANY = ("--zookeeper-connect", "127.0.0.1:1")
FLEET = ("fleet", *ANY, "--broker-ids", "1")
IN_KRAFT = ("--bootstrap-server", "127.0.0.1:1")
KRAFT = ("serve", "--bootstrap-server", "127.0.0.1:1")
TWO = "PLAINTEXT://127.0.0.1:9192,SSL://127.0.0.1:9193"
PLAN = ("plan", "rebalance", "--snapshot", "s", "--out", "o")


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        ((), "COMMAND"),
        (("fly",), "argument COMMAND: expected one of serve, "),
        (("serve", "--fly"), "--fly"),
        (("serve", "--listeners", "nowhere"), "--listeners: expected NAME://HOST:PORT"),
        (("serve", "--listeners", "PLAINTEXT://127.0.0.1:70000"), "--listeners"),
        (("serve", "--listeners", "PLAINTEXT://127.0.0.1:x"), "--listeners"),
        (("serve", "--listeners", "PLAINTEXT://127.0.0.1:²"), "--listeners: expected NAME://HOST:PORT"),
        (("serve", "--listeners", f"PLAINTEXT://127.0.0.1:{'9' * 5000}"), "--listeners: expected NAME://HOST:PORT"),
        (("serve", "--metrics-listener", "127.0.0.1:²"), "expected HOST:PORT"),
        (("serve", "--listeners", "NOISE://127.0.0.1:0"), "--listeners: listener.security.protocol.map does not say"),
        (("serve", "--listeners", "PLAINTEXT://a:1,PLAINTEXT://b:2"), "--listeners: a listener's name is there twice"),
        (("serve", "--advertised-listeners", "PLAINTEXT://a:1,PLAINTEXT://b:2"), "--advertised-listeners"),
        (
            ("serve", "--authorizer-class-name", "kafka.security.auth.SimpleAclAuthorizer"),
            "--authorizer-class-name: expected kafka.security.authorizer.AclAuthorizer or nothing, not"
            " kafka.security.auth.SimpleAclAuthorizer: Kafka 3.0 removed it",
        ),
        (("serve", "--authorizer-class-name", "com.example.Mine"), "this server runs no Java classes"),
        (
            ("serve", "--authorizer-class-name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
            "its ACLs are in KRaft",
        ),
        (("serve", "--super-users", "alice,bob"), "--super-users: needs principals such as User:alice"),
        (("serve", "--allow-everyone-if-no-acl-found", "maybe"), "--allow-everyone-if-no-acl-found: expected true"),
        (("serve", "--broker-id", "-2"), "--broker-id"),
        (("serve", "--broker-id", "one"), "--broker-id: expected a whole number, got [hidden]"),
        (("serve", "--broker-id", "2147483648"), "--broker-id"),
        (("serve", "--broker-id", "3"), "--broker-id: 3 is one of the simulated brokers"),
        (("serve", "--zookeeper-session-timeout-ms", "1"), "--zookeeper-session-timeout-ms: expected a whole number"),
        (("serve", "--zookeeper-connect", ""), "--zookeeper-connect"),
        (("serve", "--zookeeper-connect", "127.0.0.1:notaport"), "--zookeeper-connect"),
        (("serve", "--zookeeper-connect", "127.0.0.1:99999"), "--zookeeper-connect"),
        (("serve", "--zookeeper-connect", "a:1/x,b:1/x"), "--zookeeper-connect"),
        (("serve", "--max-connections", "-1"), "--max-connections: expected a whole number from 0"),
        (("serve", "--max-connections-per-ip-overrides", "here:5"), "expected IP:CONNECTIONS, got [hidden]"),
        (("serve", "--max-connections-per-ip-overrides", "10.0.0.1"), "expected IP:CONNECTIONS, got [hidden]"),
        (("serve", "--max-connections-per-ip-overrides", "10.0.0.1:-1"), "--max-connections-per-ip-overrides"),
        (("serve", "--slow-client-timeout-ms", "0"), "--slow-client-timeout-ms: expected a whole number from 1"),
        (
            ("serve", "--failure-interval-ms", "soon"),
            "--failure-interval-ms: expected a whole number from -1 to 100000000000000, got [hidden]",
        ),
        (("serve", "--failure-interval-ms", "-2"), "--failure-interval-ms: expected a whole number from -1 to"),
        (("serve", "--failure-interval-ms", str(2**62)), "--failure-interval-ms: expected a whole number from -1 to"),
        (("serve", "--self-healing-max-failed-percentage", "101"), "--self-healing-max-failed-percentage"),
        (("serve", "--controller-takeover", "maybe"), "--controller-takeover: expected one of never, vacant, always"),
        (("serve", "--controller-takeover", "never"), "--controller-takeover: the simulated cluster has no other"),
        (("check",), "--zookeeper-connect is needed"),
        (("check", *ANY, "--timeout-ms", "soon"), "--timeout-ms: expected a whole number, got [hidden]"),
        (("check", *ANY, "--timeout-ms", "0"), "--timeout-ms: expected a whole number from 1 to"),
        (("check", *ANY, "--broker-id", "x"), "--broker-id: expected a whole number"),
        (("check", *ANY, "--advertised-listeners", "PLAINTEXT://a:1,PLAINTEXT://b:2"), "--advertised-listeners"),
        (("check", *IN_KRAFT, "--for-kraft"), "--for-kraft and --without ask about a cluster in ZooKeeper mode"),
        (("check", *ANY, *IN_KRAFT), "a cluster is in one mode, so give one of them"),
        (("status",), "--zookeeper-connect is needed, or --bootstrap-server for a cluster in KRaft mode"),
        (("status", *ANY, *IN_KRAFT), "a cluster is in one mode, so give one of them"),
        (("leave",), "--zookeeper-connect is needed, or --bootstrap-server for a cluster in KRaft mode"),
        (("leave", *ANY, "--delete-topic"), "--delete-topic: a cluster in ZooKeeper mode has no topic of ours"),
        (("leave", *IN_KRAFT, "--state-log-lead-ms", "5"), "--state-log-lead-ms: expected a whole number from 1000"),
        (("serve", "--own-cluster", "redpanda"), "--own-cluster: expected one of zookeeper, kraft"),
        (("serve", *ANY, "--own-cluster", "kraft"), "--own-cluster: it is for a server that is given no cluster"),
        (("serve", "--own-cluster", "kraft", "--broker-id", "3"), "--broker-id: 3 is one of the brokers"),
        (("serve", *ANY, "--import", "left.json"), "import is for a cluster in KRaft mode"),
        (("check", *ANY, "--timout-mz", "5"), "unrecognized arguments: --timout-mz 5 (is --timeout-ms meant?)"),
        (("status", "--zookeeper-connect", "h:port"), "--zookeeper-connect: "),
        (("status", *ANY, "--timeout-ms", "1.5"), "--timeout-ms: expected a whole number"),
        (("serve", "--socket-request-max-bytes", "1"), "--socket-request-max-bytes"),
        (("serve", "--log-level", "LOUD"), "--log-level: expected one of DEBUG, INFO, WARNING, ERROR"),
        (("serve", "--log-format", "xml"), "--log-format: expected one of text, json, got [hidden]"),
        (("serve", "--metrics-listener", "nowhere"), "--metrics-listener: expected HOST:PORT, got [hidden]"),
        (("serve", "--metrics-listener", "127.0.0.1:70000"), "--metrics-listener: expected HOST:PORT"),
        (("serve", "--metrics-listener", ""), "--metrics-listener"),
        (("serve", "--event-log-file-bytes", "100"), "--event-log-file-bytes: expected a whole number from 65536"),
        (("serve", "--event-log-group-read", "yes"), "--event-log-group-read: expected true or false, got [hidden]"),
        (("serve", "--event-log-files", "1"), "--event-log-files: expected a whole number from 2"),
        (("serve", "--loop", "infinite"), "--loop: expected one of auto, uvloop, asyncio"),
        (("serve", "--self-healing-throttle", "half"), "--self-healing-throttle: expected a whole number of bytes per"),
        (("serve", "--config", "/nowhere.toml"), "--config: cannot read /nowhere.toml: No such file"),
        (("fleet",), "--zookeeper-connect"),
        (("fleet", *ANY), "--broker-ids"),
        (("fleet", *ANY, "--broker-ids", "1,x"), "--broker-ids: expected a whole number, got [hidden]"),
        (("fleet", *ANY, "--broker-ids", "-1"), "--broker-ids"),
        (("fleet", *ANY, "--broker-ids", ""), "--broker-ids"),
        (("fleet", *ANY, "--broker-ids", "1,1"), "--broker-ids: 1,1 names a broker twice"),
        (("fleet", *ANY, "--broker-ids", "2147483648"), "--broker-ids"),
        (("fleet", "--zookeeper-connect", "h:p", "--broker-ids", "1"), "--zookeeper-connect"),
        ((*FLEET, "--bandwidth", "0"), "--bandwidth"),
        ((*PLAN, "--bandwidth", "0"), "--bandwidth: expected a whole number from 1 to 9223372036854775807, got 0"),
        ((*PLAN, "--broker-bandwidth", "4"), "--broker-bandwidth: expected a broker and its bandwidth"),
        ((*PLAN, "--broker-bandwidth", "4=0"), "--broker-bandwidth"),
        ((*PLAN, "--broker-bandwidth", "x=5MB"), "--broker-bandwidth"),
        ((*PLAN, "--broker-max-bytes", "4"), "--broker-max-bytes: expected a broker and its limit, as 4=2TB"),
        ((*PLAN, "--broker-max-bytes", "4=-1"), "--broker-max-bytes"),
        ((*PLAN, "--broker-max-replicas", "all=many"), "--broker-max-replicas"),
        ((*PLAN, "--broker-max-leaders", "any=3"), "--broker-max-leaders"),
        ((*PLAN, "--broker-max-bytes-in", "4=1"), "--broker-max-bytes-in"),
        ((*PLAN, "--throttle", "0"), "--throttle"),
        ((*KRAFT, *ANY), "a server serves one cluster, in either mode"),
        (("serve", *ANY, "--front-nodes", "ports"), "front.nodes is for a cluster in KRaft mode"),
        (("serve", *ANY, "--command-config", "f"), "command.config is for a cluster in KRaft mode"),
        ((*KRAFT, "--front-nodes", "some"), "--front-nodes"),
        ((*KRAFT, "--front-nodes", "ports", "--listeners", "PLAINTEXT://127.0.0.1:0"), "the listener needs a port"),
        ((*KRAFT, "--front-nodes", "names", "--listeners", "PLAINTEXT://front:9192"), "only with TLS a client says"),
        ((*KRAFT, "--front-nodes", "names", "--listeners", "SSL://10.0.0.7:9192"), "10.0.0.7 cannot be HOST"),
        ((*KRAFT, "--front-nodes", "names", "--listeners", "SSL://front.:9192"), "front. cannot be HOST"),
        ((*KRAFT, "--front-nodes", "names", "--listeners", "SSL://a..b:9192"), "a..b cannot be HOST"),
        ((*KRAFT, "--front-nodes", "names", "--listeners", "SSL://my_front:9192"), "my_front cannot be HOST"),
        ((*KRAFT, "--listeners", "PLAINTEXT://0.0.0.0:9192"), "--listeners: PLAINTEXT would be advertised at 0.0.0.0"),
        ((*KRAFT, "--listeners", TWO), "--listeners: in front of KRaft a server has one listener, not 2"),
        ((*KRAFT, "--listeners", "SASL_PLAINTEXT://127.0.0.1:9192"), "both have SASL or neither"),
        ((*KRAFT, "--command-config", "/no/such/file"), "--command-config: Unable to read file"),
        ((*KRAFT, "--state-log-lead-ms", "10"), "--state-log-lead-ms"),
        (("serve", "--bootstrap-server", "nonsense:port:"), "bootstrap.servers"),
        ((*FLEET, "--bandwidth", "fast"), "--bandwidth"),
        ((*FLEET, "--rack", "2:a"), "--rack: broker 2 is not one of 1"),
        ((*FLEET, "--topic", "t:1:1"), "--topic: [hidden] is not NAME:PARTITIONS:RF:BYTES"),
        ((*FLEET, "--topic", "t:0:1:5"), "--topic"),
        ((*FLEET, "--topic", "bad name:1:1:5"), "--topic"),
        ((*FLEET, "--log-dirs", "0"), "--log-dirs"),
        ((*FLEET, "--replica-lag-time-max-ms", "0"), "--replica-lag-time-max-ms"),
        ((*FLEET, "--session-timeout-ms", "-5"), "--session-timeout-ms"),
        ((*FLEET, "--log-level", "LOUD"), "--log-level"),
        ((*FLEET, "--log-format", "xml"), "--log-format"),
        (("zookeeper", "--port", "70000"), "--port: expected 0 to 65535, got 70000"),
        (("zookeeper", "--port", "x"), "--port"),
        (("zookeeper", "--log-level", "LOUD"), "--log-level"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_sv_1_a_wrong_flag_is_one_clear_line_and_exit_code_2(
    refused: Refused, arguments: tuple[str, ...], saying: str
) -> None:
    refused(*arguments, saying=saying)


@pytest.mark.parametrize(
    ("text", "saying"),
    [
        ("no toml at all [", "is not TOML"),
        ('"broker.identity" = 1', "unknown setting broker.identity"),
        ('"broker.id" = "x"', "broker.id: expected a whole number, got [hidden]"),
        ("[broker]\nid = true", "broker.id: expected a whole number"),
        ('listeners = ["PLAINTEXT://h:1"]', "listeners: expected text"),
        ('"event.log.dir" = 1', "event.log.dir: expected text, got 1"),
        ('"auto.leader.rebalance.enable" = 1', "auto.leader.rebalance.enable: expected true or false"),
    ],
)
def test_sv_1_a_wrong_configuration_file_is_one_clear_line_and_exit_code_2(
    refused: Refused, tmp_path: Path, text: str, saying: str
) -> None:
    file = tmp_path / "server.toml"
    file.write_text(text)

    refused("serve", "--config", str(file), saying=saying)


def test_sv_1_a_configuration_file_that_is_no_text_is_refused(refused: Refused, tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_bytes(bytes(range(256)))

    refused("serve", "--config", str(file), saying="is not TOML")


def test_sv_1_a_flag_wins_over_the_file_and_the_file_over_the_default(refused: Refused, tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text('"broker.id" = "x"\n"log.level" = "LOUD"\n')

    refused("serve", "--config", str(file), "--broker-id", "7", saying="log.level: expected one of")


@pytest.mark.parametrize("command", ["plan drain" if command == "plan" else command for command in COMMANDS])
def test_sv_1_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--help"])

    assert ended.value.code == 0
    said = capsys.readouterr()
    assert "ready " in said.out or "exit codes: " in said.out, "the help says how a user sees that it works, or is done"
    assert "(default: " in said.out
    assert "not there yet" not in said.out, "a help says what a release can do"
    assert said.err == ""


def test_dp_6_plans_are_made_on_spark_on_this_machine_unless_asked_otherwise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for command in ("plan heal", "plan verify", "audit", "history"):
        with pytest.raises(SystemExit):
            main([*command.split(), "--help"])
        said = " ".join(capsys.readouterr().out.split())
        assert "the Spark master (default: local[*], this machine" in said
        assert "none: without Spark and Java, in this process" in said


@pytest.mark.parametrize("goal", ["heal", "drain", "expand", "rebalance", "set-rf", "racks", "combine", "verify"])
def test_dp_2_the_help_of_a_goal_has_an_example_of_its_own_that_can_be_run(
    goal: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit):
        main(["plan", goal, "--help"])
    [example] = re.findall(r"^example: +kafka-reassign-rpc (plan .*)$", capsys.readouterr().out, re.MULTILINE)
    words = shlex.split(example)
    assert words[1] == goal
    taken: list[object] = []

    def take(*asked: object) -> int:
        taken.append(asked)
        return 0

    for name in ("_plan", "_verify"):
        monkeypatch.setattr(plan_command, name, take)
    assert main(words) == 0
    assert len(taken) == 1


@pytest.mark.parametrize("command", ["", *("plan drain" if command == "plan" else command for command in COMMANDS)])
def test_sv_1_a_wrong_word_ends_with_what_is_wrong_behind_a_short_usage_of_its_command(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--nope"])
    assert ended.value.code == 2
    program = f"kafka-reassign-rpc {command}".rstrip()
    usage, hint, last = capsys.readouterr().err.splitlines()
    assert usage.startswith(f"usage: {program} ")
    assert hint.split() == [*program.split(), "--help", "explains", "all"]
    assert last.startswith(f"{program}: error: ")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["export", "--out", "o"], "Invalid port in bootstrap.servers: h:99999 (expected HOST:PORT)"),
        (["submit", "--plan", "p"], "p: no such directory"),
        (["watch"], "Invalid port in bootstrap.servers: h:99999 (expected HOST:PORT)"),
        (["log"], "Invalid port in bootstrap.servers: h:99999 (expected HOST:PORT)"),
    ],
)
def test_sv_1_the_environment_has_the_default_of_the_cluster(
    words: list[str], problem: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([words[0], "--help"])
    assert "KAFKA_REASSIGN_BOOTSTRAP_SERVER" in capsys.readouterr().out
    monkeypatch.setenv("KAFKA_REASSIGN_BOOTSTRAP_SERVER", "h:99999")
    assert main(words) == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(problem)


def test_kr_5_wrong_flags_of_log_are_refused(refused: Refused) -> None:
    at = ("log", "--bootstrap-server", "127.0.0.1:1")
    for text in ("-1", "x", "", "1e3", "9" * 30):
        refused(*at, f"--from={text}", saying="--from: expected an offset, start or end")
    refused(*at, "--from", "end", saying="nothing is there yet, so it needs --follow")
    refused("log", saying="--bootstrap-server")
    refused(*at, "--command-config", "/nowhere", saying="/nowhere")


def test_sv_1_the_help_names_every_command() -> None:
    ended = run("--help")  # as a process, as a user starts it

    assert ended.returncode == 0
    for command in COMMANDS:
        assert command in ended.stdout
