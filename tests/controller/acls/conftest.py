"""Fixtures of the tests of ZooKeeper: a client through a proxy, and a ZooKeeper that a test may kill."""

from tests.zookeeper.conftest import own_zookeeper, proxy, through_proxy

__all__ = ["own_zookeeper", "proxy", "through_proxy"]
