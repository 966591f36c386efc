"""What the controller tells brokers: built from the latest state, batched per broker, repeated until confirmed."""

from kafka_reassign_rpc.brokers.channels import BrokerChannels
from kafka_reassign_rpc.brokers.requests import Sender

__all__ = ["BrokerChannels", "Sender"]
