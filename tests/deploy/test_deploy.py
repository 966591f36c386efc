"""`deploy/`: what is named there exists, every file can be read, and each alert has its section in the runbook."""

import argparse
import configparser
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import promql_parser
import pytest
import yaml
from compose_spec import PyCompose

from kafka_reassign_rpc.cli.fleet_command import add_arguments as add_fleet_arguments
from kafka_reassign_rpc.cli.listener_settings import settle_listeners
from kafka_reassign_rpc.cli.serve_command import add_arguments, server_config
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import read_settings
from kafka_reassign_rpc.cli.usage_error import UsageError
from kafka_reassign_rpc.controller.telemetry.metric_catalogue import HISTOGRAM, METRICS
from kafka_reassign_rpc.core.events.catalogue import EVENTS
from tests.deploy.alert_cases import CASES, HEALTHY
from tests.docs.pages import ROOT

DEPLOY = ROOT / "deploy"
ALERTS = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
DASHBOARD = json.loads((DEPLOY / "grafana/dashboard.json").read_text())
SERIES = {
    name: metric
    for metric in METRICS
    for name in (
        [f"{metric.name}{end}" for end in ("_bucket", "_sum", "_count")] if metric.kind == HISTOGRAM else [metric.name]
    )
}
_SERIES = re.compile(r"\b(?:kafka_reassign|process)_\w+")
_SELECTOR = re.compile(r"\b((?:kafka_reassign|process)_\w+)(?:\{([^}]*)\})?")
_LABEL = re.compile(r'(\w+)=~?"([^"]*)"')
_BY = re.compile(r"by \(([^)]*)\)")
OF_PROMETHEUS = {"job", "instance", "le"}


def expressions() -> Iterator[tuple[str, str]]:
    for rule in RULES:
        yield rule["alert"], rule["expr"]
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for annotation in DASHBOARD["annotations"]["list"]:
        yield annotation["name"], annotation["expr"]
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["query"]


EACH = pytest.mark.parametrize(("name", "expression"), [*expressions()])


@EACH
def test_sv_11_every_metric_label_and_event_that_is_asked_for_exists(name: str, expression: str) -> None:
    asked = _SERIES.findall(expression)
    assert asked, name
    assert {*asked} <= SERIES.keys()
    labels = {label for series in asked for label in SERIES[series].labels} | OF_PROMETHEUS
    for series, selector in _SELECTOR.findall(expression):
        for label, value in _LABEL.findall(selector):
            assert label in {*SERIES[series].labels, *OF_PROMETHEUS}, (name, series, label)
            if series == "kafka_reassign_events_total" and label == "event":
                assert value in EVENTS
            if series == "kafka_reassign_moves_total" and label == "event":
                assert f"move.{value}" in EVENTS
    for group in _BY.findall(expression):
        assert {label.strip() for label in group.split(",")} <= labels, name


@EACH
def test_sv_11_every_expression_is_one_of_prometheus_and_rates_are_of_counters(name: str, expression: str) -> None:
    if not expression.startswith("label_values("):  # a function of Grafana
        promql_parser.parse(re.sub(r"\$__rate_interval|\$__range", "5m", expression))
    for series in re.findall(r"(?:rate|increase)\((\w+)", expression):
        assert SERIES[series].kind != "gauge", name


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_sv_11_an_alert_has_severity_summary_and_its_section_in_the_runbook(rule: dict[str, Any]) -> None:
    assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"]["summary"].endswith(".")
    assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"
    assert re.fullmatch(r"\d+[mh]", rule.get("for", "1m"))


def test_sv_11_the_runbook_has_a_section_for_each_alert_and_no_other() -> None:
    sections = re.findall(r"^## (.+)$", (ROOT / "docs/runbook.md").read_text(), re.MULTILINE)
    assert sections == [rule["alert"] for rule in RULES]


@pytest.mark.parametrize("alert", [rule["alert"] for rule in RULES])
def test_sv_11_there_is_a_case_in_which_an_alert_fires_and_one_in_which_it_does_not(alert: str) -> None:
    cases = [case.fires.values() for case in CASES if case.alert == alert]
    assert any(any(fired) for fired in cases)
    assert any(not any(fired) for fired in cases)


def test_sv_11_the_cases_of_alerts_have_series_that_servers_show_and_a_healthy_day_has_all_that_alerts_ask_for() -> (
    None
):
    asked = {series for rule in RULES for series in _SERIES.findall(rule["expr"])}
    healthy = {series for name in HEALTHY for series in _SERIES.findall(name)}
    assert healthy == asked
    for name in (name for case in CASES for name in case.series):
        ((series, selector),) = _SELECTOR.findall(name)
        assert {label for label, _ in _LABEL.findall(selector)} - OF_PROMETHEUS == {*SERIES[series].labels}


