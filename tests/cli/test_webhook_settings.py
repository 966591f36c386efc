"""The settings of webhooks: a slip closes the door, nothing secret is said; and `notify`."""

import argparse
import asyncio
import ssl
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli.listener_settings import complete_listeners
from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.cli.server_settings import SETTINGS, secret_files
from kafka_reassign_rpc.cli.settings_reader import add_flags, read_settings
from kafka_reassign_rpc.cli.webhook_settings import webhook_config
from kafka_reassign_rpc.security.secret_files import readable
from tests.certificates import Authority
from tests.controller.telemetry.webhook_receivers import SECRET, is_signed, receiving, says

URL = "https://hooks.example.com/T0/private-token"


@pytest.fixture
def secret(tmp_path: Path) -> str:
    path = tmp_path / "webhook.secret"
    path.write_text(f"{SECRET}\n")
    path.chmod(0o600)
    return str(path)


@pytest.mark.parametrize(
    ("flags", "saying"),
    [
        ({}, "webhook.secret.file: webhook.urls needs it"),
        ({"secret-file": "/nowhere/secret"}, "webhook.secret.file: /nowhere/secret: no such file or directory"),
        ({"secret-file": "/"}, "webhook.secret.file: /: is a directory"),
        ({"secret-file": "short"}, "a secret of 16 to 4096 bytes is needed, it has 5"),
        ({"secret-file": "whsec_@@"}, "what follows whsec_ is not base64"),
        ({"urls": ""}, "--webhook-urls: expected text"),
        (
            {"urls": f"{URL},ftp://example.com/private-token"},
            "--webhook-urls: URL 2 of 2: expected https://HOST[:PORT]",
        ),
        ({"urls": "https://u:private-token@example.com"}, "--webhook-urls: URL 1 of 1: it has a user or a password"),
        ({"urls": "https://example.com:port/private-token"}, "--webhook-urls: URL 1 of 1: expected https://"),
        ({"urls": "https:///private-token"}, "--webhook-urls: URL 1 of 1: expected https://"),
        ({"urls": "https://example.com/#private-token"}, "--webhook-urls: URL 1 of 1: what follows # is never sent"),
        ({"urls": f"{URL},{URL}"}, "--webhook-urls: expected 1 to 10 URLs, each once"),
        ({"events": "broker.losst"}, "--webhook-events: there is no event [hidden]; there are move.started, "),
        ({"urls": ","}, "--webhook-urls: expected 1 to 10 URLs"),
        ({"events": ","}, "--webhook-events: expected"),
        ({"ca-file": "/nowhere/ca"}, "webhook.ca.file: /nowhere/ca: no such file or directory"),
        ({"ca-file": "no certificate"}, "expected certificates in PEM"),
        ({"timeout-ms": "99"}, "--webhook-timeout-ms: expected a whole number from 100 to 60000"),
        ({"max-age-ms": "0"}, "--webhook-max-age-ms: expected a whole number from 1000"),
    ],
)
@pytest.mark.parametrize("command", ["serve", "check", "watch", "notify"])
def test_dh_8_a_slip_in_the_settings_of_webhooks_ends_the_start_with_one_line_without_the_url(
    command: str,
    flags: dict[str, str],
    saying: str,
    secret: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("serve", "watch"):
        monkeypatch.setattr(f"kafka_reassign_rpc.cli.{module}_command.set_up_logging", lambda *_: None)
        monkeypatch.setattr(f"kafka_reassign_rpc.cli.{module}_command.run_until_signalled", lambda *_, **__: 0)
    given = {"urls": URL, **({"secret-file": secret} if flags else {}), **flags}
    for name in ("secret-file", "ca-file"):
        if name in flags and not flags[name].startswith("/"):
            (tmp_path / name).write_text(flags[name])
            given[name] = str(tmp_path / name)
    zookeeper = ["--zookeeper-connect", "127.0.0.1:1"]
    needed = {"serve": zookeeper, "check": zookeeper, "watch": ["--bootstrap-server", "127.0.0.1:1"]}
    arguments = [command, *needed.get(command, ()), *(f"--webhook-{name}={value}" for name, value in given.items())]
    assert main(arguments) == 2
    said = capsys.readouterr()
    [line] = said.err.strip().splitlines()
    assert saying in line
    assert "private-token" not in line


def test_dh_8_a_secret_without_a_url_ends_the_start(secret: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--zookeeper-connect", "127.0.0.1:1", "--webhook-secret-file", secret]) == 2
    assert "webhook.secret.file: it has no effect without webhook.urls" in capsys.readouterr().err


@pytest.mark.parametrize("value", ['["https://h.example/private-token", 5]', '[["https://h.example/private-token"]]'])
def test_dh_8_urls_of_a_wrong_type_are_refused_without_them(
    value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.toml"
    file.write_text(f'"webhook.urls" = {value}\n')
    assert main(["notify", "--config", str(file)]) == 2
    said = capsys.readouterr().err
    assert "webhook.urls: expected text, or a list of texts: URLs" in said
    assert "private" not in said


async def test_dh_8_notify_sends_a_signed_test_by_the_file_of_a_server_and_says_who_took_it(
    secret: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with receiving() as takes, receiving() as fails:
        fails.answer = says(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        file = tmp_path / "server.toml"
        file.write_text(
            f'"zookeeper.connect" = "127.0.0.1:1"\n"webhook.urls" = ["{takes.url}", "{fails.url}"]\n'
            f'"webhook.secret.file" = "{secret}"\n'
        )
        code = await asyncio.to_thread(main, ["notify", "--config", str(file)])
        said = capsys.readouterr().out
        assert code == 1
        assert f"OK      {takes.url.partition('/hook')[0]}: taken in" in said
        assert f"FAILED  {fails.url.partition('/hook')[0]}: the answer has status 403" in said
        assert "private" not in said
        [request] = takes.requests
        assert is_signed(request, SECRET.encode())
        assert request.events == ["webhook.test"]
        watch = tmp_path / "watch.toml"
        watch.write_text('[[cluster]]\nname = "east"\nbootstrap-server = "127.0.0.1:1"\n')
        arguments = ["notify", "--config", str(watch), "--webhook-urls", takes.url, "--webhook-secret-file", secret]
        assert await asyncio.to_thread(main, arguments) == 0


async def test_dh_8_https_trusts_the_given_authority_alone(
    secret: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ca = Authority("CN=ca")
    ca.issue("CN=hooks").pem_keystore(tmp_path / "own.pem")
    ca.pem_truststore(tmp_path / "ca.pem")
    Authority("CN=other").pem_truststore(tmp_path / "other.pem")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "own.pem")
    async with receiving(context) as receiver:
        flags = ["--webhook-urls", receiver.url, "--webhook-secret-file", secret]
        for trusted, code in (("ca.pem", 0), ("other.pem", 1), (None, 1)):
            more = [] if trusted is None else ["--webhook-ca-file", str(tmp_path / trusted)]
            assert await asyncio.to_thread(main, ["notify", *flags, *more]) == code
        said = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in said] == ["OK", "FAILED", "FAILED"]
        assert all("TLS failed: " in line for line in said[1:]), said
        assert len(receiver.requests) == 1


def test_dh_8_a_secret_that_others_may_read_and_a_url_without_tls_are_warned_of(
    secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    parser = argparse.ArgumentParser()
    add_flags(parser, SETTINGS)
    urls = "http://hooks.example.com/private-token,http://127.0.0.1:1/,https://hooks.example.com/"
    flags = ["--webhook-urls", urls, "--webhook-secret-file", secret, "--zookeeper-connect", "127.0.0.1:1"]
    values = complete_listeners(read_settings(parser.parse_args(flags), SETTINGS))
    assert readable(secret_files(values)) == []
    Path(secret).chmod(0o644)
    [found] = readable(secret_files(values))
    assert "webhook.secret.file" in str(found)
    config = webhook_config(values)
    assert config is not None
    assert SECRET not in repr(config)
    [line] = [one.getMessage() for one in caplog.records]
    assert line.startswith("webhook.urls: everybody on the way can read notifications to http://hooks.example.com: ")
