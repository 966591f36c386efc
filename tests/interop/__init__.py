"""The conformance suite: the same scenarios against stock Kafka 3.9.1 in ZooKeeper mode and against us.

wire          a bare client: one request, one response, exactly what stood on the wire
worlds        the two clusters behind one interface: stock brokers, and our server with simulated brokers
session       what a scenario does and records: its transcript
scenarios/    the scenarios, by chapter
comparing     what differs between two transcripts
differences   where we mean to answer otherwise, one by one, each with its reason
runner        runs scenarios on both worlds at the same time
recorded/     what stock Kafka did in each scenario; CI checks it live (tests.stock.live)
"""