def test_sv_11_the_dashboards_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def served(arguments: list[str]) -> dict[str, Any]:
    """The settings of a command line of serve; fails as the command would."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_arguments(parser)
    values = settle_listeners(read_settings(parser.parse_args(arguments), SETTINGS))
    assert server_config(values).zookeeper_connect == values["zookeeper.connect"] is not None
    return values


def test_sv_1_the_unit_starts_the_server_with_settings_that_it_takes() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[method-assign,assignment]
    unit.read_string((DEPLOY / "systemd/kafka-reassign-rpc.service").read_text())
    _, command, *arguments = unit["Service"]["ExecStart"].split()
    assert (command, arguments[0]) == ("serve", "--config")
    file = DEPLOY / "systemd" / Path(arguments[1]).name
    assert tomllib.loads(file.read_text())["data.dir"] == f"/var/lib/{unit['Service']['StateDirectory']}"
    values = served(["--config", str(file)])
    assert values["metrics.listener"] is not None
    with pytest.raises(UsageError):
        served(["--config", str(DEPLOY / "systemd/kafka-reassign-rpc.service")])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here")
def test_sv_1_systemd_knows_every_line_of_the_unit(tmp_path: Path) -> None:
    """The command is not installed here: another one takes its place."""
    unit = (DEPLOY / "systemd/kafka-reassign-rpc.service").read_text()
    command = "/opt/kafka-reassign-rpc/bin/kafka-reassign-rpc"
    assert unit.count(command) == 1

    def verified(text: str) -> str:
        file = tmp_path / "kafka-reassign-rpc.service"
        file.write_text(text.replace(command, "/bin/true"))
        verify = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(file)]
        return subprocess.run(verify, capture_output=True, text=True, timeout=60, check=False).stderr

    assert verified(unit) == ""
    assert "Unknown key" in verified(unit.replace("Restart=", "Restrt="))


def test_sv_1_the_compose_file_keeps_to_the_compose_specification() -> None:
    text = (DEPLOY / "compose/compose.yaml").read_text()
    compose = yaml.safe_load(text)
    PyCompose.from_json(json.dumps(compose)).validate()
    assert all({*one.get("depends_on", ())} <= compose["services"].keys() for one in compose["services"].values())
    with pytest.raises(ValueError, match="restrt"):
        PyCompose.from_json(json.dumps(yaml.safe_load(text.replace("restart:", "restrt:", 1))))


OLDEST_KUBERNETES = "1.25"
"""docs/operations.md names it."""


@pytest.mark.parametrize("version", [OLDEST_KUBERNETES, kubernetes_validate.latest_version()])
def test_sv_1_the_kubernetes_example_keeps_to_the_schemas_of_kubernetes(version: str) -> None:
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes/kafka-reassign-rpc.yaml").read_text()))
    for one in documents:
        kubernetes_validate.validate(one, version, strict=True)
    documents[1]["spec"]["template"]["spec"]["containers"][0]["readinesProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="readinesProbe"):
        kubernetes_validate.validate(documents[1], version, strict=True)


def test_sv_1_the_compose_file_starts_servers_brokers_and_prometheus_that_find_each_other() -> None:
    compose = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text())
    services = compose["services"]
    scraped = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
    targets = scraped["scrape_configs"][0]["static_configs"][0]["targets"]
    ids = set()
    for name in ("server-1", "server-2"):
        command, *arguments = services[name]["command"]
        assert command == "serve"
        values = served(arguments)
        ids.add(values["broker.id"])
        assert values["zookeeper.connect"].startswith("zookeeper:")
        assert values["advertised.listeners"][0].host == name
        assert f"{name}:{values['metrics.listener'][1]}" in targets
    assert len(ids) == 2
    command, *arguments = services["brokers"]["command"]
    assert command == "fleet"
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_fleet_arguments(parser)
    fleet = parser.parse_args(arguments)
    assert fleet.zookeeper_connect == values["zookeeper.connect"]
    assert fleet.host == "brokers", "the brokers register it: other containers cannot reach 127.0.0.1"
    for name in ("server-1", "server-2"):
        assert "ports" not in services[name], "clients outside would be sent to a name that they cannot find"
    for mounted in services["prometheus"]["volumes"]:
        assert (DEPLOY / "compose" / mounted.partition(":")[0]).resolve().is_file()
    assert set(scraped["rule_files"]) == {"alerts.yml"}
    used = {mounted.partition(":")[0] for one in services.values() for mounted in one.get("volumes", ())}
    assert compose["volumes"].keys() == {name for name in used if "/" not in name}


def test_sv_1_the_kubernetes_example_gives_each_pod_an_id_and_asks_for_its_health() -> None:
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes/kafka-reassign-rpc.yaml").read_text()))
    assert [one["kind"] for one in documents] == ["Service", "StatefulSet", "PodDisruptionBudget"]
    service, stateful, budget = (one["spec"] for one in documents)
    labels = stateful["template"]["metadata"]["labels"]
    assert service["selector"] == stateful["selector"]["matchLabels"] == budget["selector"]["matchLabels"] == labels
    [container] = stateful["template"]["spec"]["containers"]
    [shell] = container["args"]
    words = (
        shell.replace("$((1000 + ${HOSTNAME##*-}))", "1000").replace("${HOSTNAME}", "pod-0").replace('"', "").split()
    )
    assert words[:3] == ["exec", "kafka-reassign-rpc", "serve"]
    values = served(words[3:])
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert ports == {"kafka": values["listeners"][0].port, "metrics": values["metrics.listener"][1]}
    assert {one["name"]: one["port"] for one in service["ports"]} == ports
    assert container["readinessProbe"]["httpGet"] == {"path": "/ready", "port": "metrics"}
    assert container["livenessProbe"]["httpGet"] == {"path": "/health", "port": "metrics"}
    assert container["volumeMounts"][0]["mountPath"] == values["data.dir"]
    assert container["volumeMounts"][0]["name"] == stateful["volumeClaimTemplates"][0]["metadata"]["name"]
