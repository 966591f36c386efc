"""The recipe of docs/pipeline.md for the table of rates: from stock brokers under load, by Prometheus, to a plan."""

import asyncio
import csv
import os
import re
import shlex
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from kafka_reassign_rpc.pipeline.plans import plan_summary
from tests.deploy.test_with_prometheus import values
from tests.jvm import QUICK
from tests.pipeline.test_export import rows, run
from tests.stock.cluster import StockCluster
from tests.stock.jars import BROKER_VERSION, classpath, jmx_exporter, require
from tests.stock.ports import kept_ports
from tests.stock.process import LoggedProcess
from tests.waiting import eventually

pytestmark = [
    pytest.mark.stock,
    pytest.mark.gate,
    pytest.mark.timeout(600),
]

DOCS = Path(__file__).parents[2] / "docs" / "pipeline.md"
RECORDS = {"busy": 8, "calm": 2}
"""By topic: records of a kilobyte in each round; consumers read `busy` alone. Broker 1 leads both, broker 2 nothing."""
FIGURES = ("bytes_in", "bytes_out", "messages_in", "cpu")
WINDOW = "[30s]"
"""In place of the hour of the recipe."""


def recipe(beginning: str) -> str:
    """The block of the page that begins so."""
    block, end, _ = DOCS.read_text().partition(f"```\n{beginning}")[2].partition("```\n")
    assert end
    return beginning + block


@contextmanager
def load(bootstrap: str) -> Iterator[None]:
    """The same records in each round, until the end of the block."""
    end = threading.Event()

    def write() -> None:
        producer, reader = Producer({"bootstrap.servers": bootstrap}), consumer(bootstrap)
        while not end.wait(0.05):
            for topic, count in RECORDS.items():
                for _ in range(count):
                    producer.produce(topic, bytes(1000), partition=0)
            producer.flush()
            reader.consume(1000, timeout=0)
        reader.close()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def consumer(bootstrap: str) -> Consumer:
    found = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
    found.assign([TopicPartition("busy", 0, 0)])
    return found


