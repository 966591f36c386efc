"""Our Python client: `kafka_reassign_rpc.client`. Clients of others are in `tests/foreign_clients`."""
