"""kafka-acls.sh 3.9.1 and 4.1 against this server and against a stock broker: the same output, the same ACLs.

Ours runs live. A stock broker runs beside it where tests marked `more` do more, and must do what is recorded of it.
"""

import re
from pathlib import Path

import pytest

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.interop.authorization.test_same_as_stock_broker import RECORDED, Side, ours, stock
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.live import Transcript, plain, runs_live
from tests.stock.tools import Tools

pytestmark = [pytest.mark.stock, pytest.mark.release, pytest.mark.timeout(600)]
VERSIONS = (BROKER_VERSION, "4.1.0")

_IN_A_TRACE = re.compile(r"at \S+\(|Caused by: java|\.\.\. \d+ more")
STEPS = (
    "--add --allow-principal User:alice --allow-host 10.0.0.1 --operation Read --topic t",
    "--add --deny-principal User:bob --operation All --topic pre- --resource-pattern-type prefixed",
    "--add --allow-principal User:alice --producer --topic t --transactional-id tx",
    "--add --allow-principal User:carol --consumer --topic t --group g",
    "--add --allow-principal User:broker --operation ClusterAction --cluster",
    "--list --topic t",
    "--list --topic pre-fixed --resource-pattern-type match",
    "--list --principal User:alice",
    "--list",
    "--remove --force --allow-principal User:alice --allow-host 10.0.0.1 --operation Read --topic t",
    "--remove --force --group g",
    "--list",
    "--remove --force --topic pre-fixed --resource-pattern-type match",
    "--list",
    "--add --allow-principal nobody --operation Read --topic t",
    "--add --allow-principal User:x --operation Read --topic a/b",
)


async def transcript(side: Side, version: str, address: str) -> Transcript:
    """The output of each step, its lines sorted: their order is that of hashes. Without the ACLs of `Side.grant`."""
    found: Transcript = []
    with Tools(version) as tools:
        for number, step in enumerate(STEPS):
            done = await tools.run("acls", "--bootstrap-server", address, *step.split())
            lines = [re.sub(r"\s+", " ", line).strip() for line in (done.out + done.err).splitlines()]
            kept = sorted(
                line for line in lines if line and "User:ANONYMOUS" not in line and not _IN_A_TRACE.match(line)
            )
            found.append((f"{number} {step}", [done.code, kept]))
    return found


@pytest.mark.parametrize("version", VERSIONS)
async def test_sv_5_kafka_acls_does_here_what_it_does_on_a_stock_broker(
    version: str, tmp_path: Path, zookeeper: EmbeddedZooKeeper
) -> None:
    require(version)
    name = f"kafka-acls-{version}"
    async with ZooKeeper(zookeeper.address) as outside:
        for chroot in ("ours", "stock"):
            await outside.ensure_path(f"/acls-tool-{chroot}-{version}")
    async with ours(f"{zookeeper.address}/acls-tool-ours-{version}", brokers=()) as here:
        mine = plain(await transcript(here, version, here.address))
    if runs_live():
        async with stock(f"{zookeeper.address}/acls-tool-stock-{version}", tmp_path) as there:
            RECORDED.check(name, await transcript(there, version, there.address))
    for (label, done), (step, wanted) in zip(mine, RECORDED.get(name), strict=True):
        assert (label, done) == (step, wanted)
