"""Clients as they are installed, each by its own code, against us and against stock Kafka 3.9.1.

A test drives the client through the same calls on both and compares what it printed or returned.
"""
