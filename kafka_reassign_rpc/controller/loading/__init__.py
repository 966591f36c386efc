"""Reads the cluster from ZooKeeper in bulk.

load_cluster   brokers, topics, partition states, moves, configs, KIP-236's znodes
load_queue     `/admin/reassign_partitions_queue`
load_replicas  the topics with replicas on one broker
large_znodes   decodes what may be large in a thread
"""
