"""The conformance suite: the same scenarios on stock Kafka 3.9.1 in ZooKeeper mode and on our cluster.

wire          a bare client: one request, one response, exactly as on the wire
clusters      the two clusters behind one interface: stock brokers, and our server with simulated brokers
session       what a scenario can do, and the transcript that it records
scenarios/    the scenarios, by chapter
comparing     finds what differs between two transcripts
differences   the differences that we intend, one by one, each with its reason
runner        runs scenarios on a cluster
recorded/     what stock Kafka did in each scenario; CI checks it live (tests.stock.live)
"""
