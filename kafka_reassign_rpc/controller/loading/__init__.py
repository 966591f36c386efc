"""Reads the cluster from ZooKeeper in bulk.

load_cluster   all of it: brokers, configs, marks, KIP-236's znodes and queue, and what the others read
load_topics    topics, partition states, moves; how many states at once (CHUNK). How many reads are under way:
               READS_IN_FLIGHT of `zookeeper.zookeeper_client`; reads of znodes that may not exist, or may be large
"""
