"""/admin/reassignment_last_control (docs/znodes.md): {"version":1,"epoch":7,"until":1790000000000}."""

import logging
from contextlib import suppress
from typing import Annotated

import msgspec

from kafka_reassign_rpc.core.failover.absence import LastControl
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.operations import Create, Op, SetData
from kafka_reassign_rpc.zookeeper.znode_contents import LAST_MS
from kafka_reassign_rpc.zookeeper.znode_decoder import MAX_INT32, BadZnode, decode_json
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import BadVersion, NoAuth, NoNode

log = logging.getLogger(__name__)

PATH = znode_paths.LAST_CONTROL


class _Mark(msgspec.Struct, omit_defaults=True):
    epoch: Annotated[int, msgspec.Meta(ge=0, le=MAX_INT32)]
    until: Annotated[int, msgspec.Meta(ge=0, le=LAST_MS)]
    version: int
    kraft: bool = False


_mark = msgspec.json.Decoder(_Mark)
_json = msgspec.json.Encoder()


def decode_last_control(data: bytes, path: str = PATH) -> LastControl:
    """Raises BadZnode."""
    found = decode_json(_mark, data, path)
    if found.version != 1:
        raise BadZnode(path, f"unknown version {found.version}")
    return LastControl(found.epoch, found.until, found.kraft)


def encode_last_control(last: LastControl) -> bytes:
    return _json.encode(_Mark(last.epoch, last.until, 1, last.kraft))


def write(last: LastControl, *, exists: bool) -> Op:
    """Only a controller writes it: its epoch fences the write."""
    data = encode_last_control(last)
    return SetData(PATH, data, -1) if exists else Create(PATH, data)


async def read(zk: ZooKeeper) -> LastControl | str | None:
    """None if no server of ours has left a mark, a text if it cannot be read. Raises ZkError."""
    try:
        return decode_last_control((await zk.get(PATH))[0])
    except NoNode:
        return None
    except (BadZnode, NoAuth) as error:
        log.error("all that waits in the queue is held until it is released: %s", error)
        return str(error)


async def mark_kraft(zk: ZooKeeper) -> None:
    """Raises ZkError. If a server of ours was elected meanwhile, its write of the mark counts."""
    try:
        with suppress(NoNode, BadVersion, BadZnode):
            data, stat = await zk.get(PATH)
            last = decode_last_control(data)
            if not last.kraft:
                await zk.set(PATH, encode_last_control(LastControl(last.epoch, last.until, kraft=True)), stat.version)
    except NoAuth as error:
        log.warning("after a rollback what waits is held only if that was long: that KRaft controls the cluster is not"
                    " noted (%s)", error)  # fmt: skip
