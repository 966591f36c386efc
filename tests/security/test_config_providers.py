"""Values of properties files that are stored elsewhere. Cases after ConfigTransformerTest, FileConfigProviderTest,
DirectoryConfigProviderTest, EnvVarConfigProviderTest and AllowedPathsTest of Kafka 3.9."""

import re
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli.settings_reader import read_kafka_config
from kafka_reassign_rpc.client import load_properties
from kafka_reassign_rpc.security.config_providers import MOST_BYTES, resolved
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.support.quiet_arguments import UsageError

PACKAGE = "org.apache.kafka.common.config.provider."
SECRET = "s3cret=:#! ü"
PROVIDERS = {
    "config.providers": "file,dir, env,none",
    "config.providers.file.class": f"{PACKAGE}FileConfigProvider",
    "config.providers.dir.class": f"{PACKAGE}DirectoryConfigProvider",
    "config.providers.env.class": f"{PACKAGE}EnvVarConfigProvider",
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with values; a variable of the environment."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "a.properties").write_text(f"key=a\nother : {SECRET}\nempty=\n", encoding="utf-8")
    (tmp_path / "secrets" / "password").write_text(f"{SECRET}\n", encoding="utf-8")
    (tmp_path / "secrets" / "sub").mkdir()
    (tmp_path / "elsewhere.properties").write_text("key=b\n")
    monkeypatch.setenv("KAFKA_PASSWORD", SECRET)
    monkeypatch.setenv("OTHER", "o")
    return tmp_path


def resolve(value: str, **more: str) -> str:
    """A value; of `more` the names have _ in the place of points."""
    properties = PROVIDERS | {f"config.providers.{name.replace('_', '.')}": text for name, text in more.items()}
    return resolved({"ssl.key.password": value}, properties)["ssl.key.password"]


def test_sv_5_variables_are_replaced_as_kafka_replaces_them(place: Path) -> None:
    a, secrets = f"{place}/secrets/a.properties", f"{place}/secrets"
    for value, wanted in [
        (f"${{file:{a}:key}}", "a"),
        (f"${{file:{a}:other}}", SECRET),
        (f"${{file:{a}:empty}}", ""),
        (f"<${{file:{a}:key}}-${{env:OTHER}}>${{file:{a}:key}}", "<a-o>a"),
        (f"${{dir:{secrets}:password}}", f"{SECRET}\n"),
        ("${env:KAFKA_PASSWORD}", SECRET),
        ("${env::OTHER}", "o"),
        ("${unknown:x:y} ${none:x} $1 ${nothing} ${", "${unknown:x:y} ${none:x} $1 ${nothing} ${"),
        ("${a${env:OTHER}", "${a${env:OTHER}"),
        ("${a} ${env:OTHER}", "${a} o"),
    ]:
        assert resolve(value) == wanted, value


def test_sv_5_without_providers_nothing_is_looked_for() -> None:
    assert resolved({"x": "${env:PATH}"}, {}) == {"x": "${env:PATH}"}
    assert resolved({"x": "${env:PATH}"}, {"config.providers": ""}) == {"x": "${env:PATH}"}


def test_sv_5_what_a_value_brings_is_not_replaced_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER", "${env:KAFKA_PASSWORD}")
    assert resolve("${env:OTHER}") == "${env:KAFKA_PASSWORD}"


def test_sv_5_paths_and_variables_are_allowed_as_kafka_allows_them(place: Path) -> None:
    a, secrets = f"{place}/secrets/a.properties", f"{place}/secrets"
    assert resolve(f"${{file:{a}:key}}", file_param_allowed_paths=f"{secrets}/sub,{secrets}/sub/..") == "a"
    assert resolve(f"${{dir:{secrets}:password}}", dir_param_allowed_paths=secrets)
    assert resolve("${env:OTHER}", env_param_allowlist_pattern="O.*") == "o"
    for value, more in [
        (f"${{file:{place}/elsewhere.properties:key}}", {"file_param_allowed_paths": secrets}),
        (f"${{file:{secrets}/../elsewhere.properties:key}}", {"file_param_allowed_paths": secrets}),
        (f"${{file:{secrets}-not/a.properties:key}}", {"file_param_allowed_paths": secrets}),
        (f"${{dir:{place}:elsewhere.properties}}", {"dir_param_allowed_paths": secrets}),
        ("${env:KAFKA_PASSWORD}", {"env_param_allowlist_pattern": "PASSWORD"}),
    ]:
        with pytest.raises(BadSetting, match="does not allow it"):
            resolve(value, **more)


@pytest.mark.parametrize(
    ("value", "more", "line"),
    [
        (
            "${file:{}/none:key}",
            {},
            "ssl.key.password: ${file:{}/none:key}: cannot read {}/none: No such file or directory",
        ),
        (
            "${file:{}/secrets:key}",
            {},
            "ssl.key.password: ${file:{}/secrets:key}: cannot read {}/secrets: Is a directory",
        ),
        ("${file:{}/secrets/a.properties:no}", {}, "ssl.key.password: ${file:{}/secrets/a.properties:no} has no value"),
        ("${file:key}", {}, "ssl.key.password: ${file:key} has no value"),
        ("${dir:{}/secrets:no}", {}, "ssl.key.password: ${dir:{}/secrets:no} has no value"),
        ("${dir:{}/secrets:sub}", {}, "ssl.key.password: ${dir:{}/secrets:sub} has no value"),
        ("${dir:{}/secrets:../elsewhere.properties}", {}, "ssl.key.password: ${dir:{}/secrets:[hidden]} has no value"),
        ("${env:NO_SUCH_NAME}", {}, "ssl.key.password: ${env:NO_SUCH_NAME} has no value"),
        ("${env:a:OTHER}", {}, "ssl.key.password: ${env:a:OTHER}: an environment variable has no path"),
        (
            "",
            {"file_param_allowed_paths": "relative"},
            "config.providers.file.param.allowed.paths: relative is not absolute",
        ),
        (
            "",
            {"dir_param_allowed_paths": "/no/such"},
            "config.providers.dir.param.allowed.paths: /no/such does not exist",
        ),
    ],
)
def test_sv_6_what_cannot_be_looked_up_is_one_line_with_the_setting(
    place: Path, value: str, more: dict[str, str], line: str
) -> None:
    with pytest.raises(BadSetting, match="^" + re.escape(line.replace("{}", str(place))) + "$"):
        resolve(value.replace("{}", str(place)), **more)


def test_sv_6_other_classes_and_broken_patterns_are_refused(place: Path) -> None:
    with pytest.raises(BadSetting, match=r"config\.providers\.env\.class: expected one of .*no Java classes"):
        resolve("x", env_class="com.example.VaultConfigProvider")
    with pytest.raises(BadSetting, match=r"config\.providers\.env\.param\.allowlist\.pattern: "):
        resolve("x", env_param_allowlist_pattern="(")


def test_sv_6_files_and_results_are_bounded_and_secrets_do_not_show(place: Path) -> None:
    (place / "large").write_bytes(b"a" * (MOST_BYTES + 1))
    (place / "half").write_bytes(b"a" * (MOST_BYTES // 2 + 1))
    (place / "binary").write_bytes(b"\xff\xfe")
    for value, why in [
        (f"${{file:{place}/large:x}}", "has more than"),
        (f"${{dir:{place}:large}}", "has more than"),
        (f"${{dir:{place}:binary}}", "it is not UTF-8"),
        (f"${{dir:{place}:half}}" * 2, "all values together"),
        ("${env:KAFKA_PASSWORD}${env:NO_SUCH_NAME}", "has no value"),
    ]:
        with pytest.raises(BadSetting, match=why) as refused:
            resolve(value)
        assert SECRET not in str(refused.value)
    assert resolve("${" * 200_000 + ":" * 200_000) == "${" * 200_000 + ":" * 200_000, "in one pass"


def written(place: Path, *lines: str) -> str:
    path = place / "server.properties"
    path.write_text("\n".join([*(f"{name}={value}" for name, value in PROVIDERS.items()), *lines]))
    return str(path)


def test_sv_5_a_brokers_file_and_that_of_a_client_have_the_values(place: Path) -> None:
    path = written(place, "ssl.key.password=${env:OTHER}", "log.dirs=${env:NO_SUCH_NAME}")
    found = read_kafka_config(path, ["ssl.key.password"], ())
    assert found.taken == {"ssl.key.password": "o"}
    assert found.left == ("log.dirs",), (
        "what this server does not take need not have a value, and providers are no news"
    )
    path = written(place, "sasl.jaas.config=PlainLoginModule required password\\\\=${env:OTHER}", "client.id=x")
    assert load_properties(path) == {"sasl.jaas.config": "PlainLoginModule required password\\=o", "client.id": "x"}


def test_sv_6_a_file_with_a_variable_without_a_value_is_refused_with_its_name(place: Path) -> None:
    path = written(place, "ssl.key.password=${env:NO_SUCH_NAME}")
    line = f"{path}: ssl.key.password: ${{env:NO_SUCH_NAME}} has no value"
    with pytest.raises(UsageError, match=re.escape(f"--kafka-config: {line}")):
        read_kafka_config(path, ["ssl.key.password"], ())
    with pytest.raises(BadSetting, match="^" + re.escape(line)):
        load_properties(path)
