"""`kafka-reassign-rpc leave`: brings a cluster to the state in which nothing of this product is left.

facts        what ZooKeeper holds now
steps        what is left to be done, in order, with the writes of each step (pure)
kept_file    the file that keeps what a stock controller has no place for (pure)
leave        reads, shows, asks, reads again, writes one step, and begins again until nothing is left

Which znodes are ours, and so go, `preflight.own_znodes` says.
"""
