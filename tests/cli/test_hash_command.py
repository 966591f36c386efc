"""`kafka-reassign-rpc hash` makes the lines that PLAIN reads."""

import io

import pytest

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.security.sasl.hashed_users import HashedUsers, parse_users


def hashed(monkeypatch: pytest.MonkeyPatch, password: str, *arguments: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(password))
    return main(["hash", "--iterations", "4096", *arguments])


@pytest.mark.parametrize("user", ["alice", 'a"b\\c', "a,b=c%25ü"])
async def test_sv_5_a_line_of_hash_lets_its_user_in(
    user: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hashed(monkeypatch, "päss word\n", user) == 0
    line = capsys.readouterr().out
    assert "päss" not in line
    users = HashedUsers(parse_users(line.encode(), "file"))
    assert await users.verify(user, "päss word", "127.0.0.1")
    assert not await users.verify(user, "päss", "127.0.0.1")


@pytest.mark.parametrize(
    ("password", "arguments", "saying"),
    [
        ("", ("alice",), "the password is empty"),
        ("x", ("",), "USER: expected a name"),
        ("x", ("a\nb",), "USER: expected a name"),
        ("x", ("alice", "--iterations", "1"), "--iterations: expected 4096 to 2000000, got 1"),
    ],
)
def test_sv_5_what_cannot_be_hashed_is_one_line_and_exit_code_2(
    password: str,
    arguments: tuple[str, ...],
    saying: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert hashed(monkeypatch, password, *arguments) == 2
    said = capsys.readouterr()
    assert saying in said.err
    assert said.out == ""
