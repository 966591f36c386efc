"""How tests start Java. What lives for seconds must not compile, collect and verify more than it runs."""

from kafka_reassign_rpc.embedded_zookeeper import QUICK_START

QUICK = (*QUICK_START, "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote")
"""Options for every JVM of Kafka and Spark, beside its heap. Released jars need no verifying."""
