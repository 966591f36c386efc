"""`kafka-reassign-rpc leave` brings a cluster to the state in which nothing of this product is left.

facts        what ZooKeeper holds; which znodes are ours says `preflight.own_znodes`
steps        what is left to do, with its writes (pure)
kept_file    what a stock controller has no place for
leave        the loop: reads, asks, reads again, writes; how often it looks (LOOK_S)
"""
