"""Makes kafka-python's admin client, with its errors as ours."""

from typing import Any

import kafka.errors as kafka_errors
from kafka.admin import KafkaAdminClient

from kafka_reassign_rpc.client.errors import Unauthenticated, Unreachable


def connect(configs: dict[str, Any]) -> KafkaAdminClient:
    """Blocks until a node has answered. Raises Unreachable, Unauthenticated, and KafkaConfigurationError."""
    admin = KafkaAdminClient.__new__(KafkaAdminClient)
    try:
        admin.__init__(**configs)
    except kafka_errors.KafkaConfigurationError:
        raise
    except kafka_errors.KafkaError as error:
        _clear_away(admin)
        text = str(error.args[0]) if error.args else type(error).__name__
        if isinstance(error, kafka_errors.SaslAuthenticationFailedError):
            raise Unauthenticated(text) from error
        raise Unreachable(text) from error
    except BaseException:
        _clear_away(admin)
        raise
    return admin


def _clear_away(admin: KafkaAdminClient) -> None:
    """A constructor that failed has left its thread and its sockets behind."""
    if hasattr(admin, "_net"):
        admin._metrics.close()
        admin._client.close()
        admin._net.stop()
