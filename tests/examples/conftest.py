"""The cluster that the client's tests use: six simulated brokers, a ZooKeeper and the server, by one command."""

from tests.python_client.conftest import bootstrap, client

__all__ = ["bootstrap", "client"]
