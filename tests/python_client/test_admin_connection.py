"""The border to kafka-python: what it leaves out, and we do not."""

import socket

import pytest
from kafka.errors import KafkaConnectionError
from kafka.net.transport import KafkaTCPTransport

from kafka_reassign_rpc.client.admin_connection import read_to_the_end


def test_sv_5_an_answer_is_read_although_the_connection_has_ended_behind_it(caplog: pytest.LogCaptureFixture) -> None:
    """As a node refuses a login: the reason, then the end. Without that, clients knew of no reason."""
    near, far = socket.socketpair()
    with near:
        near.setblocking(False)
        transport = read_to_the_end(KafkaTCPTransport(None, near))
        far.sendall(b"why")
        far.close()
        assert transport._sock_recv() == (b"why", None)
        for _ in range(2):
            data, error = transport._sock_recv()
            assert (data, type(error)) == (b"", KafkaConnectionError)
