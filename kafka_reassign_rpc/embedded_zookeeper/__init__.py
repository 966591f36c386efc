"""A real ZooKeeper as a child process, from the jars that pyspark's wheel ships. Needs only Java."""

from kafka_reassign_rpc.embedded_zookeeper.java import JavaNotFound, find_java
from kafka_reassign_rpc.embedded_zookeeper.zookeeper_process import EmbeddedZooKeeper, ZooKeeperFailed

__all__ = ["EmbeddedZooKeeper", "JavaNotFound", "ZooKeeperFailed", "find_java"]
