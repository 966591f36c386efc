"""A server that speaks the Kafka protocol and is a cluster's reassignment controller. Its rooms: docs/architecture.md

embedded_zookeeper.py  a real ZooKeeper as a child process; the oldest Java that will do (MIN_JAVA)
embedded_kraft.py      stock Kafka in KRaft mode as child processes: three nodes, each a broker and a controller (NODES,
                       HEAP_MB, START_S), and Kafka's jars, by Maven
"""
