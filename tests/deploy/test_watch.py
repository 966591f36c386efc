"""kr-4: deploy/watch starts `watch` with flags that it takes, and with the rights that docs/watch.md names."""

import argparse
import json
import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from kafka_reassign_rpc.cli.http_settings import http_security, status_page
from kafka_reassign_rpc.cli.server_settings import SETTINGS_OF_WATCH
from kafka_reassign_rpc.cli.settings_reader import read_settings
from kafka_reassign_rpc.cli.watch_command import add_arguments
from kafka_reassign_rpc.client import client_configs, load_properties
from tests.certificates import Authority
from tests.deploy.test_deploy import DEPLOY, OLDEST_KUBERNETES
from tests.docs.pages import DOCS, ROOT, text_of

STRIMZI = {one["kind"]: one for one in yaml.safe_load_all((DEPLOY / "watch/strimzi.yaml").read_text())}
POD = STRIMZI["Deployment"]["spec"]["template"]["spec"]
[CONTAINER] = POD["containers"]
VARIABLE = "KAFKA_REASSIGN_BOOTSTRAP_SERVER"
DOCKERFILE = (DEPLOY / "watch/Dockerfile").read_text()
KAFKAS_NAMES = {"DESCRIBE": "Describe", "DESCRIBE_CONFIGS": "DescribeConfigs"}


def settings(arguments: list[str]) -> tuple[argparse.Namespace, dict[str, Any]]:
    """Of the words behind the program's name; fails as the command would."""
    command, *flags = arguments
    assert command == "watch"
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_arguments(parser)
    given = parser.parse_args(flags)
    return given, read_settings(given, SETTINGS_OF_WATCH)


def test_kr_4_the_container_needs_one_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "broker1:9092")
    (command,) = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    given, values = settings(json.loads(command))
    assert (given.bootstrap_server, values["bootstrap.server"]) == (None, "broker1:9092")
    host, port = values["metrics.listener"]
    assert host == "0.0.0.0", "the container's own address would be out of reach"
    assert f"EXPOSE {port}\n" in DOCKERFILE
    assert "HEALTHCHECK" not in DOCKERFILE, "that of the server's image asks watch too"
    assert f"-p 127.0.0.1:{port}:{port} -e {VARIABLE}=broker1:9092" in DOCKERFILE
    (entry,) = re.findall(r"^ENTRYPOINT (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert json.loads(entry) == ["kafka-reassign-rpc"]


@pytest.mark.parametrize("version", [OLDEST_KUBERNETES, kubernetes_validate.latest_version()])
def test_kr_4_the_example_for_strimzi_keeps_to_the_schemas_of_kubernetes(version: str) -> None:
    for kind, one in STRIMZI.items():
        if kind != "KafkaUser":  # Strimzi's own kind
            kubernetes_validate.validate(one, version, strict=True)


def test_kr_4_the_user_of_strimzi_has_exactly_the_rights_that_the_docs_name() -> None:
    table = text_of(DOCS / "watch.md").partition("## What it may do")[2].partition("\n## ")[0]
    documented = set()
    for operation, of_what in re.findall(r"^\| ([A-Z_]+) on (.+?) \|", table, re.MULTILINE):
        for resource in of_what.replace("the ", "").split(" and on "):
            documented.add((resource.removesuffix("s"), KAFKAS_NAMES[operation]))
    granted = {
        (acl["resource"]["type"], operation)
        for acl in STRIMZI["KafkaUser"]["spec"]["authorization"]["acls"]
        for operation in acl["operations"]
    }
    assert (
        granted
        == documented
        == {(kind, operation) for kind in ("cluster", "topic") for operation in KAFKAS_NAMES.values()}
    )


def test_kr_4_the_deployment_has_real_flags_and_finds_the_files_of_strimzi() -> None:
    given, values = settings(CONTAINER["args"])
    host, port = values["metrics.listener"]
    assert [one["containerPort"] for one in CONTAINER["ports"]] == [port]
    assert [one["port"] for one in STRIMZI["Service"]["spec"]["ports"]] == [port]
    assert STRIMZI["Service"]["metadata"]["name"] in values["metrics.host.names"]
    assert (host, status_page(values, http_security({**values, "listeners": (), "advertised.listeners": None}))) == (
        "0.0.0.0",
        "full",
    )
    user = STRIMZI["KafkaUser"]["metadata"]
    of_cluster = user["labels"]["strimzi.io/cluster"]
    assert given.bootstrap_server == f"{of_cluster}-kafka-bootstrap:9093"
    volumes = {one["name"]: one for one in POD["volumes"]}
    assert volumes["user"]["secret"]["secretName"] == user["name"]
    assert volumes["cluster-ca"]["secret"]["secretName"] == f"{of_cluster}-cluster-ca-cert"
    mounts = {one["mountPath"]: one["name"] for one in CONTAINER["volumeMounts"]}
    text = STRIMZI["ConfigMap"]["data"]["client.properties"]
    for folder in re.findall(r"(/etc/[\w-]+)[/:]", text):
        assert folder in mounts
    assert mounts["/etc/watch"] == "config"
    assert given.command_config == "/etc/watch/client.properties"


def test_kr_4_the_properties_of_the_deployment_open_stores_of_strimzis_form(tmp_path: Path) -> None:
    """Strimzi's secrets have user.p12 with user.password, and ca.crt."""
    for folder in ("user", "cluster-ca"):
        (tmp_path / folder).mkdir()
    ca = Authority("CN=clients-ca")
    ca.issue("CN=kafka-reassign-watch").pkcs12_keystore(tmp_path / "user/user.p12", "of-strimzi")
    (tmp_path / "user/user.password").write_text("of-strimzi")
    ca.pem_truststore(tmp_path / "cluster-ca/ca.crt")
    file = tmp_path / "client.properties"
    file.write_text(STRIMZI["ConfigMap"]["data"]["client.properties"].replace("/etc/", f"{tmp_path}/"))
    configs = client_configs("my-cluster-kafka-bootstrap:9093", load_properties(str(file)))
    assert configs["security_protocol"] == "SSL"
    assert "of-strimzi" not in str(configs)
