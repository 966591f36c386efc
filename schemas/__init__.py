"""The JSON message schemas that `kafka_reassign_rpc.protocol.messages` turns into classes."""
