"""Reads the cluster from ZooKeeper in bulk.

load_cluster   all of it: brokers, configs, marks, KIP-236's znodes, and what the others read
load_topics    topics, partition states, moves
children       children of znodes that may not exist
load_queue     `/admin/reassign_partitions_queue`
load_replicas  the topics with replicas on one broker
large_znodes   decodes what may be large in a thread
"""
