"""`deploy/`: what is named there exists, every file can be read, and each alert has its section in the runbook."""

import argparse
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import kubernetes_validate
import promql_parser
import pytest
import yaml
from compose_spec import PyCompose

from kafka_reassign_rpc.cli.fleet_command import add_arguments as add_fleet_arguments
from kafka_reassign_rpc.cli.http_settings import PROTOCOL, page_address
from kafka_reassign_rpc.cli.listener_settings import complete_listeners
from kafka_reassign_rpc.cli.serve_command import add_arguments, server_config
from kafka_reassign_rpc.cli.server_settings import SETTINGS
from kafka_reassign_rpc.cli.settings_reader import read_settings
from kafka_reassign_rpc.controller.telemetry.metric_catalogue import HISTOGRAM, METRICS
from kafka_reassign_rpc.core.events.catalogue import EVENTS
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from tests.deploy import unit_file
from tests.deploy.alert_cases import CASES, HEALTHY
from tests.deploy.unit_file import DROP_IN, UNIT
from tests.docs.pages import ROOT
from tests.secured_example import EXAMPLE, make_certificates, put_files
from tests.tables import for_each

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
OF_PROMETHEUS = {"job", "instance", "le", "cluster"}
"""Labels that no metric of the catalogue has by itself; `cluster` is that of a watch of several clusters."""


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


@for_each("rule", RULES, ids=lambda rule: rule["alert"])
def test_sv_11_an_alert_has_severity_summary_and_its_section_in_the_runbook(rule: dict[str, Any]) -> None:
    assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"]["summary"].endswith(".")
    assert not re.search(r"\$value \}\} \w+s\b", rule["annotations"]["summary"]), "of one it would say: 1 partitions"
    docs = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())["global"]["external_labels"]["docs"]
    link = rule["annotations"]["runbook_url"].replace("{{ $externalLabels.docs }}", docs)
    assert link == f"{docs}/runbook.html#{rule['alert'].lower()}"
    assert urlsplit(docs).scheme == "https"
    assert re.fullmatch(r"\d+[mh]", rule.get("for", "1m"))


def test_sv_11_the_runbook_has_a_section_for_each_alert_and_no_other() -> None:
    sections = re.findall(r"^## (.+)$", (ROOT / "docs/runbook.md").read_text(), re.MULTILINE)
    assert sections == [rule["alert"] for rule in RULES]


@for_each("alert", [rule["alert"] for rule in RULES])
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


PANELS = {panel["title"]: panel["fieldConfig"] for panel in DASHBOARD["panels"]}


@for_each("panel", DASHBOARD["panels"], ids=lambda panel: panel["title"])
def test_sv_11_a_panel_has_the_unit_of_what_it_shows(panel: dict[str, Any]) -> None:
    """Ids and counts have none: `short` makes 1.00 K of broker 1000."""
    unit = panel["fieldConfig"]["defaults"]["unit"]
    for target in panel["targets"]:
        for series in _SERIES.findall(target["expr"]):
            if series.endswith(("_seconds", "_seconds_bucket")):
                assert unit == "s", series
            elif series.endswith("_per_second") or ("bytes_total" in series and "rate(" in target["expr"]):
                assert unit == "Bps", series
            elif "bytes" in series:
                assert unit == "bytes", series
            elif series == "kafka_reassign_requests_total":
                assert unit == "reqps"
            else:
                assert unit == "none", series


def test_sv_11_what_is_a_code_is_shown_as_a_word_and_what_is_wrong_in_another_colour() -> None:
    def shown(title: str, value: int) -> tuple[str, str]:
        """The text and the colour, as Grafana finds them."""
        defaults = PANELS[title]["defaults"]
        steps = [step for step in defaults["thresholds"]["steps"] if step["value"] is None or step["value"] <= value]
        [mapping] = defaults.get("mappings", [{"options": {}}])
        found = mapping["options"].get(str(value), {"text": str(value)})
        return found["text"], found.get("color", steps[-1]["color"])

    assert shown("Controller", -1) == ("none", "red")
    assert shown("Controller", 0) == ("0", "green")
    assert shown("Reassignments enabled", 0) == ("disabled", "red")
    assert shown("Reassignments enabled", 1) == ("enabled", "green")
    assert shown("Remaining time", -1) == ("unknown", "green")
    assert [shown("Partitions offline", value)[1] for value in (0, 1, 7)] == ["green", "red", "red"]
    assert not any("min" in PANELS[title]["defaults"] for title in ("Controller", "Remaining time")), "-1 has its place"
    stats = [panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "stat"]
    assert all("thresholds" in PANELS[title]["defaults"] for title in stats)


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
    values = complete_listeners(read_settings(parser.parse_args(arguments), SETTINGS))
    assert server_config(values).zookeeper_connect == values["zookeeper.connect"] is not None
    return values


