"""Mistakes in what SASL needs end `serve` with one line that names the setting, and shows no secret."""

from pathlib import Path

import pytest

from tests.cli.test_listener_settings import ZK, properties_file, refusal

SECRET = "s3cr3t-word"
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
LISTENER = {"listeners": "A://127.0.0.1:0", "listener.security.protocol.map": "A:SASL_PLAINTEXT"}
PLAIN = {"sasl.enabled.mechanisms": "PLAIN"}
TOKENS = {"sasl.enabled.mechanisms": "OAUTHBEARER"}
JAAS = "listener.name.a.plain.sasl.jaas.config"
JWKS = "sasl.oauthbearer.jwks.endpoint.url"


@pytest.mark.parametrize("command", ["serve", "check"])
@pytest.mark.parametrize(
    ("properties", "saying"),
    [
        ({}, "listener.name.a.gssapi.sasl.jaas.config: GSSAPI needs"),
        (PLAIN, f"{JAAS}: PLAIN has no users"),
        (PLAIN | {JAAS: f'{MODULE} required user_a="{SECRET}"'}, f"{JAAS} is no login configuration: it lacks a ';'"),
        (PLAIN | {JAAS: f'x.Y required user_a="{SECRET}";'}, f"{JAAS}: expected {MODULE}, got [hidden]"),
        (TOKENS, f"{JWKS}: OAUTHBEARER needs the keys"),
        (TOKENS | {JWKS: "file:///none/keys"}, f"{JWKS}: no keys: no such file or directory"),
        (TOKENS | {JWKS: f"http://u:{SECRET}@127.0.0.1:1/k?x={SECRET}"}, f"{JWKS}: no keys: "),
        (PLAIN | {"sasl.server.callback.handler.class": "x.Y"}, "sasl.server.callback.handler.class: this server"),
    ],
)
def test_sv_5_a_mistake_in_sasl_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], properties: dict[str, str], saying: str, command: str
) -> None:
    path = properties_file(tmp_path / "k.properties", LISTENER | properties)
    line = refusal(capsys, command, *ZK, "--kafka-config", path, "--kafka-config-listeners", "true")
    assert saying in line
    assert SECRET not in line


def test_sv_5_a_users_file_that_is_none_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = properties_file(tmp_path / "k.properties", LISTENER | PLAIN)
    users = tmp_path / "users"
    own = ("--sasl-plain-users-file", str(users))
    arguments = ("serve", *ZK, "--kafka-config", path, "--kafka-config-listeners", "true", *own)
    assert f"sasl.plain.users.file: {users}: no such file" in refusal(capsys, *arguments)
    users.write_text(f'alice = "{SECRET}"')
    line = refusal(capsys, *arguments)
    assert f"sasl.plain.users.file: {users}: user 1 of the file: expected salt=" in line
    assert SECRET not in line
