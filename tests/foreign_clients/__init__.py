"""Other Kafka clients, as they are published, against our server and against stock Kafka 3.9.1.

A test makes the same calls with a client on both clusters and compares what the client printed or returned.
"""