HANDED_OVER = "/etc/kafka-reassign-rpc"
"""Where all secured examples have the files of examples/secured-cluster."""
Secured = Callable[[Sequence[str]], dict[str, Any]]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Secured:
    """The settings of a command line that is handed the files of the example, with the certificates of its script."""
    folder = tmp_path_factory.mktemp("handed-over")
    put_files(folder, {HANDED_OVER: str(folder)})
    assert make_certificates(folder, "controller1") == "controller1.p12: CN=kafka, DNS:controller1\n"

    def read(words: Sequence[str]) -> dict[str, Any]:
        values = served([word.replace(HANDED_OVER, str(folder)) for word in words])
        assert values["ssl.keystore.location"] == f"{folder}/controller1.p12", "its own, not the broker's"
        return values

    return read


def is_secured(values: dict[str, Any]) -> None:
    """Brokers come with certificates, clients by SCRAM, ACLs decide, and the pages speak TLS."""
    protocols = {one.listener: one.security_protocol for one in values["listeners"]}
    assert protocols == {"INTERNAL": "SSL", "CLIENT": "SASL_SSL"}
    assert values["listener.name.internal.ssl.client.auth"] == "required"
    assert values["sasl.enabled.mechanisms"] == "SCRAM-SHA-512"
    assert values["authorizer.class.name"]
    assert values["metrics.security.protocol"] == "SSL"


def test_sv_11_make_serve_serves_the_page_where_the_readme_says() -> None:
    [recipe] = re.findall(
        r"^serve:.*\n\t\S+kafka-reassign-rpc serve (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    values = served([*recipe.split(), "--zookeeper-connect", "its.own:2181"])
    address, port = values["metrics.listener"]
    page = page_address(f"{address}:{port}", values)
    assert (address, values["status.page"]) == ("127.0.0.1", "full")
    assert f" page={page}\n" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    ("address", "page"),
    [("0.0.0.0:9404", "localhost:9404"), (":::9404", "localhost:9404"), ("[::1]:1", "[::1]:1"), ("h:1", "h:1")],
)
def test_sv_11_the_ready_line_has_an_address_that_a_browser_here_can_open(address: str, page: str) -> None:
    full = {"status.page": "full", PROTOCOL: "PLAINTEXT"}
    assert page_address(address, full) == f"http://{page}/"
    assert page_address(address, {**full, PROTOCOL: "SSL"}) == f"https://{page}/"
    assert page_address(address, {**full, "status.page": "off"}) is None


def test_sv_1_the_unit_starts_the_server_with_settings_that_it_takes() -> None:
    _, serve, *arguments = unit_file.command(UNIT)
    assert (serve, arguments[0]) == ("serve", "--config")
    file = UNIT.with_name(Path(arguments[1]).name)
    (state,) = unit_file.service(UNIT)["StateDirectory"]
    assert tomllib.loads(file.read_text())["data.dir"] == f"/var/lib/{state}"
    values = served(["--config", str(file)])
    assert values["metrics.listener"] is not None
    with pytest.raises(UsageError):
        served(["--config", str(UNIT)])


def test_sv_5_the_units_drop_in_starts_the_server_with_the_files_of_the_secured_example(secured: Secured) -> None:
    _, serve, *arguments = unit_file.command(UNIT, DROP_IN)
    assert serve == "serve"
    values = secured(arguments)
    is_secured(values)
    assert values["data.dir"] == "/var/lib/kafka-reassign-rpc"


COMPOSE_FILES = [DEPLOY / "compose/compose.yaml", DEPLOY / "compose/secured.yaml"]
EACH_COMPOSE_FILE = pytest.mark.parametrize("file", COMPOSE_FILES, ids=lambda file: file.name)


def composed(file: Path) -> str:
    """A compose file with its variables filled in, as Docker does it."""
    given = {"FILES": "/files", "HOST_1": "controller1", "HOST_2": "controller1"}
    return re.sub(r"\$\{(\w+)[^}]*\}", lambda found: given[found[1]], file.read_text())


@EACH_COMPOSE_FILE
def test_sv_1_the_compose_file_keeps_to_the_compose_specification(file: Path) -> None:
    text = composed(file)
    compose = yaml.safe_load(text)
    PyCompose.from_json(json.dumps(compose)).validate()
    assert all({*one.get("depends_on", ())} <= compose["services"].keys() for one in compose["services"].values())
    with pytest.raises(ValueError, match="restrt"):
        PyCompose.from_json(json.dumps(yaml.safe_load(text.replace("restart:", "restrt:", 1))))


