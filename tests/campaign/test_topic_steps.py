"""What is left out where a stock broker would lose records of its own accord."""

import json
from typing import cast

import pytest

from kafka_reassign_rpc.zookeeper import znode_paths

from .site import Site
from .topic_steps import LEFT_TO_STOCK, batch_moves, cancel, move

MOVES = {"version": 3, "partitions": {"0": [1, 2], "1": [1, 2, 3], "2": [1, 2]}, "adding_replicas": {"1": [3]},
         "removing_replicas": {"2": [2]}}  # fmt: skip


class Zk:
    def __init__(self) -> None:
        self.batch: dict[str, object] | None = None

    async def get(self, path: str) -> tuple[bytes, None]:
        assert path == znode_paths.topic("t")
        return json.dumps(MOVES).encode(), None

    async def create(self, path: str, data: bytes) -> None:
        assert path == znode_paths.REASSIGN_PARTITIONS
        self.batch = json.loads(data)


class Here:
    def __init__(self, *, stock_controls: bool) -> None:
        self._stock_controls = stock_controls
        self.zk = Zk()

    async def stock_controls(self) -> bool:
        return self._stock_controls

    async def controller_address(self) -> tuple[str, int]:
        return "127.0.0.1", 1


@pytest.mark.parametrize(("stock_controls", "batched"), [(True, [0]), (False, [0, 1, 2])])
async def test_sv_4_a_batch_leaves_out_what_moves_where_a_stock_broker_controls(
    *, stock_controls: bool, batched: list[int]
) -> None:
    here = Here(stock_controls=stock_controls)
    assert await batch_moves(cast(Site, here), "t", {0: [1, 3], 1: [1, 4], 2: [3, 4]}) == "answered written"
    assert here.zk.batch is not None
    assert [entry["partition"] for entry in cast(list[dict[str, int]], here.zk.batch["partitions"])] == batched


async def test_sv_4_no_step_asks_a_stock_controller_to_end_a_move_or_to_change_its_target() -> None:
    here = cast(Site, Here(stock_controls=True))
    assert await cancel(here, "t", [1, 2]) == f"answered {LEFT_TO_STOCK}"
    assert await move(here, "t", {1: [1, 4]}) == f"answered {LEFT_TO_STOCK}"
    assert await batch_moves(here, "t", {2: [3, 4]}) == f"answered {LEFT_TO_STOCK}"
