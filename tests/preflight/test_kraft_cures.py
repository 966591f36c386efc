"""What keeps a cluster from its migration to KRaft, on a real ZooKeeper: the commands that are printed cure it."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.access import Access, always
from kafka_reassign_rpc.zookeeper.operations import AclEntry, Create, Delete
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import id_of, topic_creates
from tests.faults.cluster import simulated_cluster
from tests.fork_server import CLI, output_of
from tests.jvm import QUICK
from tests.migration.page import Shell, put_program, put_stock_tools, shell
from tests.mixed_clusters.zookeeper_users import OWNER, zookeeper_users
from tests.stock import class_archives
from tests.stock.jars import BROKER_VERSION, classpath, require
from tests.waiting import eventually

pytestmark = [pytest.mark.stock, pytest.mark.gate, pytest.mark.timeout(240)]

EVERYTHING, READ = 31, 1
STATE = topic_znodes.encode_state(1, 0, (1,), 1)


def topic(name: str, *replicas: int) -> bytes:
    return topic_znodes.encode_topic(id_of(name), {0: (replicas, (), ())})


async def blockers(connect: str, *login: str) -> Mapping[str, tuple[str, Sequence[str]]]:
    """The texts and the commands of each, by the subject."""
    ended = await output_of(CLI, ["check", "--for-kraft", "--json", "--zookeeper-connect", connect, *login])
    texts, commands = defaultdict[str, list[str]](list), defaultdict[str, dict[str, None]](dict)
    for one in json.loads(ended.out)["findings"]:
        if one["level"] == "UNSAFE":
            texts[one["subject"]].append(one["text"])
            commands[one["subject"]] |= dict.fromkeys(one["commands"])
    return {subject: ("\n".join(found), [*commands[subject]]) for subject, found in texts.items()}


async def cure(operator: Shell, found: Mapping[str, tuple[str, Sequence[str]]], subject: str) -> None:
    for command in found[subject][1]:
        await operator.run(command)


async def test_mg_1_broken_epochs_and_a_controller_that_no_session_owns_are_cured_under_our_server(
    tmp_path: Path,
) -> None:
    require(BROKER_VERSION)
    put_stock_tools(tmp_path / "bin")
    async with simulated_cluster(tmp_path) as cluster, shell(tmp_path, tmp_path / "bin") as operator:
        zk, connect = cluster.zk, cluster.connect
        state = znode_paths.partition_state("t", 5)
        broken = json.loads((await zk.get(state))[0]) | {"leader_epoch": -5}
        await zk.set(state, json.dumps(broken).encode())
        found = await blockers(connect)
        assert "t-5" in found["partition-states"][0]
        assert found["partition-states"][1] == [], "a replica that was not in sync would lose records"
        await zk.delete(state)
        await operator.run(f"zookeeper-shell.sh {connect} delete {znode_paths.CONTROLLER}")

        async def is_written() -> bool:
            written = topic_znodes.decode_state((await zk.get(state))[0], state)
            return written.leader_epoch >= 0

        await eventually(is_written)

        before = int((await zk.get(znode_paths.CONTROLLER_EPOCH))[0])
        await zk.set(znode_paths.CONTROLLER_EPOCH, b"many")
        found = await blockers(connect)
        assert "many" in found["controller"][0]
        await cure(operator, found, "controller")

        async def is_nobodys() -> bool:
            """/controller goes with no session."""
            path = znode_paths.CONTROLLER
            await zk.multi([Delete(path, -1), Create(path, znode_contents.encode_controller(9, 0))])
            return True

        await eventually(is_nobodys)
        found = await blockers(connect)
        assert "is persistent (it names 9)" in found["controller"][0]
        await cure(operator, found, "controller")
        await cluster.controlled_by("a")
        assert int((await zk.get(znode_paths.CONTROLLER_EPOCH))[0]) > before
        assert not (await blockers(connect)).keys() & {"controller", "partition-states"}


async def test_mg_1_znodes_that_migrating_controllers_could_not_write_are_opened(tmp_path: Path) -> None:
    """The superuser of ZooKeeper does it. The stock tool leaves an empty /migration, which is the next finding."""
    require(BROKER_VERSION)
    programs, known = tmp_path / "bin", zookeeper_users(tmp_path)
    put_stock_tools(programs)
    options = " ".join((*QUICK, *class_archives.of_tools(BROKER_VERSION), known.login))
    java = f'exec java {options} -cp "{classpath(BROKER_VERSION)}"'
    put_program(programs, "zookeeper-security-migration.sh", f'{java} kafka.admin.ZkSecurityMigrator "$@"')
    login = ("--java-security-auth-login-config", str(known.file))
    async with AsyncExitStack() as stack:
        zookeeper = await stack.enter_async_context(
            EmbeddedZooKeeper(
                tmp_path / "zookeeper", jvm=(*known.jvm, f"-Dzookeeper.superUser={OWNER}"), settings=known.settings
            )
        )

        async def client(access: Access = Access()) -> ZooKeeper:  # noqa: B008
            return await stack.enter_async_context(ZooKeeper(zookeeper.address, access=access))

        anybody = await client()
        for path in ("/brokers/ids", znode_paths.TOPICS, znode_paths.CONFIG_CHANGES):
            await anybody.ensure_path(path)
        brokers = await client(known.access)
        theirs = AclEntry(EVERYTHING, "auth", ""), AclEntry(READ, "world", "anyone")
        others = await client(Access(auth=[("digest", b"other:secret")], acl_of=always(theirs)))
        nobody = await client(Access(sasl=known.access.sasl, acl_of=always((AclEntry(READ, "world", "anyone"),))))
        for name, owner in (("ours", brokers), ("theirs", others), ("nobodys", nobody)):
            await owner.multi(topic_creates(name, topic(name, 1), {0: STATE}))
        operator = await stack.enter_async_context(shell(tmp_path, programs))

        found = await blockers(zookeeper.address, *login)
        text, commands = found["znode-acls"]
        assert "nobody may write /brokers/topics/nobodys" in text
        assert f"sasl:{OWNER}" in text
        assert "digest:other:" in text
        assert commands == [
            "zookeeper-security-migration.sh --zookeeper.acl=unsecure --zookeeper.connect " + zookeeper.address
        ]
        await cure(operator, found, "znode-acls")
        found = await blockers(zookeeper.address)
        assert "znode-acls" not in found
        await cure(operator, found, "migration")
        assert not (await blockers(zookeeper.address)).keys() & {"migration", "znode-acls"}
