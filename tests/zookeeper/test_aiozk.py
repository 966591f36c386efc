"""The parts of aiozk that the client relies on. A release that changes one of them fails here, not in a cluster."""

import inspect

from aiozk import protocol
from aiozk.connection import Connection
from aiozk.session import Session
from aiozk.states import SessionStateMachine, States

from kafka_reassign_rpc.zookeeper.tcp_connection import ZooKeeperConnection
from kafka_reassign_rpc.zookeeper.zookeeper_session import ZooKeeperSession


def test_sv_3_the_classes_that_we_extend_are_made_as_before() -> None:
    assert list(inspect.signature(Session.__init__).parameters) == [
        *("self", "servers", "timeout", "retry_policy", "allow_read_only", "read_timeout")
    ]
    assert list(inspect.signature(Connection.__init__).parameters) == [
        *("self", "host", "port", "watch_handler", "read_timeout")
    ]
    assert list(inspect.signature(Connection.close).parameters) == ["self", "timeout"]


async def test_sv_3_the_fields_that_we_use_are_still_there() -> None:
    session = Session("[::1]:2181,localhost:1", 3, None, False, None)
    for field in ("hosts", "conn", "state", "xid", "last_zxid", "session_id", "timeout", "password", "started"):
        assert field in vars(session), field
    assert isinstance(session.state, SessionStateMachine)
    connection = Connection("localhost", 1, print, None)
    for field in ("reader", "writer", "pending", "pending_specials", "closing", "host", "port"):
        assert field in vars(connection), field
    connection.pending[1] = "one"
    connection.pending_specials[-2].append("two")
    assert sorted(connection.drain_all_pending()) == ["one", "two"]


def test_sv_3_everything_of_aiozk_that_waits_or_retries_is_replaced() -> None:
    for name in ("start", "close", "send", "repair_loop", "set_heartbeat"):
        assert name in vars(ZooKeeperSession), name
    for name in ("connect", "send", "close"):
        assert name in vars(ZooKeeperConnection), name


def test_sv_3_the_state_machine_allows_the_transitions_that_we_make() -> None:
    for step in (
        (States.LOST, States.CONNECTED),
        (States.CONNECTED, States.SUSPENDED),
        (States.SUSPENDED, States.CONNECTED),
        (States.SUSPENDED, States.LOST),
    ):
        assert step in SessionStateMachine.valid_transitions


def test_sv_3_the_messages_that_we_send_through_aiozk_have_their_fields() -> None:
    assert [name for name, _ in protocol.ConnectRequest.parts] == [
        *("protocol_version", "last_seen_zxid", "timeout", "session_id", "password", "read_only")
    ]
    assert [name for name, _ in protocol.ConnectResponse.parts] == [
        *("protocol_version", "timeout", "session_id", "password")
    ]
    assert (protocol.AuthRequest.opcode, protocol.AuthRequest.special_xid) == (100, -4)
    assert protocol.response_xref[100] is protocol.AuthResponse