def scraping(directory: Path, port: int, agents: Mapping[int, int]) -> list[str]:
    """The command of a Prometheus that asks the agents of all brokers each second."""
    targets = [f"127.0.0.1:{agent}" for agent in agents.values()]
    settings = {
        "global": {"scrape_interval": "1s"},
        "scrape_configs": [{"job_name": "kafka", "static_configs": [{"targets": targets}]}],
    }
    (directory / "prometheus.yml").write_text(yaml.safe_dump(settings))
    return [
        "prometheus",
        f"--config.file={directory / 'prometheus.yml'}",
        f"--storage.tsdb.path={directory / 'series'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]


def serving_beans(port: int) -> list[str]:
    """The options that `JMX_PORT` gives a broker (kafka-run-class.sh), here for this machine alone."""
    option = "-Dcom.sun.management.jmxremote"
    values = {"": "", ".port": port, ".rmi.port": port, ".host": "127.0.0.1", ".authenticate": "false", ".ssl": "false"}
    return ["-Djava.rmi.server.hostname=127.0.0.1", *(f"{option}{name}={value}" for name, value in values.items())]


def by_jmx(port: int) -> dict[str, float]:
    """By topic: what the page's command prints for the broker."""
    _, *args = shlex.split(recipe("kafka-jmx.sh").replace("broker-1:9999", f"127.0.0.1:{port}"))
    tool = ["java", *QUICK, "-cp", classpath(BROKER_VERSION), "org.apache.kafka.tools.JmxTool", *args]
    said = subprocess.run(tool, capture_output=True, check=True, text=True).stdout
    names, values = csv.reader(line for line in said.splitlines() if line.startswith(('"time"', *"0123456789")))
    found = dict(zip(names, values, strict=True))
    return {name.partition("topic=")[2].partition(":")[0]: float(found[name]) for name in names if "topic=" in name}


async def test_dp_13_the_recipe_makes_rates_of_stock_brokers_under_load_and_a_plan_evens_out_their_cpu(
    zk_connect: str, tmp_path: Path
) -> None:
    require(BROKER_VERSION)
    agent, (port, beans, *ports) = jmx_exporter(), kept_ports(4)
    (tmp_path / "rules.yml").write_text(recipe("lowercaseOutputName"))
    stock, agents = StockCluster(zk_connect, tmp_path, (1, 2)), dict(zip((1, 2), ports, strict=True))
    for broker in stock.brokers.values():
        broker.jvm = (*broker.jvm, f"-javaagent:{agent}=127.0.0.1:{agents[broker.id]}:{tmp_path / 'rules.yml'}")
    stock.brokers[1].jvm = (*stock.brokers[1].jvm, *serving_beans(beans))
    prometheus = LoggedProcess(tmp_path / "prometheus.log")
    try:
        await stock.start()
        admin = KafkaAdminClient(bootstrap_servers=stock.bootstrap)
        admin.create_topics([NewTopic(topic, replica_assignments={0: [1, 2]}) for topic in RECORDS])
        admin.close()
        prometheus.launch(scraping(tmp_path, port, agents))
        await prometheus.wait_for_line(re.compile(rb"ready to receive web requests"))
        address = f"127.0.0.1:{port}"
        with load(stock.bootstrap):
            enough = f'count_over_time(kafka_server_brokertopicmetrics_messagesin_total{{topic="calm"}}{WINDOW}) > 12'
            await eventually(lambda: values(address, enough), within=180)
            await asyncio.to_thread(made, address, tmp_path)
            rates = await asyncio.to_thread(by_jmx, beans)
        table = of_the_load(tmp_path / "rates.csv")
        code, _, err = await asyncio.to_thread(
            run, "export", "--bootstrap-server", stock.bootstrap, "--out", str(tmp_path / "snapshot"),
            "--rates", str(tmp_path / "rates.csv"),
        )  # fmt: skip
        assert code == 0, err
    finally:
        await prometheus.kill()
        await stock.kill()

    assert set(table) == set(RECORDS)
    figures = {topic: {name: float(table[topic][name] or 0) for name in FIGURES} for topic in RECORDS}
    for name in ("bytes_in", "messages_in", "cpu"):
        assert figures["busy"][name] / figures["calm"][name] == pytest.approx(4, rel=0.4), (name, figures)
    assert rates["busy"] / rates["calm"] == pytest.approx(4, rel=0.4), rates
    assert figures["busy"]["bytes_in"] / figures["busy"]["messages_in"] == pytest.approx(1000, rel=0.3)
    assert figures["busy"]["bytes_out"] > figures["calm"]["bytes_out"] == 0
    assert 0 < figures["busy"]["cpu"] + figures["calm"]["cpu"] < 1e6 * (os.cpu_count() or 1)
    told = {row["topic"]: row["cpu_rate"] for row in rows(tmp_path / "snapshot", "partitions")}
    assert told.pop("__consumer_offsets", None) is None
    assert told == pytest.approx({topic: row["cpu"] for topic, row in figures.items()})

    plan = tmp_path / "plan"
    code, out, err = run(
        "plan", "rebalance", "--weight", "cpu=1", "--snapshot", str(tmp_path / "snapshot"), "--out", str(plan)
    )
    assert code == 0, err
    summary = plan_summary.read_summary(plan)
    assert summary.imbalance_after["cpu"] < summary.imbalance_before["cpu"], out


def of_the_load(rates: Path) -> dict[str, dict[str, str]]:
    """The rows of its topics, by topic; the others leave the file: the recipe gives all that broker 2 spends to the
    offsets of consumers, as much as the load on a busy machine, and then no plan evens out the CPU."""
    heading, *lines = rates.read_text().splitlines(keepends=True)
    kept = [line for line in lines if "__consumer_offsets" not in line]
    rates.write_text("".join((heading, *kept)))
    return {row["topic"]: row for row in csv.DictReader((heading, *kept))}


def made(address: str, directory: Path) -> None:
    """`rates.csv`, as the page says."""
    script = recipe("ask() {").replace("[1h]", WINDOW)
    surroundings = {**os.environ, "PROMETHEUS": f"http://{address}"}
    subprocess.run(["bash", "-euc", script], cwd=directory, env=surroundings, check=True)
