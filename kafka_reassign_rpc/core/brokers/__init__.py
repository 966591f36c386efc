"""Brokers as places for replicas, and what they know.

cordon.py     brokers that get no new replica (KIP-1066); the list itself: `core.settings`
departure.py  whether brokers may go: what partitions lose, and whether the others have room
"""
