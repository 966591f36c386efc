"""Stock brokers whose links among each other are SASL_SSL, under our controller, which logs in as they do.

SCRAM-SHA-512: the listener has a name, and logins come from the file of logins. PLAIN: `security.inter.broker.protocol`
says where, and the login stands in server.properties.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.client import QUEUE, MoveTerms, ReassignmentClient, client_configs
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.certificates import Authority
from tests.fork_server import CLI, output_of
from tests.leaving.command import Leaving
from tests.processes import Process
from tests.stock.jars import BROKER_VERSION
from tests.stock.tools import Tools
from tests.waiting import eventually

from .mixed_cluster import controller
from .secured_cluster import (
    PLAIN,
    SCRAM,
    STORE_SECRET,
    Secured,
    common_properties,
    create_topic,
    delete_topic,
    only_super_users_are_safe,
    secured_cluster,
)
from .zookeeper_users import SECRET

pytestmark = [
    pytest.mark.stock,
    pytest.mark.release,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
]

OWN, OTHER = "kafka", "controller"
"""Who brokers are, and who our server is where it has an identity of its own."""
ADDRESSES = "CLIENT://127.0.0.1:0,SASL_SSL://127.0.0.1:0"
SUPER_USERS = {"super.users": f"User:{OWN};User:{OTHER};User:admin"}


def by_plain(directory: Path, ca: Authority) -> dict[str, str]:
    known = f'user_{OWN}="{SECRET}" user_admin="{SECRET}"'
    return {
        **common_properties(directory, ca),
        **SUPER_USERS,
        "listeners": ADDRESSES,
        "listener.security.protocol.map": "SASL_SSL:SASL_SSL,CLIENT:SASL_SSL",
        "security.inter.broker.protocol": "SASL_SSL",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.sasl_ssl.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": (
            f'{PLAIN} required username="{OWN}" password="{SECRET}" {known};'
        ),
    }


def by_scram(directory: Path, ca: Authority) -> dict[str, str]:
    return {
        **common_properties(directory, ca),
        **SUPER_USERS,
        "listeners": ADDRESSES.replace("SASL_SSL", "INTERNAL"),
        "listener.security.protocol.map": "INTERNAL:SASL_SSL,CLIENT:SASL_SSL",
        "inter.broker.listener.name": "INTERNAL",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "listener.name.internal.plain.sasl.jaas.config": (
            f'{PLAIN} required username="x" password="y" user_admin="{SECRET}";'
        ),
    }


def login(user: str) -> str:
    return f'internal.KafkaServer {{ {SCRAM} required username="{user}" password="{SECRET}"; }};\n'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scram(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Secured]:
    users = ("admin", OWN, OTHER)
    async with secured_cluster(tmp_path_factory.mktemp("scram"), by_scram, users=users, logins=login(OWN)) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def plain(tmp_path: Path) -> AsyncIterator[Secured]:
    async with secured_cluster(tmp_path, by_plain) as made:
        yield made


async def moves_over_links(secured: Secured, mechanism: str) -> None:
    """What the check says; moves away and, after the restart of a broker, home again; then a stock broker is the
    controller."""
    await only_super_users_are_safe(secured, f"User:{OWN}")
    server = await secured.serve("server")
    assert await controller(secured.zk) == 1000
    ours = server.ready_value("bootstrap")
    properties = secured.login(mechanism)
    file = secured.file("admin", properties)
    await asyncio.to_thread(create_topic, client_configs(ours, properties), "t")
    await asyncio.to_thread(secured.produce, "t", 100)
    await secured.move(ours, file, {("t", 0): [2], ("t", 1): [1]})
    await secured.stock.brokers[2].stop()
    await secured.stock.brokers[2].start()
    await eventually(lambda: secured.knows(2, "t"), within=120)
    await secured.move(ours, file, {("t", 0): [1], ("t", 1): [2]})
    assert await asyncio.to_thread(secured.consume, "t", 100) == {b"%d" % number for number in range(100)}
    assert "does not take this server" not in server.log
    for secret in (SECRET, STORE_SECRET, "battery"):
        assert secret not in server.log
    assert await server.stop() == 0
    await eventually(secured.stock_controls, within=60)
    await asyncio.to_thread(delete_topic, client_configs(secured.internal, properties), "t")


async def test_sv_5_moves_are_carried_out_where_brokers_log_in_by_scram(scram: Secured) -> None:
    await moves_over_links(scram, "SCRAM-SHA-512")


async def test_mg_2_leave_is_killed_and_run_again_on_a_secured_cluster_and_nothing_of_ours_is_left(
    scram: Secured,
) -> None:
    """A throttle lease holds one move in flight, another move waits, and a setting of servers stands."""
    server = await scram.serve("leaves")
    ours, properties = server.ready_value("bootstrap"), scram.login("SCRAM-SHA-512")
    configs = client_configs(ours, properties)
    await asyncio.to_thread(create_topic, configs, "left")
    await asyncio.to_thread(scram.produce, "left", 800, bytes(5_000))
    await asyncio.to_thread(start_and_queue, configs)
    await eventually(lambda: is_throttled(scram.zk), within=60)
    file = scram.directory / "left.json"
    login = ("--java-security-auth-login-config", str(scram.directory / "jaas.conf"))
    admin = Path(scram.file("admin", properties))
    admin.chmod(0o600)  # otherwise it warns
    logged_in = (*login, "--command-config", str(admin))
    leaving = Leaving("--zookeeper-connect", scram.zk.connect, *logged_in, "--export", str(file), "--hand-over")

    await leaving.until("servers: waits")
    assert await server.stop() == 0
    await leaving.until("leases: done")
    assert not await is_throttled(scram.zk)
    assert await scram.zk.exists(znode_paths.LAST_CONTROL) is not None, "it was killed in the middle"
    last = await output_of(CLI, [*leaving.words, "--yes"])

    assert (last.code, last.err) == (0, "")
    assert last.out.endswith("Nothing of kafka-reassign-rpc is left in this cluster.\n")
    assert set(await scram.zk.children(znode_paths.ADMIN)) == {"delete_topics"}
    assert await scram.zk.children(znode_paths.config_type("brokers")) == []
    kept = json.loads(file.read_bytes())
    assert [(one["topic"], one["partition"], one["replicas"]) for one in kept["partitions"]] == [("left", 1, [1])]
    assert kept["settings"]["partition.reassignments.enabled"] == "false"

    async def has_moved() -> bool:
        """A stock controller has carried the move on."""
        topic = json.loads((await scram.zk.get(znode_paths.topic("left")))[0])
        return bool(topic["partitions"]["0"] == [2] and not topic["adding_replicas"])

    await eventually(has_moved, within=60)
    checked = await output_of(CLI, ["check", "--for-kraft", "--json", "--zookeeper-connect", scram.zk.connect, *login])
    found = {one["subject"] for one in json.loads(checked.out)["findings"] if one["level"] != "OK"}
    assert not found & {"leases", "moves", "own-znodes", "requests", "settings", "throttles", "waiting-moves"}, found
    await eventually(scram.stock_controls, within=60)
    assert SECRET not in last.out


def start_and_queue(configs: dict[str, object]) -> None:
    with ReassignmentClient(**configs) as client:
        started = client.alter_partition_reassignments({("left", 0): MoveTerms((2,), throttle=1_000)})
        client.disable()
        queued = client.alter_partition_reassignments({("left", 1): MoveTerms((1,), QUEUE)})
    assert {*started.values(), *queued.values()} == {None}


async def is_throttled(zk: ZooKeeper) -> bool:
    path = znode_paths.config_type("brokers")
    configs = [(await zk.get(f"{path}/{name}"))[0] for name in await zk.children(path)]
    return any(b"replication.throttled.rate" in one for one in configs)


async def test_sv_5_a_server_whose_credential_is_revoked_says_so_and_goes_on_with_a_new_one(scram: Secured) -> None:
    """Its connections last; a broker that has restarted wants a login again. `kafka-configs` takes the credential of
    the server away, and makes it anew."""
    jaas = scram.directory / "controller.conf"
    client = (scram.directory / "jaas.conf").read_text().partition("internal.")[0]
    jaas.write_text(client + login(OTHER))
    server = await scram.serve("controller", "--java-security-auth-login-config", str(jaas))
    ours, properties = server.ready_value("bootstrap"), scram.login("SCRAM-SHA-512")
    await asyncio.to_thread(create_topic, client_configs(ours, properties), "u")
    await eventually(lambda: scram.zk.exists("/brokers/topics/u/partitions/1/state"))
    tools = Tools(BROKER_VERSION)
    await asyncio.to_thread(tools.start)
    try:
        await credential_of_ours(scram, tools, server, "--delete-config", "SCRAM-SHA-512")
        await scram.stock.brokers[2].stop()
        await scram.stock.brokers[2].start()
        refused = (
            f"broker 2 at {scram.listener('INTERNAL', 2)}: listener INTERNAL, SASL_SSL: SCRAM-SHA-512:"
            " Authentication failed during authentication due to invalid credentials"
        )
        await eventually(lambda: refused in server.log, within=60)
        assert "broker 1: connection lost" not in server.log
        new = f"SCRAM-SHA-512=[iterations=4096,password={SECRET}]"
        await credential_of_ours(scram, tools, server, "--add-config", new)
        await eventually(lambda: "broker 2 takes this server now (login)" in server.log, within=60)
        await eventually(lambda: scram.knows(2, "u"), within=120)
        await scram.move(ours, scram.file("admin", properties), {("u", 0): [2], ("u", 1): [1]})
        assert server.log.count(refused) == 1
        assert SECRET not in server.log
    finally:
        tools.stop()


async def test_sv_5_moves_are_carried_out_where_brokers_log_in_by_plain(plain: Secured) -> None:
    await moves_over_links(plain, "PLAIN")


async def credential_of_ours(secured: Secured, tools: Tools, server: Process, *change: str) -> None:
    """Change the credential of our server by the stock tool, at our server."""
    done = await tools.run(
        "configs", "--bootstrap-server", server.ready_value("bootstrap"),
        "--command-config", secured.file("admin", secured.login("SCRAM-SHA-512")),
        "--alter", *change, "--entity-type", "users", "--entity-name", OTHER,
    )  # fmt: skip
    assert done.code == 0, done
