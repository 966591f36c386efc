"""`kafka-reassign-rpc --version` and `--completion`."""

import subprocess
from importlib.metadata import version

import pytest

from kafka_reassign_rpc.cli.extras import EXTRA_OF_COMMAND
from kafka_reassign_rpc.cli.main import main


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    return capsys.readouterr().out


def words_after(script: str, line: str) -> set[str]:
    """What the shell offers for the last word of the line."""
    program = (
        f"{script}\nCOMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1))\n"
        f'_kafka_reassign_rpc; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return {*done.stdout.split()}


def test_sv_1_the_command_tells_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "--version") == f"kafka-reassign-rpc {version('kafka-reassign-rpc')}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_sv_1_the_shell_completes_commands_options_and_values(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = printed(capsys, "--completion", shell)
    if shell == "zsh":  # the same script, with bash's completion for zsh
        head, _, script = script.partition("\n")
        assert head == "autoload -U +X bashcompinit && bashcompinit"
    for line, expected in (
        ("kafka-reassign-rpc ''", {*EXTRA_OF_COMMAND, "--help", "--version", "--completion"}),
        ("kafka-reassign-rpc se", {"serve"}),
        ("kafka-reassign-rpc serve --controller-t", {"--controller-takeover"}),
        ("kafka-reassign-rpc serve --controller-takeover ''", {"never", "vacant", "always"}),
        ("kafka-reassign-rpc serve --config ''", set()),
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

    assert completed("kafka-reassign-rpc plan drain --br") == {"--brokers", "--broker-bandwidth", "--broker-weights"}
    assert not completed("kafka-reassign-rpc plan drain --replication-f")
    assert completed("kafka-reassign-rpc plan set-rf --replication-f") == {"--replication-factor"}
    assert completed("kafka-reassign-rpc plan drain") == {"drain"}


def test_sv_1_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--completion", "fish"])
    assert ended.value.code == 2
    assert "expected one of bash, zsh, got [hidden]" in capsys.readouterr().err
