"""Every API that writes to ZooKeeper, over the wire, while the server's connection to ZooKeeper is cut at each write of
a request, before and after ZooKeeper has carried it out.

Each request is answered once, as without a cut: what is answered as done is durable, and done once.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest

from kafka_reassign_rpc.api.api_definition import AclOperation
from kafka_reassign_rpc.api.dispatch import SERVER_APIS
from kafka_reassign_rpc.api.vendor_table import COMMANDS
from kafka_reassign_rpc.controller.duties import producer_ids
from kafka_reassign_rpc.controller.lifecycle.server_config import AuthorizerConfig
from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper import znode_paths, zookeeper_session
from tests.controller.cluster import NO_BALANCE, cluster
from tests.zookeeper.cutting_proxy import CuttingProxy, When

from . import cut_changes_of_configs, cut_changes_of_partitions  # noqa: F401 - their cases are in CASES
from .cut_cases import CASES, Tried

MOST = 25
"""Writes of a case: each makes far fewer."""

CHANGES = {
    AclOperation.CREATE,
    AclOperation.DELETE,
    AclOperation.ALTER,
    AclOperation.ALTER_CONFIGS,
    AclOperation.CLUSTER_ACTION,
    AclOperation.IDEMPOTENT_WRITE,
}
WRITE_NOTHING_HERE = {
    *("Fetch", "FindCoordinator", "DeleteRecords", "OffsetForLeaderEpoch", "AddPartitionsToTxn", "WriteTxnMarkers"),
    *("AlterReplicaLogDirs", "DeleteGroups", "OffsetDelete", "UpdateFeatures", "Envelope"),
}
"""APIs that change something at leaders, coordinators or in KRaft; what an envelope holds has a case of its own."""


def test_hm_3_and_sv_3_every_api_that_writes_has_a_case() -> None:
    changing = {api.name for api in SERVER_APIS.values() if any(acl.operation in CHANGES for acl in api.acl)}
    commands = {f"DoCommand {row.name}" for row in COMMANDS}
    tried = {name for one in CASES for name in one.apis}
    assert changing - WRITE_NOTHING_HERE - {"DoCommand"} | commands == tried


@asynccontextmanager
async def tried_cluster(
    zookeeper: EmbeddedZooKeeper, connect: str, when: When, event_log: Path
) -> AsyncIterator[Tried]:
    async with (
        CuttingProxy(zookeeper.address) as proxy,
        cluster(
            connect,
            connect_of_server=f"{proxy.address}/{connect.partition('/')[2]}",
            brokers=(1, 2, 3),
            event_log=event_log,
            broker_settings=NO_BALANCE,
            authorizer=AuthorizerConfig(frozenset(["User:ANONYMOUS"])),
            acls=True,
        ) as world,
    ):
        for name in ("standing", "grown", "elected", "configured"):
            await world.create_topic(name, {0: [1, 2], 1: [1, 2]})
        await world.create_topic("moved", {0: [1, 2]}, held=True)
        yield Tried(world, proxy, when)


@pytest.mark.parametrize("when", When, ids=[when.value for when in When])
async def test_hm_3_and_sv_3_each_request_is_answered_once_and_truly_wherever_the_connection_is_cut(
    zookeeper: EmbeddedZooKeeper,
    zk_connect: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    when: When,
) -> None:
    monkeypatch.setattr(producer_ids, "BLOCK", 1)
    for name in ("MIN_BACKOFF", "MAX_BACKOFF"):
        monkeypatch.setattr(zookeeper_session, name, 0.001)
    async with tried_cluster(zookeeper, zk_connect, when, tmp_path) as tried:
        epoch = await tried.zk.get(znode_paths.CONTROLLER_EPOCH)
        for one in CASES:
            tried.answered.clear()
            tried.number = -1
            for tried.place in count():
                tried.number += 1
                tried.cuts = 0
                assert tried.place < MOST
                try:
                    await one.run(tried)
                except Exception as error:
                    error.add_note(f"{one.run.__name__}, cut {when.value} write {tried.place}")
                    raise
                if not tried.cuts:
                    break
            assert tried.place > 0, f"{one.run.__name__}: nothing was cut"
            assert tried.answered == set(one.apis)
        assert await tried.zk.get(znode_paths.CONTROLLER_EPOCH) == epoch
        assert "another server is the controller" not in caplog.text
        assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
