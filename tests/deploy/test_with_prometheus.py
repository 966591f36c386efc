"""A Prometheus that scrapes a server: it takes the alert rules, and answers each question of the dashboard."""

import asyncio
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
import yaml

from tests.deploy.alert_cases import CASES, HEALTHY
from tests.deploy.alert_series import Case, unit_test
from tests.deploy.test_deploy import ALERTS, DASHBOARD, DEPLOY, RULES
from tests.faults.cluster import address_of, alter
from tests.processes import processes
from tests.stock.ports import kept_ports
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(300)
JOB = "kafka-reassign-rpc"
ONLY_WHAT_THERE_IS = {"Requests", "Events", "Caps", "Throttles in force", "Controller elected"}
"""Panels that leave out what is 0 or not set: they may be empty here."""


def expressions() -> list[tuple[str, str]]:
    """The questions of the dashboard, with its variables filled in as Grafana does."""
    found = [(panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]]
    found += [(annotation["name"], annotation["expr"]) for annotation in DASHBOARD["annotations"]["list"]]
    filled = {"$job": JOB, "$cluster": ".*", "$__rate_interval": "5s", "$__range": "5s"}
    return [(title, re.sub(r"\$\w+", lambda name: filled[name[0]], text)) for title, text in found]


@asynccontextmanager
async def prometheus(directory: Path, scraped: str) -> AsyncIterator[str]:
    """A Prometheus with the configuration of deploy/, which asks this server each second; gives its address."""
    configuration = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
    configuration["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    configuration["rule_files"] = [str(DEPLOY / "prometheus" / name) for name in configuration["rule_files"]]
    configuration["scrape_configs"][0]["static_configs"] = [{"targets": [scraped]}]
    file = directory / "prometheus.yml"
    file.write_text(yaml.safe_dump(configuration))
    (port,) = kept_ports(1)
    arguments = (
        f"--config.file={file}",
        f"--storage.tsdb.path={directory / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    )
    with (directory / "prometheus.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec("prometheus", *arguments, stdout=log, stderr=log)
        try:
            await eventually(lambda: _is_ready(f"127.0.0.1:{port}"))
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            await process.wait()


async def _is_ready(address: str) -> bool:
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}/-/ready") as answer:
        return answer.status == 200


async def asked(address: str, path: str) -> Any:
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}/api/v1/{path}") as found:
        answer = await found.json()
    assert answer["status"] == "success", (path, answer)
    return answer["data"]


async def values(address: str, expression: str) -> list[Any]:
    """The series that an expression finds now."""
    result: list[Any] = (await asked(address, f"query?query={quote(expression)}"))["result"]
    return result


def test_sv_11_promtool_takes_the_alert_rules() -> None:
    file = DEPLOY / "prometheus/alerts.yml"
    done = subprocess.run(["promtool", "check", "rules", file], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"SUCCESS: {len(RULES)} rules found" in done.stdout


def tried(cases: tuple[Case, ...], folder: Path) -> None:
    """Fails with what promtool says where other alerts of these names fire. The rules of other names, which take most
    of its time, are left out.
    """
    file, rule_file = folder / "alerts_test.yml", folder / "alerts.yml"
    names, rules = {case.alert for case in cases}, {rule["alert"]: rule for rule in RULES}
    groups = [
        group | {"rules": [rule for rule in group["rules"] if rule["alert"] in names]} for group in ALERTS["groups"]
    ]
    rule_file.write_text(yaml.safe_dump({"groups": groups}))
    file.write_text(yaml.safe_dump(unit_test(cases, rules, str(rule_file))))
    done = subprocess.run(["promtool", "test", "rules", file], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SUCCESS" in done.stdout


@pytest.mark.gate
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}: {case.what}")
def test_sv_11_an_alert_fires_when_it_should_and_at_no_other_time(case: Case, tmp_path: Path) -> None:
    tried((case,), tmp_path)


def test_sv_11_no_alert_fires_while_nothing_is_wrong(tmp_path: Path) -> None:
    tried(tuple(Case(rule["alert"], "nothing is wrong", HEALTHY, {250: ()}) for rule in RULES), tmp_path)


async def test_sv_11_prometheus_answers_each_question_of_the_dashboard_and_evaluates_each_alert(tmp_path: Path) -> None:
    listeners = ("--listeners", "PLAINTEXT://127.0.0.1:0", "--metrics-listener", "127.0.0.1:0")
    async with processes(tmp_path) as commands:
        server = await commands.start("serve", "serve", *listeners, "--data-dir", str(tmp_path / "data"))
        bootstrap = address_of(server.ready_value("bootstrap"))
        async with prometheus(tmp_path, server.ready_value("metrics")) as address:
            await eventually(lambda: values(address, "count_over_time(kafka_reassign_controller_active[1m]) > 3"))
            assert await alter(bootstrap, {("nope", 0): None}) == {("nope", 0): 85}
            refused = f'sum(kafka_reassign_moves_total{{job="{JOB}",event="refused"}}) == 1'
            await eventually(lambda: values(address, refused))

            await eventually(lambda: all_answered(address))
            await eventually(lambda: all_evaluated(address))
            assert await values(address, f'max(kafka_reassign_brokers_live{{job="{JOB}"}}) == 6')
            assert await asked(address, "alerts") == {"alerts": []}, "nothing is wrong with this cluster"
            assert await server.stop() == 0
            (away,) = await eventually(lambda: alerts(address))
            assert (away["state"], away["labels"]["alertname"]) == ("pending", "KafkaReassignNoController")


async def all_answered(address: str) -> bool:
    """A rate wants two samples: some questions have their answers later than others."""
    empty = {title for title, text in expressions() if not await values(address, text)}
    assert empty <= ONLY_WHAT_THERE_IS
    return True


async def all_evaluated(address: str) -> bool:
    rules = [rule for group in (await asked(address, "rules"))["groups"] for rule in group["rules"]]
    assert not any(rule["health"] == "err" for rule in rules), rules
    return len(rules) == len(RULES) and all(rule["health"] == "ok" for rule in rules)


async def alerts(address: str) -> Any:
    return (await asked(address, "alerts"))["alerts"]
