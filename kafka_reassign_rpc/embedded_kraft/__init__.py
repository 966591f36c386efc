"""Stock Kafka in KRaft mode as child processes. It needs Java, and Maven, which fetches Kafka's jars once.

kraft_cluster   three nodes, each a broker and a controller: start, readiness, stop (NODES, HEAP_MB, START_S)
kafka_jars      the jars, by Maven
formatted_dirs  the directories of nodes, by one run of Kafka's tool
node_properties  where a node and its controllers are
kept_ports      ports for JVMs that bind them only seconds after they were chosen
"""
