"""A real ZooKeeper as a child process, from the jars of pyspark's wheel. Needs only Java.

zookeeper_process.py   one server: start, readiness, kill, stop
java.py                where Java and the jars are; the oldest Java that will do (MIN_JAVA)
child_process.py       child processes that never outlive their parent
"""

from kafka_reassign_rpc.embedded_zookeeper.java import QUICK_START, JavaNotFound, find_java
from kafka_reassign_rpc.embedded_zookeeper.zookeeper_process import EmbeddedZooKeeper, ZooKeeperFailed

__all__ = ["QUICK_START", "EmbeddedZooKeeper", "JavaNotFound", "ZooKeeperFailed", "find_java"]