@EACH_COMPOSE_FILE
def test_hm_6_servers_of_the_compose_files_have_no_rights_and_are_asked_for_their_health(file: Path) -> None:
    services = yaml.safe_load(file.read_text())["services"]
    for name, service in services.items():
        assert "no-new-privileges:true" in service["security_opt"], name
    ours = {name: service for name, service in services.items() if service["image"] == "kafka-reassign-rpc"}
    assert ours.keys() >= {"server-1", "server-2"}
    for name, service in ours.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert "privileged" not in service
        assert any(mount.startswith("/tmp") for mount in service["tmpfs"])
        if service["command"][0] == "serve":
            assert service["healthcheck"]["test"] == ["CMD", "kafka-reassign-rpc", "health", "--pid", "1"]
            page = re.search(r"--metrics-listener=.*:(\d+)", " ".join(service["command"]))
            ports = {port.rpartition(":")[2] for port in service.get("expose", service.get("ports"))}
            assert {page[1] if page else "9404"} < ports
        else:
            assert service["healthcheck"] == {"disable": True}, "the check of the image asks a server"


def test_sv_5_the_secured_compose_file_starts_servers_with_the_files_of_the_secured_example(secured: Secured) -> None:
    services = yaml.safe_load(composed(DEPLOY / "compose/secured.yaml"))["services"]
    ids = set()
    for number, (name, service) in enumerate(services.items(), start=1):
        serve, *arguments = service["command"]
        assert serve == "serve"
        values = secured(arguments)
        is_secured(values)
        ids.add(values["broker.id"])
        assert service["volumes"] == [f"{name}:{values['data.dir']}", f"/files:{HANDED_OVER}:ro"]
        published = dict(port.rsplit(":", 1)[::-1] for port in service["ports"])
        assert {one.listener: one.port for one in values["advertised.listeners"]} == {
            one.listener: int(published[str(one.port)]) for one in values["listeners"]
        }, "clients are sent where Docker listens"
        assert published.pop(str(values["metrics.listener"][1])) == f"127.0.0.1:{9403 + number}"
    assert len(ids) == 2


OLDEST_KUBERNETES = "1.25"
"""docs/operations.md names it."""


KUBERNETES = [DEPLOY / "kubernetes/kafka-reassign-rpc.yaml", DEPLOY / "kubernetes/secured.yaml"]
EACH_KUBERNETES = pytest.mark.parametrize("file", KUBERNETES, ids=lambda file: file.name)


def objects(file: Path) -> dict[str, Any]:
    """The objects of a file by their kind."""
    documents = list(yaml.safe_load_all(file.read_text()))
    found = {one["kind"]: one for one in documents}
    assert len(found) == len(documents)
    return found


