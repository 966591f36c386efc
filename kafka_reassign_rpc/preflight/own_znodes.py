"""The znodes of this product in ZooKeeper, and those of others below them.

The path shows what is ours: a name below our roots that no server gives is not ours.
`/admin/reassign_partitions` is Kafka's, a stock controller carries it out.
"""

import re
from typing import NamedTuple

from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper

_ID = r"/(?:0|[1-9][0-9]*)"
_NAME = r"/[^/]+"
_BELOW: dict[str, str] = {
    znode_paths.REASSIGNMENTS: f"{_NAME}(?:{_ID})?",
    znode_paths.REASSIGNMENT_REQUESTS: r"/[^/]*(?:[0-9]{10}|-[0-9]{9})",
    **dict.fromkeys(znode_paths.QUEUES, r"/part_[0-9]{10}"),
    znode_paths.CANCEL_IN_PROGRESS: "",
    znode_paths.THROTTLES: f"/(?:topics|brokers)(?:{_NAME})?",
    znode_paths.SETTINGS: "",
    znode_paths.LAST_CONTROL: "",
    znode_paths.FAILED_BROKERS: _ID,
    znode_paths.FAILED_LOG_DIRS: _ID,
    znode_paths.RECEIPTS: "/[0-9a-f]{16}_[0-9]+",
    znode_paths.REASSIGNMENT_SERVERS: _ID,
    znode_paths.REASSIGNMENT_SERVER_IDS: _ID,
    znode_paths.REASSIGN_CANCEL: "",
}
"""Our roots, and what a server or an operator's request creates below each."""
ROOTS = tuple(_BELOW)
_SHAPES = {root: re.compile(f"{re.escape(root)}(?:{below})?", re.DOTALL) for root, below in _BELOW.items()}


class OwnZnode(NamedTuple):
    """`created`: its czxid; `session`: of its owner, 0 if it is not ephemeral."""

    path: str
    created: int
    version: int
    session: int


class OwnZnodes(NamedTuple):
    """`ours`: children before their parents; `others`: paths of what somebody else has put below them."""

    ours: list[OwnZnode]
    others: list[str]

    def below(self, *roots: str) -> list[OwnZnode]:
        return [one for one in self.ours if root_of(one.path) in roots]


def root_of(path: str) -> str:
    return next((root for root in ROOTS if path == root or path.startswith(f"{root}/")), "")


def is_ours(path: str) -> bool:
    shape = _SHAPES.get(root_of(path))
    return shape is not None and shape.fullmatch(path) is not None


async def read(zk: ZooKeeper) -> OwnZnodes:
    """Raises ZkError."""
    found = OwnZnodes([], [])
    for root in ROOTS:
        paths = await zk.tree(root)
        for path, znode in zip(paths, await zk.multi_get(paths), strict=True):
            if znode is not None and is_ours(path):
                stat = znode[1]
                found.ours.append(OwnZnode(path, stat.czxid, stat.version, stat.ephemeral_owner))
            elif znode is not None:
                found.others.append(path)
    return found
