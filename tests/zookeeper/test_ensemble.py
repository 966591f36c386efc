"""Three servers: the leader is lost, our own server is lost, a server freezes."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kafka_reassign_rpc.embedded_zookeeper import EmbeddedZooKeeper
from kafka_reassign_rpc.zookeeper.operations import Create, SetData, Stat
from kafka_reassign_rpc.zookeeper.transactions import transact_many
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NotSent, Unknown
from tests.zookeeper.ensemble import Ensemble
from tests.zookeeper.helpers import Events

pytestmark = pytest.mark.gate


@pytest_asyncio.fixture
async def ensemble(tmp_data: Path) -> AsyncIterator[Ensemble]:
    async with Ensemble(tmp_data) as servers:
        yield servers


def server_of(zk: ZooKeeper, ensemble: Ensemble) -> EmbeddedZooKeeper:
    port = zk._session.connection().port
    return next(server for server in ensemble.servers if server.port == port)


async def write(zk: ZooKeeper, data: bytes) -> None:
    """Writes until one write is known to be done."""
    async with asyncio.timeout(60):
        while True:
            try:
                await zk.set("/mine", data)
            except (NotSent, Unknown):
                await asyncio.sleep(0.01)
            else:
                return


async def test_sv_3_the_session_outlives_the_leader_its_own_server_and_a_frozen_one(ensemble: Ensemble) -> None:
    async with ZooKeeper(ensemble.address, session_timeout_ms=15_000) as zk:
        session, events = zk.session_id, Events(zk)
        await zk.create("/mine", ephemeral=True)

        leader = await ensemble.leader()
        await leader.kill()
        await write(zk, b"another leads")
        await leader.start()

        own = server_of(zk, ensemble)
        await own.kill()
        await write(zk, b"over another server")
        await own.start()
        assert (zk.session_id, "over" in events.names) == (session, False)

    # A frozen leader would stop the whole ensemble for its own timeouts: this is about the client's.
    leader = await ensemble.leader()
    followers = [server for server in ensemble.servers if server is not leader]
    async with ZooKeeper(",".join(server.address for server in followers), session_timeout_ms=15_000) as zk:
        session, events = zk.session_id, Events(zk)
        await zk.create("/mine", ephemeral=True)
        frozen = server_of(zk, ensemble)
        frozen.send_signal(signal.SIGSTOP)
        try:
            await write(zk, b"past the frozen one")
        finally:
            frozen.send_signal(signal.SIGCONT)
        assert (zk.session_id, "over" in events.names) == (session, False)


async def test_hm_3_commits_go_on_over_another_server_of_the_ensemble_and_each_is_made_once(ensemble: Ensemble) -> None:
    """Our server freezes with transactions in its queue, or dies with them. It gets them again when it is back."""
    async with ZooKeeper(ensemble.address, session_timeout_ms=15_000) as zk:
        session, events = zk.session_id, Events(zk)
        await zk.create("/log")
        made = 0
        progress = asyncio.Event()

        async def commits(count: int) -> None:
            nonlocal made
            for _ in range(count):
                results = await transact_many(
                    zk,
                    [[Create("/log/n", sequence=True), SetData("/log", b"", made + place)] for place in range(8)],
                    session,
                )
                progress.set()
                for _, written in results:
                    made += 1
                    assert isinstance(written, Stat)
                    assert written.version == made, "each was made once, in order"

        for signal_ in (signal.SIGKILL, signal.SIGSTOP):
            leader = await ensemble.leader()
            own = server_of(zk, ensemble)
            lost = events.names.count("disconnected")
            running = asyncio.create_task(commits(60))
            progress.clear()
            await progress.wait()
            frozen = signal_ == signal.SIGSTOP and own is not leader
            if frozen:
                own.send_signal(signal.SIGSTOP)
            else:
                await own.kill()
            await events.until("disconnected", lost + 1)
            await running
            if frozen:
                own.send_signal(signal.SIGCONT)
            else:
                await own.start()
            await commits(5)
        assert len(await zk.children("/log")) == made
        assert (zk.session_id, "over" in events.names) == (session, False)
