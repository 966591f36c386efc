"""The hand-written jute, compared with aiozk's classes."""

import contextlib
import struct

import pytest
from aiozk import protocol
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.zookeeper import jute
from kafka_reassign_rpc.zookeeper.operations import Check, Create, Delete, Op, SetData, Stat
from kafka_reassign_rpc.zookeeper.zookeeper_errors import BadVersion, NoAuth, TransactionFailed

names = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=12)
znode_paths = st.lists(names, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))
versions = st.integers(-1, 2**31 - 1)
data = st.binary(max_size=60)
ops = st.one_of(
    st.builds(Check, znode_paths, versions),
    st.builds(Delete, znode_paths, versions),
    st.builds(SetData, znode_paths, data, versions),
    st.builds(Create, znode_paths, data, st.booleans(), st.booleans()),
)
xids = st.integers(1, 2**31 - 1)
longs = st.integers(-(2**63), 2**63 - 1)
ints = st.integers(-(2**31), 2**31 - 1)
stats = st.builds(Stat, longs, longs, longs, longs, ints, ints, ints, longs, ints, ints, longs)
chroots = st.sampled_from(["", "/kafka", "/a/b"])


def as_aiozk(op: Op, chroot: str) -> protocol.request.Request:
    path = chroot + op.path
    match op:
        case Check():
            return protocol.CheckVersionRequest(path=path, version=op.version)
        case Delete():
            return protocol.DeleteRequest(path=path, version=op.version)
        case SetData():
            return protocol.SetDataRequest(path=path, data=op.data, version=op.version)
        case Create():
            request = protocol.Create2Request(path=path, data=op.data, acl=[protocol.UNRESTRICTED_ACCESS])
            request.set_flags(op.ephemeral, op.sequence)
            return request


def stat_bytes(stat: Stat) -> bytes:
    return struct.pack(">qqqqiiiqiiq", *stat)


def answer(body: bytes) -> bytes:
    return b"\0" * 16 + body


@given(st.lists(ops, max_size=8), xids, chroots)
def test_236_14_a_transaction_has_the_bytes_that_aiozk_makes(batch: list[Op], xid: int, chroot: str) -> None:
    request = protocol.TransactionRequest()
    for op in batch:
        request.add(as_aiozk(op, chroot))
    acls = [jute.OPEN_ACL for op in batch if isinstance(op, Create)]
    packet = jute.encode_multi(xid, batch, chroot, acls)
    assert packet == request.serialize(xid)
    unused = (jute.ACL_ROOM - len(jute.OPEN_ACL)) * sum(isinstance(op, Create) for op in batch)
    assert len(packet) == jute.MULTI_OVERHEAD + sum(jute.size_of(op, chroot) for op in batch) - unused


@given(st.lists(st.tuples(ops, stats), max_size=8), chroots)
def test_236_14_the_answer_to_a_transaction_reads_as_aiozk_reads_it(batch: list[tuple[Op, Stat]], chroot: str) -> None:
    body = b""
    expected: list[object] = []
    for op, stat in batch:
        match op:
            case SetData():
                body += struct.pack(">ibi", 5, 0, 0) + stat_bytes(stat)
                expected.append(stat)
            case Create():
                body += struct.pack(">ibi", 15, 0, 0) + jute.ustring(chroot + op.path) + stat_bytes(stat)
                expected.append((op.path, stat))
            case _:
                body += struct.pack(">ibi", 13 if isinstance(op, Check) else 2, 0, 0)
                expected.append(None)
    body += struct.pack(">ibi", -1, 1, -1)
    assert jute.decode_multi(answer(body), [op for op, _ in batch], chroot) == expected
    theirs = protocol.TransactionResponse.deserialize(body).responses
    assert len(theirs) == len(expected)
    for response, mine in zip(theirs, expected, strict=True):
        if isinstance(mine, Stat):
            assert (response.stat.created_zxid, response.stat.version) == (mine.czxid, mine.version)


@given(st.lists(ops, min_size=1, max_size=6), st.data())
def test_sv_3_a_failed_transaction_names_the_operation_at_fault(batch: list[Op], draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(batch) - 1))
    codes = [0 if n < at else -103 if n == at else -2 for n in range(len(batch))]
    body = b"".join(struct.pack(">ibii", -1, 0, code, code) for code in codes) + struct.pack(">ibi", -1, 1, -1)
    with pytest.raises(TransactionFailed) as caught:
        jute.decode_multi(answer(body), batch)
    assert caught.value.index == at
    assert isinstance(caught.value.error, BadVersion)
    assert caught.value.error.path == batch[at].path


@given(st.lists(ops, max_size=4), st.binary(max_size=120))
def test_sv_6_a_garbled_answer_to_a_transaction_is_a_typed_error(batch: list[Op], body: bytes) -> None:
    with contextlib.suppress(TransactionFailed, struct.error, ValueError):
        jute.decode_multi(answer(body), batch)


@given(xids, longs, st.lists(znode_paths, max_size=5), st.lists(znode_paths, max_size=5), st.lists(znode_paths))
def test_sv_3_set_watches_has_the_bytes_that_aiozk_makes(
    xid: int, zxid: int, changed: list[str], exist: list[str], children: list[str]
) -> None:
    request = protocol.SetWatchesRequest(
        relative_zxid=zxid, data_watches=changed, exist_watches=exist, child_watches=children
    )
    assert jute.encode_set_watches(xid, zxid, [changed, exist, children]) == request.serialize(xid)


@given(st.lists(st.tuples(znode_paths, st.none() | st.tuples(data, stats))))
def test_sv_3_bulk_reads_give_data_or_none_per_path(found: list[tuple[str, tuple[bytes, Stat] | None]]) -> None:
    body = b""
    for _, one in found:
        if one is None:
            body += struct.pack(">ibii", -1, 0, -101, -101)
        else:
            body += struct.pack(">ibii", 4, 0, 0, len(one[0])) + one[0] + stat_bytes(one[1])
    paths = [path for path, _ in found]
    assert jute.decode_data_reads(answer(body), paths) == [one for _, one in found]


def test_sv_3_a_bulk_read_raises_what_is_not_a_missing_znode() -> None:
    with pytest.raises(NoAuth, match="/secret"):
        jute.decode_data_reads(answer(struct.pack(">ibii", -1, 0, -102, -102)), ["/secret"])
    with pytest.raises(NoAuth, match="/secret"):
        jute.decode_children_reads(answer(struct.pack(">ibii", -1, 0, -102, -102)), ["/secret"])


def test_sv_3_null_data_reads_as_empty() -> None:
    stat = Stat(*range(11))
    body = struct.pack(">ibii", 4, 0, 0, -1) + stat_bytes(stat)
    assert jute.decode_data_reads(answer(body), ["/a"]) == [(b"", stat)]


@given(st.lists(znode_paths), st.integers(20, 200))
def test_236_14_paths_are_split_in_order_and_none_is_lost(paths: list[str], limit: int) -> None:
    parts = list(jute.split_paths(paths, limit, 4))
    assert [path for part in parts for path in part] == paths
    for part in parts:
        assert part
        assert len(part) == 1 or sum(4 + len(path.encode()) for path in part) <= limit


def test_sv_3_a_path_without_a_slash_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="begins with a slash"):
        jute.encode_multi(1, [Check("a", 0)])
    assert jute.real_path("/kafka", "/") == "/kafka"
    assert jute.real_path("", "/") == "/"
