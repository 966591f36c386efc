"""A stock broker 3.9.1 with two log dirs: a plan empties one; `submit` is killed, goes on, and takes it back."""

import asyncio
import signal
from pathlib import Path

import pytest

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.client import KafkaError, ReassignmentClient
from kafka_reassign_rpc.core.throttling.replication_throttles import LOG_DIRS_RATE
from tests.pipeline.test_submit import submit
from tests.waiting import eventually

from .mixed_cluster import Replicas, behind_our_server

pytestmark = [pytest.mark.stock, pytest.mark.release]

WHERE: dict[int, Replicas] = dict.fromkeys(range(4), (1,))
"""By partition: each log dir gets two, of 0.5 MB each."""


async def test_dh_3_a_disk_of_a_stock_broker_is_emptied_under_kafkas_own_throttle_and_given_back(
    tmp_path: Path,
) -> None:
    first, other = str(tmp_path / "1" / "a"), str(tmp_path / "1" / "b")
    async with behind_our_server(tmp_path, (1,), per_broker={1: {"log.dirs": f"{first},{other}"}}) as mixed:
        await mixed.create("jbod", WHERE)
        bootstrap = mixed.stock.bootstrap
        with ReassignmentClient(bootstrap_servers=bootstrap) as client:

            def places() -> dict[int, tuple[str | None, str | None]]:
                [found] = client.describe_log_dirs({1: [("jbod", index) for index in WHERE]})
                assert found.error is None
                return {name.partition: (one.current, one.future) for name, one in found.replicas.items()}

            def rate() -> str | None:
                found = client.describe_broker_configs([1])[1]
                assert not isinstance(found, KafkaError)
                return next((one.value for one in found if one.name == LOG_DIRS_RATE), None)

            before = places()
            moving = [index for index, (current, _) in before.items() if current == first]
            assert len(moving) == 2
            snapshot, plan = str(tmp_path / "snapshot"), tmp_path / "plan"
            assert await ours("export", "--bootstrap-server", bootstrap, "--out", snapshot) == 0
            empty = ("--empty", f"1:{first}", "--topics", "jbod")
            assert await ours("plan", "disks", *empty, "--snapshot", snapshot, "--out", str(plan)) == 0
            process = submit(bootstrap, plan, "--throttle", "10000")
            try:
                await eventually(lambda: {places()[index] for index in moving} == {(first, other)}, within=60)
            finally:
                process.send_signal(signal.SIGKILL)
                process.wait()
            assert rate() == "10000"
            go_on = ("submit", "--plan", str(plan), "--bootstrap-server", bootstrap, "--execute")
            assert await ours(*go_on, "--throttle", "50MB") == 0
            assert set(places().values()) == {(other, None)}
            await eventually(lambda: rate() is None)
            await eventually(lambda: all(one.name.endswith("-delete") for one in Path(first).glob("jbod-*")))
            assert await ours(*go_on, "--undo") == 0
            assert places() == before


async def ours(*arguments: str) -> int:
    return await asyncio.to_thread(main, list(arguments))
