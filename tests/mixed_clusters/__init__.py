"""Stock Kafka 3.9.1 brokers with our server as their controller: real replicas, real data."""
