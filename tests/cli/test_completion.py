"""`kafka-reassign-rpc --version` and `--completion`."""

import re
import subprocess
from importlib.metadata import version

import pytest

from kafka_reassign_rpc.cli.main import EXTRA_OF_COMMAND, main


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    return capsys.readouterr().out


def words_after(script: str, line: str) -> set[str]:
    """What the shell offers for the last word of the line."""
    program = (
        f"{script}\nCOMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1))\n"
        f'_shtab_kafka_reassign_rpc; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return {*done.stdout.split()}


def test_sv_1_the_command_tells_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "--version") == f"kafka-reassign-rpc {version('kafka-reassign-rpc')}\n"


def test_sv_1_the_shell_completes_commands_options_and_values(capsys: pytest.CaptureFixture[str]) -> None:
    script = printed(capsys, "--completion", "bash")
    for line, expected in (
        ("kafka-reassign-rpc ''", {*EXTRA_OF_COMMAND}),
        ("kafka-reassign-rpc --", {"--help", "--version", "--completion"}),
        ("kafka-reassign-rpc se", {"serve"}),
        ("kafka-reassign-rpc serve --controller-t", {"--controller-takeover"}),
        ("kafka-reassign-rpc serve --controller-takeover ''", {"never", "vacant", "always"}),
        ("kafka-reassign-rpc serve --config /nowhere", set()),
        ("kafka-reassign-rpc serve --ssl-keystore-type P", {"PEM", "PKCS12"}),
        ("kafka-reassign-rpc --completion z", {"zsh"}),
        ("kafka-reassign-rpc plan dr", {"drain"}),
        ("kafka-reassign-rpc zookeeper --po", {"--port"}),
    ):
        found = words_after(script, line)
        assert found >= expected, line
        assert expected or not found, line


def test_sv_1_behind_a_goal_of_plan_the_shell_completes_the_flags_of_that_goal_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = printed(capsys, "--completion", "bash")

    def completed(line: str) -> set[str]:
        return words_after(script, line)

    of_brokers = {"--brokers", "--broker-bandwidth", "--broker-weights"}
    found = completed("kafka-reassign-rpc plan drain --br")
    limits = {one for one in found if one.startswith("--broker-max-")}
    assert {"--broker-max-bytes", "--broker-max-bytes-in"} <= limits
    assert found - limits == of_brokers
    assert not completed("kafka-reassign-rpc plan drain --replication-f")
    assert completed("kafka-reassign-rpc plan set-rf --replication-f") == {"--replication-factor"}
    assert completed("kafka-reassign-rpc plan drain") == {"drain"}


def test_sv_1_zsh_and_fish_lead_to_the_flags_of_a_goal_and_to_the_values_of_a_flag(
    capsys: pytest.CaptureFixture[str],
) -> None:
    zsh = printed(capsys, "--completion", "zsh")
    assert zsh.startswith("#compdef kafka-reassign-rpc\n")
    [goal] = re.findall(r"_shtab_kafka_reassign_rpc_plan_drain_options=\((.*?)\n\)", zsh, re.DOTALL)
    assert '"--brokers[' in goal
    assert '"--replication-factor[' not in goal
    assert re.search(r'"--status-page\[[^"]*:\(off counts full\)"', zsh)
    fish = printed(capsys, "--completion", "fish").splitlines()
    drain = "complete -c kafka-reassign-rpc -n '_shtab_kafka_reassign_rpc_using plan drain'"
    assert [line for line in fish if line.startswith(f"{drain} -l brokers -x -d ")]
    assert not [line for line in fish if line.startswith(f"{drain} -l replication-factor")]
    pages = [line for line in fish if "_using serve' -l status-page " in line]
    assert [' -xka "off counts full" ' in line for line in pages] == [True]


def test_sv_1_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--completion", "ksh"])
    assert ended.value.code == 2
    assert "expected one of bash, zsh, fish, tcsh, got [hidden]" in capsys.readouterr().err
