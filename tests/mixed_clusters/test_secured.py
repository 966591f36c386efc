"""A secured stock cluster under our controller: mTLS among brokers, SASL_SSL for clients, ACLs, and a ZooKeeper that
knows its users and whose znodes only brokers may write. The server gets a broker's own server.properties.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from confluent_kafka import Producer

from kafka_reassign_rpc.client import ReassignmentClient, client_configs
from kafka_reassign_rpc.security.properties import parse_properties
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import AclEntry
from tests.certificates import Authority
from tests.docs.secured_page import steps_of_the_page
from tests.fork_server import CLI, KAFKA_REASSIGN, output_of
from tests.processes import Process
from tests.secured_example import EXAMPLE, make_certificates, put_files
from tests.stock.jars import BROKER_VERSION
from tests.stock.ports import kept_ports
from tests.stock.tools import Output, Tools
from tests.waiting import eventually

from .mixed_cluster import OUTLIVES_PAUSES, controller
from .secured_cluster import (
    BROKERS,
    STORE_SECRET,
    Secured,
    common_properties,
    create_topic,
    delete_topic,
    secured_cluster,
)
from .zookeeper_users import SECRET

pytestmark = [
    pytest.mark.stock,
    pytest.mark.release,
    pytest.mark.asyncio(loop_scope="module"),
]

ALICES_SECRET = "secret of alice"
MINE, ALL_READ = AclEntry(31, "sasl", "kafka"), AclEntry(1, "world", "anyone")


def broker_properties(directory: Path, ca: Authority) -> dict[str, str]:
    """Those of examples/secured-cluster, with its certificates and free ports. The user admin may do everything too,
    and come by PLAIN."""
    page = directory / "page"
    page.mkdir()
    (page / "ca.key").write_text(ca.own.key_pem())
    (page / "ca.pem").write_text(ca.own.certificates_pem)
    nodes = (f"{name}=localhost,127.0.0.1" for name in ("broker1", "controller1"))
    make_certificates(page, *nodes, password=STORE_SECRET)
    properties = parse_properties((EXAMPLE / "server.properties").read_text().replace("/etc/kafka/", f"{page}/"))
    for name in ("broker.id", "log.dirs", "zookeeper.connect", "advertised.listeners"):
        properties.pop(name)
    assert properties["listeners"] == "INTERNAL://:9093,CLIENT://:9094"
    users = "listener.name.client.plain.sasl.jaas.config"
    return {
        **properties,
        "ssl.keystore.password": STORE_SECRET,
        "listeners": "INTERNAL://127.0.0.1:0,CLIENT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        users: common_properties(directory, ca)[users],
        "super.users": f"{properties['super.users']};User:admin",
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def secured(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Secured]:
    async with secured_cluster(tmp_path_factory.mktemp("secured"), broker_properties) as made:
        yield made


STOCK_TOOLS = {"kafka-configs.sh": "configs", "kafka-acls.sh": "acls"}


async def printed_by(program: str, words: Sequence[str]) -> Output:
    return await output_of(CLI if program == "kafka-reassign-rpc" else KAFKA_REASSIGN, words)


async def ended_as_the_page_says(program: str, words: Sequence[str]) -> Output | None:
    """None: the move that is verified goes on, or the broker that is asked has not heard yet that it is over."""
    done = await printed_by(program, words)
    return None if "--verify" in words and "is completed" not in done.out else done


async def carried_out(secured: Secured) -> Process:
    """Our server, after the steps of docs/secured-cluster.md from users on, as it says them but for addresses, folders
    and passwords. Each prints what the page shows."""
    await asyncio.to_thread(create_topic, client_configs(secured.internal, secured.certificate()), "orders")
    folder = secured.directory / "page"
    internal, client, metrics = kept_ports(3)
    replaced = {
        "/etc/kafka-reassign-rpc": str(folder),
        "/etc/kafka/": f"{folder}/",
        "/var/lib/kafka-reassign-rpc": str(folder / "data"),
        "location=ca.pem": f"location={folder}/ca.pem",
        "zk1:2181/kafka": secured.stock.brokers[1].properties["zookeeper.connect"],
        "broker1:9093": secured.listener("INTERNAL", 1),
        "broker1:9094": secured.listener("CLIENT", 1),
        "controller1:9093": f"127.0.0.1:{internal}",
        "controller1:9094": f"127.0.0.1:{client}",
        "INTERNAL://:9093,CLIENT://:9094": f"INTERNAL://127.0.0.1:{internal},CLIENT://127.0.0.1:{client}",
        "0.0.0.0:9404": f"127.0.0.1:{metrics}",
        "keystore-secret": STORE_SECRET,
        "zookeeper-secret": SECRET,
        "alice-secret": ALICES_SECRET,
    }
    put_files(folder, replaced)
    _, *steps = steps_of_the_page(replaced)  # the first makes certificates: these nodes have other names
    server: Process | None = None
    unlike: list[object] = []
    with Tools(BROKER_VERSION) as tools:
        for step in steps:
            said = ""
            for program, *arguments in step.commands:
                words = [str(folder / word) if (folder / word).is_file() else word for word in arguments]
                if program in STOCK_TOOLS:
                    done = await tools.run(STOCK_TOOLS[program], *words)
                elif words[0] == "serve":
                    server = await secured.processes.start("page", *words, *OUTLIVES_PAUSES)
                    await eventually(secured.we_are_known, within=60)
                    done = Output(0, f"{server.ready_line}\n", "")
                else:
                    done = await eventually(lambda: ended_as_the_page_says(program, words), within=120)  # noqa: B023
                assert done.code == 0, (program, words, done)
                said += done.out
            if not step.printed.search(said):
                unlike.append((step.commands, step.printed.pattern, said))
    assert not unlike, "\n\n".join(map(str, unlike))
    assert server is not None
    return server


async def test_sv_5_a_secured_stock_cluster_runs_under_our_controller_by_the_steps_of_the_page_and_goes_back(
    secured: Secured,
) -> None:
    server = await carried_out(secured)
    assert await controller(secured.zk) == 1000
    ours = server.ready_value("bootstrap")
    certificate = secured.file("certificate", secured.certificate())
    configs = client_configs(ours, secured.certificate())

    await asyncio.to_thread(create_topic, configs, "t")
    await asyncio.to_thread(secured.produce, "t", 100)
    await secured.move(ours, certificate, {("t", 0): [2], ("t", 1): [1]})
    assert await asyncio.to_thread(secured.consume, "t", 100) == {b"%d" % number for number in range(100)}

    for path in (znode_paths.topic("t"), znode_paths.partition_state("t", 0), znode_paths.REASSIGNMENTS):
        assert await secured.zk.acl(path) == [MINE, ALL_READ], path
    assert await secured.zk.acl(znode_paths.config_type("brokers")) == [MINE]
    assert "does not take this server" not in server.log
    for secret in (SECRET, STORE_SECRET, ALICES_SECRET, "battery"):
        assert secret not in server.log

    assert await server.stop() == 0
    await eventually(secured.stock_controls, within=60)
    await asyncio.to_thread(delete_topic, client_configs(secured.internal, secured.certificate()), "t")

    async def is_deleted() -> bool:
        return await secured.zk.exists(znode_paths.topic("t")) is None

    await eventually(is_deleted, within=60)


async def test_sv_5_our_clients_reach_stock_brokers_by_every_login(secured: Secured) -> None:
    by_certificate = client_configs(secured.internal, secured.certificate())
    for bootstrap, configs in (
        (secured.internal, by_certificate),
        (secured.listener("CLIENT", 1), client_configs(secured.listener("CLIENT", 1), secured.login("PLAIN"))),
        (secured.listener("CLIENT", 2), client_configs(secured.listener("CLIENT", 2), secured.login("SCRAM-SHA-512"))),
    ):
        assert await asyncio.to_thread(nodes, configs) == set(BROKERS), bootstrap
    listed = await secured.reassign(
        secured.listener("CLIENT", 1), secured.file("scram", secured.login("SCRAM-SHA-512")), "--list"
    )
    assert (listed.code, listed.out) == (0, "No partition reassignments found.\n")


def nodes(configs: dict[str, object]) -> set[int]:
    with ReassignmentClient(**configs) as client:
        return {node.id for node in client.describe_cluster()}


async def test_sv_5_a_wrong_password_and_a_wrong_authority_are_said_without_secrets(secured: Secured) -> None:
    strange = Authority("CN=strange").pem_truststore(secured.directory / "strange.pem")
    cases = {
        "plain": (secured.login("PLAIN", "wr0ng"), "Authentication failed: Invalid username or password"),
        "scram": (secured.login("SCRAM-SHA-512", "wr0ng"), "Authentication failed"),
        "authority": (secured.login("PLAIN", **strange), "certificate"),
    }
    for name, (properties, text) in cases.items():
        soon = {"default.api.timeout.ms": "30000", "request.timeout.ms": "30000"}
        said = await secured.reassign(
            secured.listener("CLIENT", 1), secured.file(name, {**properties, **soon}), "--list"
        )
        assert said.code == 1, name
        assert text.lower() in (said.out + said.err).lower(), (name, said)
        assert "wr0ng" not in said.out + said.err
        assert SECRET not in said.out + said.err


async def test_sv_5_a_server_without_the_right_says_so_once(secured: Secured) -> None:
    stranger = secured.certificate("stranger")
    toml = secured.directory / "stranger.toml"
    names = ("ssl.keystore.location", "ssl.keystore.type", "ssl.keystore.password")
    found = {**stranger, "ssl.keystore.password": ""}
    toml.write_text("".join(f'"{name}" = "{found[name]}"\n' for name in names if found[name]))
    properties = dict(secured.stock.brokers[1].properties)
    properties = {name: value for name, value in properties.items() if not name.startswith("ssl.keystore")}
    server = await secured.start(
        "stranger", "--kafka-config", secured.file("without", properties), "--config", str(toml)
    )
    for broker in secured.stock.brokers.values():
        text = f"broker {broker.id} does not take this server as its controller (CLUSTER_AUTHORIZATION_FAILED)"
        await eventually(lambda text=text: text in server.log, within=30)  # type: ignore[misc]
    await asyncio.sleep(2.5)  # it goes on trying every second
    assert server.log.count("CLUSTER_AUTHORIZATION_FAILED") == len(BROKERS)
    assert await server.stop() == 0
    await eventually(secured.stock_controls, within=60)


async def test_sv_5_a_server_with_a_certificate_that_brokers_refuse_is_a_standby_and_one_that_controls_resigns(
    secured: Secured,
) -> None:
    """A broker that asks such a controller for ids of producers ends by an error of its own, so that the server must
    not stay the controller: afterwards an idempotent producer gets its ids, and all brokers live."""
    own = secured.directory / "own.pem"
    strange, good = Authority("CN=strange").issue("CN=kafka"), secured.ca.issue("CN=kafka")
    strange.pem_keystore(own)
    theirs = secured.stock.brokers[1].properties
    properties = {name: value for name, value in theirs.items() if not name.startswith("ssl.keystore.")}
    file = secured.file("own", {**properties, **good.pem_keystore(own)})

    strange.pem_keystore(own)
    said = await output_of(CLI, ["check", "--kafka-config", file, *secured.as_servers("INTERNAL")])
    assert said.code == 1
    assert "UNSAFE   certificates: listener INTERNAL: brokers would not connect: no certificate of" in said.out
    server = await secured.start("own", "--kafka-config", file)
    await eventually(lambda: "standing by: listener INTERNAL: brokers would not connect" in server.log, within=30)
    assert await controller(secured.zk) in BROKERS
    assert await server.stop() == 0

    good.pem_keystore(own)
    server = await secured.serve("own", "--kafka-config", file)
    await asyncio.to_thread(create_topic, client_configs(secured.internal, secured.certificate()), "numbered")

    strange.pem_keystore(own)
    await eventually(secured.stock_controls, within=60)
    assert "standing by: listener INTERNAL: brokers would not connect" in server.log
    producer = Producer({**secured.librdkafka("SCRAM-SHA-512"), "enable.idempotence": True})
    for partition in (0, 1):
        producer.produce("numbered", b"1", partition=partition)
    assert await asyncio.to_thread(producer.flush, 60) == 0
    assert {int(name) for name in await secured.zk.children(znode_paths.BROKER_IDS)} == set(BROKERS)

    good.pem_keystore(own)
    await eventually(lambda: "the certificates of all listeners are taken" in server.log, within=30)
    assert await server.stop() == 0