@EACH_KUBERNETES
@pytest.mark.parametrize("version", [OLDEST_KUBERNETES, kubernetes_validate.latest_version()])
def test_sv_1_the_kubernetes_example_keeps_to_the_schemas_of_kubernetes(file: Path, version: str) -> None:
    documents = objects(file)
    for one in documents.values():
        kubernetes_validate.validate(one, version, strict=True)
    stateful = documents["StatefulSet"]
    stateful["spec"]["template"]["spec"]["containers"][0]["readinesProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="readinesProbe"):
        kubernetes_validate.validate(stateful, version, strict=True)


@EACH_KUBERNETES
def test_hm_6_pods_have_a_user_and_no_rights(file: Path) -> None:
    """The profile "restricted" of Kubernetes' Pod Security Standards, and more."""
    pod = objects(file)["StatefulSet"]["spec"]["template"]["spec"]
    (user,) = re.findall(r"^USER (\d+):(\d+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": int(user[0]),
        "runAsGroup": int(user[1]),
        "fsGroup": int(user[1]),
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert pod["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC", "serviceAccountName"} & pod.keys()
    [container] = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    mounted = {one["name"]: one["mountPath"] for one in container["volumeMounts"] if not one.get("readOnly")}
    assert mounted == {"data": "/data", "tmp": "/tmp"}
    (tmp,) = (one for one in pod["volumes"] if one["name"] == "tmp")
    assert tmp["emptyDir"]["sizeLimit"]


@pytest.mark.parametrize("file", COMPOSE_FILES, ids=lambda file: file.stem)
def test_hm_6_compose_files_publish_to_others_only_listeners_with_a_login(file: Path) -> None:
    """A published port without an address is open on all interfaces, whatever the host's firewall says."""
    services = yaml.safe_load(composed(file))["services"]
    open_to_all = {port for one in services.values() for port in one.get("ports", ()) if port.count(":") < 2}
    assert open_to_all == ({"9093:9093", "9094:9094", "9193:9093", "9194:9094"} if file.stem == "secured" else set())
    of_loopback = {port for one in services.values() for port in one.get("ports", ())} - open_to_all
    assert all(port.startswith("127.0.0.1:") for port in of_loopback)


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
        _, *arguments = services[name]["command"]
        values = served(arguments)
        address, port = values["metrics.listener"]
        page = page_address(f"{address}:{port}", values)
        assert page == f"http://localhost:{port}/", "as the ready line says it"
        assert page in (DEPLOY / "compose/compose.yaml").read_text().partition("\nname:")[0]
        assert values["status.page"] == "full"
        [published] = services[name]["ports"]
        assert published == f"127.0.0.1:{port}:{port}", (
            "the page alone: clients outside would be sent to a name that they cannot find"
        )
    for mounted in services["prometheus"]["volumes"]:
        assert (DEPLOY / "compose" / mounted.partition(":")[0]).resolve().is_file()
    assert set(scraped["rule_files"]) == {"alerts.yml"}
    used = {mounted.partition(":")[0] for one in services.values() for mounted in one.get("volumes", ())}
    assert compose["volumes"].keys() == {name for name in used if "/" not in name}


def pod_0(container: dict[str, Any]) -> list[str]:
    """The words behind `serve` of the first pod."""
    [shell] = container["args"]
    words = shell.replace("$((1000 + ${HOSTNAME##*-}))", "1000").replace("${HOSTNAME}", "pod-0").replace('"', "")
    exec_, program, serve, *arguments = str(words).split()
    assert (exec_, program, serve) == ("exec", "kafka-reassign-rpc", "serve")
    return arguments


@EACH_KUBERNETES
def test_sv_1_the_kubernetes_example_gives_each_pod_an_id_and_asks_for_its_health(file: Path, secured: Secured) -> None:
    documents = objects(file)
    service, stateful, budget = (documents[kind]["spec"] for kind in ("Service", "StatefulSet", "PodDisruptionBudget"))
    labels = stateful["template"]["metadata"]["labels"]
    assert service["selector"] == stateful["selector"]["matchLabels"] == budget["selector"]["matchLabels"] == labels
    [container] = stateful["template"]["spec"]["containers"]
    values = (secured if file.name == "secured.yaml" else served)(pod_0(container))
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    listeners = {"kafka" if one.listener == "PLAINTEXT" else one.listener.lower(): one for one in values["listeners"]}
    assert ports == {
        **{name: one.port for name, one in listeners.items()},
        "metrics": values["metrics.listener"][1],
    }
    assert {one.host for one in values["advertised.listeners"]} == {"pod-0.kafka-reassign-rpc"}
    assert {one["name"]: one["port"] for one in service["ports"]} == ports
    scheme = {"scheme": "HTTPS"} if values["metrics.security.protocol"] == "SSL" else {}
    assert container["readinessProbe"]["httpGet"] == {"path": "/ready", "port": "metrics", **scheme}
    assert container["livenessProbe"]["httpGet"] == {"path": "/health", "port": "metrics", **scheme}
    assert container["volumeMounts"][0]["mountPath"] == values["data.dir"]
    assert container["volumeMounts"][0]["name"] == stateful["volumeClaimTemplates"][0]["metadata"]["name"]


def test_sv_5_the_secured_kubernetes_example_hands_over_the_files_of_the_secured_example(secured: Secured) -> None:
    text = (DEPLOY / "kubernetes/secured.yaml").read_text()
    documents = objects(DEPLOY / "kubernetes/secured.yaml")
    pod = documents["StatefulSet"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    is_secured(secured(pod_0(container)))
    (files,) = (one for one in pod["volumes"] if one["name"] == "files")
    assert files["secret"]["defaultMode"] == 0o400
    assert f"kubectl create secret generic {files['secret']['secretName']} " in text
    (mount,) = (one for one in container["volumeMounts"] if one["name"] == "files")
    assert (mount["mountPath"], mount["readOnly"]) == (HANDED_OVER, True)
    in_secret = set(re.findall(r"--from-file=(\S+)", text))
    toml = (EXAMPLE / "server.toml").read_text()
    named = {*re.findall(rf'"{HANDED_OVER}/([^"]+)"', toml), *re.findall(rf"{HANDED_OVER}/(\S+)", container["args"][0])}
    assert in_secret == named
    policy = documents["NetworkPolicy"]["spec"]
    assert policy["podSelector"]["matchLabels"] == documents["Service"]["spec"]["selector"]
    opened = [(port["port"], "from" in rule) for rule in policy["ingress"] for port in rule["ports"]]
    assert opened == [("internal", False), ("client", False), ("metrics", True)]
