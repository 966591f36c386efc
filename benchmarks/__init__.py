"""What docs/benchmarks.md claims, measured, with stock Kafka 3.9.1 in ZooKeeper mode beside it in the same run.

    bulk        one Alter of many partitions: time until answered, until all have moved
    list        List with many moves in flight
    rps         small requests on one connection, alone and beside a large Alter
    failover    from the loss of a controller to the next one's first answer

Every number is taken from outside, over sockets. `python -m benchmarks --help`.
"""
