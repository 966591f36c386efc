"""Measures what docs/benchmarks.md claims, with stock Kafka 3.9.1 in ZooKeeper mode beside it in the same run.

`python -m benchmarks --help` lists the benchmarks and options. The docstring of each module says what it measures. Most
of them measure from outside, over sockets.
"""
