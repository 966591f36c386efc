"""`kafka-reassign-rpc leave` brings a cluster to the state in which nothing of this product is left.

facts        what ZooKeeper holds now
steps        what is left to do, with its writes (pure)
kept_file    what a stock controller has no place for
leave        reads, shows, asks, reads again, writes

`preflight.own_znodes` says which znodes are ours, and so go.
"""
