"""Stock Kafka in KRaft mode as child processes. It needs Java, and Maven, which fetches Kafka's jars once.

kraft_cluster   three nodes, each a broker and a controller: start, readiness, stop (NODES, HEAP_MB, START_S);
                their directories, by one run of Kafka's tool; ports for JVMs that bind them only seconds after they
                were chosen
kafka_jars      the jars, by Maven
"""
