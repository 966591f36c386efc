"""Stock Apache Kafka for tests: its jars (by Maven), its brokers as processes, its command-line tools.

jars       Kafka's jars, resolved once into `.jars/`
cluster    brokers 3.9.1 in ZooKeeper mode, each of which can be killed, frozen, restarted
kraft      nodes in KRaft mode: 4.1.0, or another release
own_brokers    why a file starts brokers of its own
loaded_classes, class_archives    what halves the start of a node and of a tool
tools      the stock tools, run inside one long-lived JVM (ToolDriver.java) per version
capture    a proxy that records frames; `python -m tests.stock.golden` writes the golden frames
"""
