"""What docs/benchmarks.md claims, measured, with stock Kafka 3.9.1 in ZooKeeper mode beside it in the same run.

    bulk        one Alter of many partitions: time until answered, until all have moved
    list        List with many moves in flight
    rps         small requests on one connection, alone and beside a large Alter
    failover    from the loss of a controller to the next one's first answer
    cancel      cancels of all moves in flight
    progress    CPU time that the progress of moves costs
    queue       the reassignment queue: filling it, reading it, emptying it
    heal        the repair after the loss of a broker
    pipeline    plans of generated clusters: time, memory, balance, bytes to copy
    generate    plans and the stock tool's --generate, compared

`python -m benchmarks --help` lists the options. Most benchmarks measure from outside, over sockets.
"""
