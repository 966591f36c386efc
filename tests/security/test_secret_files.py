"""Which files with secrets settings name, and whether others may read them."""

import argparse
import logging
import os
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli import serve_command
from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.cli.security_settings import SECURITY_SETTINGS
from kafka_reassign_rpc.cli.server_settings import SETTINGS, secret_files
from kafka_reassign_rpc.cli.settings_reader import read_settings
from kafka_reassign_rpc.client import load_properties
from kafka_reassign_rpc.controller.telemetry.event_log import EventLog
from kafka_reassign_rpc.preflight import check
from kafka_reassign_rpc.preflight.findings import Level
from kafka_reassign_rpc.security.secret_files import holds_secret, named_files, readable
from tests.tables import for_each

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
KRB5 = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true"
PUBLIC = {"ssl.keystore.certificate.chain", "ssl.truststore.certificates"}
PROVIDER = "org.apache.kafka.common.config.provider.FileConfigProvider"


@for_each(
    ("name", "value", "secret"),
    [
        *((one.name, "x", one.name not in PUBLIC) for one in SECURITY_SETTINGS if one.secret),
        ("password.encoder.secret", "x", True),
        ("password.encoder.iterations", "4096", False),
        ("listener.name.a.ssl.keystore.password", "x", True),
        ("ssl.keystore.password", "", False),
        ("ssl.keystore.password", "${file:/a:b}", False),
        ("ssl.keystore.password", "x${file:/a:b}", True),
        ("ssl.keystore.location", "/a", False),
        ("sasl.jaas.config", f'{PLAIN} user_a="b";', True),
        ("sasl.jaas.config", f'{PLAIN} username="a" password="${{file:/a:b}}";', False),
        ("sasl.jaas.config", f'{KRB5} keyTab="/k";', False),
    ],
)
def test_hm_7_a_file_of_settings_is_secret_where_it_holds_a_secret_itself(name: str, value: str, secret: bool) -> None:
    assert holds_secret({name: value}) is secret


def test_hm_7_every_file_with_a_secret_that_others_may_read_is_warned_of_once(tmp_path: Path) -> None:
    def file(name: str, text: str = "", mode: int = 0o644) -> Path:
        path = tmp_path / name
        path.write_text(text)
        path.chmod(mode)
        return path

    store, users, keytab, own_keytab, values, closed = map(file, ("s.p12", "u.toml", "k1", "k2", "values", "closed"))
    closed.chmod(0o600)
    logins = file("jaas", f'KafkaServer {{ {PLAIN} user_a="b"; {KRB5} keyTab="{keytab}"; }};')
    toml = file("server.toml", f'"metrics.users.file" = "{users}"\n"ssl.keystore.password" = "x"\n')
    kafka = file(
        "server.properties",
        f"""\
config.providers=file
config.providers.file.class={PROVIDER}
ssl.keystore.location={store}
ssl.key.password=${{file:{values}:p}}
delegation.token.secret.key=abc
java.security.auth.login.config={logins}
zookeeper.ssl.keystore.location={closed}
ssl.truststore.location={file("trust.p12")}
listener.name.a.ssl.keystore.location={tmp_path}/missing
listener.name.a.gssapi.sasl.jaas.config={KRB5} keyTab="{own_keytab}";
listeners=A://:1
""",
    )
    values.write_text("p=secret\n")
    parser = argparse.ArgumentParser()
    serve_command.add_arguments(parser)
    arguments = parser.parse_args(["--config", str(toml), "--kafka-config", str(kafka)])
    files = list(secret_files(read_settings(arguments, SETTINGS)))
    open_ones = {store, users, keytab, own_keytab, values, logins, toml, kafka}
    found = list(check.of_secret_files(files))
    assert len(found) == len(open_ones)
    assert {one.advice for one in found} == {f"chmod 600 {path}" for path in open_ones}
    assert {one.level for one in found} == {Level.WARNING}
    assert "secret-files" in {one.subject for one in found}
    for path in open_ones:
        path.chmod(0o600)
    assert readable(files) == []
    assert [one.level for one in check.of_secret_files(files)] == [Level.OK]


