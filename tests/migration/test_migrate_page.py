"""docs/migrate.md, word for word, on stock brokers under load that our server controls at the beginning."""

import json
from pathlib import Path

import pytest

from tests.mixed_clusters.mixed_cluster import BROKERS, behind_our_server
from tests.stock.jars import BROKER_VERSION, require
from tests.stock.kraft import VERSION as KRAFT_VERSION
from tests.stock.tools import Tools

from .clients import INTERNAL_TOPICS, Clients
from .hosts import Hosts
from .page import carry_out, section, shell

pytestmark = [pytest.mark.stock, pytest.mark.release, pytest.mark.timeout(900)]

RATE = 150_000


async def test_mg_5_the_page_takes_a_cluster_under_load_to_kraft_word_for_word_and_nothing_is_lost_or_left(
    tmp_path: Path,
) -> None:
    require(KRAFT_VERSION)
    async with behind_our_server(tmp_path, BROKERS, overrides=INTERNAL_TOPICS) as mixed:
        cluster = mixed.cluster
        hosts = await Hosts.of(mixed, tmp_path)
        await mixed.create("moves", {0: (1, 2)})
        await mixed.create("waits", {0: (1, 2)})
        await cluster.configure("a", {"partition.reassignments.max.per.cluster": "1"})
        targets = {("moves", 0): (2, 3), ("waits", 0): (2, 3)}
        assert set((await cluster.alter("a", targets, throttle=RATE)).values()) == {0}
        await cluster.configure("a", {"partition.reassignments.enabled": "false"})  # so one of them waits
        try:
            async with Clients(mixed, tmp_path), shell(tmp_path, hosts.programs) as operator:
                await carry_out(section("The way"), operator, hosts.replaced, hosts.done)
                moves = "--reassignment-json-file plan/rollback/rollback-0001.json"
                undo = f'kafka-reassign --bootstrap-server "$BROKERS" {moves}'
                assert "Successfully started partition reassignment" in await operator.run(f"{undo} --execute")
                await operator.run(f"until {undo} --verify | grep 'is completed'; do sleep 1; done")
            kept = json.loads((tmp_path / "left.json").read_bytes())
            assert len(kept["partitions"]) == 1
            assert set(await mixed.zk.children("/admin")) == {"delete_topics"}
            with Tools(BROKER_VERSION) as tools:
                for kind in ("brokers", "topics"):
                    words = ("--bootstrap-server", mixed.stock.bootstrap, "--entity-type", kind, "--describe")
                    shown = await tools.run("configs", *words)
                    assert shown.code == 0, shown
                    assert "throttled" not in shown.out
        finally:
            await hosts.kraft.kill()
