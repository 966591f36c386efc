"""What a node answers: one module per Kafka API key, written against the ports of `api.ports`."""