def test_hm_7_client_tools_warn_of_a_file_with_a_password_and_of_no_other(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    warned: list[str] = []
    path.write_text("client.id=me\n")
    path.chmod(0o644)
    load_properties(str(path), warned.append)
    assert warned == []
    path.write_text(f'sasl.jaas.config={PLAIN} username="a" password="very secret";\n')
    load_properties(str(path), warned.append)
    assert len(warned) == 1
    assert warned[0].endswith(f": chmod 600 {path}")
    assert "very secret" not in warned[0]


def test_hm_7_client_tools_warn_of_files_that_a_provider_names_and_of_the_file_with_its_values(tmp_path: Path) -> None:
    path, store, values = tmp_path / "client.properties", tmp_path / "s.p12", tmp_path / "values"
    store.touch(0o644)
    values.write_text(f"store={store}\np=secret\n")
    values.chmod(0o644)
    path.write_text(
        f"config.providers=file\nconfig.providers.file.class={PROVIDER}\n"
        f"ssl.keystore.location=${{file:{values}:store}}\nssl.keystore.password=${{file:{values}:p}}\n"
    )
    path.chmod(0o644)  # it holds no secret itself
    warned: list[str] = []
    load_properties(str(path), warned.append)
    assert [text.rpartition(" ")[2] for text in warned] == [str(values), str(store)]


def test_hm_7_status_warns_of_the_secrets_of_its_way_to_zookeeper(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "server.toml"
    path.write_text('"zookeeper.ssl.keystore.password" = "very secret"\n')
    path.chmod(0o644)
    try:
        main(["status", "--zookeeper-connect", "127.0.0.1:1", "--config", str(path), "--timeout-ms", "100"])
    finally:
        logging.disable(logging.NOTSET)  # the command has silenced it
    said = capsys.readouterr().err
    assert f"(--config), and use them: chmod 600 {path}" in said
    assert "very secret" not in said


def test_hm_7_a_secret_behind_links_as_kubernetes_mounts_it_counts_by_the_file_itself(tmp_path: Path) -> None:
    (tmp_path / "..2026_11_26").mkdir()
    (tmp_path / "..data").symlink_to("..2026_11_26")
    (tmp_path / "..2026_11_26" / "server.p12").touch(0o644)
    link = tmp_path / "server.p12"
    link.symlink_to("..data/server.p12")
    files = list(named_files({"listener.name.a.ssl.keystore.location": str(link)}))
    assert [one.advice for one in readable(files)] == [f"chmod 600 {link}"]
    (tmp_path / "..data" / "server.p12").chmod(0o400)
    assert readable(files) == []
    link.unlink()
    link.symlink_to("..data/gone")
    assert readable(files) == []


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


@pytest.mark.parametrize("umask", [0o000, 0o077])
@pytest.mark.parametrize(("group_read", "file", "folder"), [(False, 0o600, 0o700), (True, 0o640, 0o750)])
def test_hm_7_the_event_log_is_its_owners_whatever_the_umask_and_the_modes_of_before(
    tmp_path: Path, umask: int, group_read: bool, file: int, folder: int
) -> None:
    before = os.umask(umask)
    try:
        for _ in range(2):
            log = EventLog(tmp_path / "events", group_read=group_read)
            log.open()
            log.append(b'{"seq":0,"a":1}\n', b'{"seq":0,"a":1}\n', 0, 1)
            log.close()
            names = sorted(log.directory.iterdir())
            assert len(names) == 3
            assert {mode(path) for path in names} == {file}
            assert mode(log.directory) == folder
            for path in names:
                path.chmod(0o644)
            log.directory.chmod(0o2755)
            folder |= 0o2000
    finally:
        os.umask(before)


def test_hm_7_a_folder_with_files_of_others_keeps_its_mode_and_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "other").touch(0o644)
    tmp_path.chmod(0o755)
    log = EventLog(tmp_path)
    with caplog.at_level(logging.WARNING):
        log.open()
    log.close()
    assert (mode(tmp_path), mode(tmp_path / "other"), mode(tmp_path / "lock")) == (0o755, 0o644, 0o600)
    assert f"others may see which files are in {tmp_path}" in caplog.text
    assert f"such as {tmp_path / 'events'}" in caplog.text


def test_hm_7_the_folder_behind_the_operators_link_is_closed(tmp_path: Path) -> None:
    folder, link = tmp_path / "disk", tmp_path / "events"
    folder.mkdir(0o755)
    link.symlink_to(folder)
    log = EventLog(link)
    log.open()
    log.close()
    assert (mode(folder), mode(folder / "lock")) == (0o700, 0o600)
