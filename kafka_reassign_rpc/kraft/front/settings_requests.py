"""Requests about the settings that all servers share. They look like requests about configs of the controller, for
which clients take one of our ports: brokers know nothing of these settings.
"""

from collections.abc import Mapping
from typing import Any

from kafka_reassign_rpc.core.settings.server_settings import SERVER_SETTINGS
from kafka_reassign_rpc.protocol.frame_codec import decode_request, peek_request_header
from kafka_reassign_rpc.protocol.frame_errors import RemoteProtocolError
from kafka_reassign_rpc.protocol.versions import ApiKey

BROKER = 4
"""Kafka's ConfigResource.Type."""
SETTINGS_APIS = frozenset({ApiKey.DESCRIBE_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS})
MOST_BYTES = 16 << 10
"""Of a request that is looked into: a millisecond. One about settings has a tenth of it."""


def is_about_settings(frame: bytes, served: Mapping[int, tuple[int, int]]) -> bool:
    """Whether it names one broker, and of its configs nothing but settings of servers. `served`: the versions of the
    handler's APIs.
    """
    key = peek_request_header(frame).api_key
    if key not in SETTINGS_APIS or key not in served or len(frame) > MOST_BYTES:
        return False
    try:
        body: Any = decode_request(frame, served).body
    except RemoteProtocolError:
        return False  # the broker says so
    if len(body.resources) != 1 or body.resources[0].resource_type != BROKER:
        return False
    [asked] = body.resources
    if key == ApiKey.DESCRIBE_CONFIGS:
        names = asked.configuration_keys or ()
    else:
        names = [config.name for config in asked.configs]
    return bool(names) and SERVER_SETTINGS.keys() >= set(names)
