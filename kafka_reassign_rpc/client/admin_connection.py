"""Makes kafka-python's admin client, with its errors as ours; for KRaft controllers, too, which it does not know."""

from typing import Any

import kafka.errors as kafka_errors
from kafka.admin import KafkaAdminClient
from kafka.net.compat import KafkaNetClient

from kafka_reassign_rpc.client.client_errors import Unauthenticated, Unreachable, raise_for
from kafka_reassign_rpc.client.outgoing_request import Outgoing
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import DescribeClusterRequest, MetadataResponse

CONTROLLERS = 2
"""As DescribeCluster's endpoint type."""


class Controllers(KafkaNetClient):  # type: ignore[misc]
    """Knows KRaft controllers instead of brokers: they do not answer Metadata, but tell of each other (KIP-919)."""

    def __init__(self, **configs: Any) -> None:
        super().__init__(**configs)
        self.refused: KafkaError | None = None
        self._manager.cluster._do_refresh_metadata = self._refresh

    async def learn(self, node: Any) -> None:
        """Take in what a node says of the controllers. Raises what it answers with."""
        request = DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=CONTROLLERS)
        answer = await self._manager.send(Outgoing(request, 1), node_id=node)
        raise_for(answer.error_code, answer.error_message)
        found = [
            MetadataResponse.MetadataResponseBroker(one.broker_id, one.host, one.port, one.rack, version=1)
            for one in answer.brokers
        ]
        self._manager.cluster.update_metadata(
            MetadataResponse(version=1, brokers=found, controller_id=answer.controller_id, topics=[])
        )

    async def _refresh(self, node: Any) -> None:
        node = self._manager.least_loaded_node() if node is None else node
        if node is None:
            raise kafka_errors.NodeNotReadyError("no controller can be reached")
        try:
            await self.learn(node)
        except KafkaError as error:
            if not self._manager.bootstrapped:  # it would be asked again and again
                self.refused = error
                self._manager.closed = True
            raise


def connect(configs: dict[str, Any]) -> KafkaAdminClient:
    """Blocks until a node has answered. Raises Unreachable, Unauthenticated, and KafkaConfigurationError.

    Also what a node answers with that is no KRaft controller, where `bootstrap_controllers` stands for
    `bootstrap_servers`.
    """
    if "bootstrap_controllers" in configs:
        rest = {name: value for name, value in configs.items() if name != "bootstrap_controllers"}
        configs = {**rest, "bootstrap_servers": configs["bootstrap_controllers"], "kafka_client": Controllers}
    admin = KafkaAdminClient.__new__(KafkaAdminClient)
    try:
        admin.__init__(**configs)
    except kafka_errors.KafkaConfigurationError:
        raise
    except kafka_errors.KafkaError as error:
        _clear_away(admin)
        refused = getattr(getattr(admin, "_client", None), "refused", None)
        if refused is not None:
            raise refused from error
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
