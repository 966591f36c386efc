"""What the controller tells brokers: built from the latest state, batched per broker, repeated until confirmed."""

from kafka_reassign_rpc.controller_channel.channel_manager import ChannelManager
from kafka_reassign_rpc.controller_channel.request_builders import Sender

__all__ = ["ChannelManager", "Sender"]
