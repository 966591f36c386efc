"""Connects kafka-python's admin client, to brokers or to KRaft controllers, and translates its errors into ours."""

from typing import Any

import kafka.errors as kafka_errors
from kafka.admin import KafkaAdminClient
from kafka.net.compat import KafkaNetClient

from kafka_reassign_rpc.client.client_errors import Unauthenticated, Unreachable, raise_for
from kafka_reassign_rpc.client.kafka_python_request import KafkaPythonRequest
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import DescribeClusterRequest, MetadataResponse

CONTROLLERS = 2
"""The endpoint type of KRaft controllers in DescribeCluster."""


class KRaftControllers(KafkaNetClient):  # type: ignore[misc]
    """A network client for KRaft controllers, which kafka-python itself does not know.

    Controllers do not serve Metadata. They list each other in DescribeCluster (KIP-919).
    """

    def __init__(self, **configs: Any) -> None:
        super().__init__(**configs)
        self.refused: KafkaError | None = None
        self._manager.cluster._do_refresh_metadata = self._refresh

    async def learn(self, node: Any) -> None:
        """Ask a node for the controllers and keep them as the cluster's nodes. Raises the node's error."""
        request = DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=CONTROLLERS)
        answer = await self._manager.send(KafkaPythonRequest(request, 1), node_id=node)
        raise_for(answer.error_code, answer.error_message)
        found = [
            MetadataResponse.MetadataResponseBroker(
                version=1, node_id=one.broker_id, host=one.host, port=one.port, rack=one.rack
            )
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
            if not self._manager.bootstrapped:  # kafka-python would ask again and again
                self.refused = error
                self._manager.closed = True
            raise


def connect(configs: dict[str, Any]) -> KafkaAdminClient:
    """Connect, and block until a node has answered. `bootstrap_controllers` may stand for `bootstrap_servers`.

    Raises Unreachable, Unauthenticated, and KafkaConfigurationError; with `bootstrap_controllers` also the error with
    which a node answers that is no KRaft controller.
    """
    if "bootstrap_controllers" in configs:
        rest = {name: value for name, value in configs.items() if name != "bootstrap_controllers"}
        configs = {**rest, "bootstrap_servers": configs["bootstrap_controllers"], "kafka_client": KRaftControllers}
    admin = KafkaAdminClient.__new__(KafkaAdminClient)
    try:
        admin.__init__(**configs)
    except kafka_errors.KafkaConfigurationError:
        raise
    except kafka_errors.KafkaError as error:
        _release(admin)
        refused = getattr(getattr(admin, "_client", None), "refused", None)
        if refused is not None:
            raise refused from error
        text = str(error.args[0]) if error.args else type(error).__name__
        if isinstance(error, kafka_errors.SaslAuthenticationFailedError):
            raise Unauthenticated(text) from error
        raise Unreachable(text) from error
    except BaseException:
        _release(admin)
        raise
    return admin


def _release(admin: KafkaAdminClient) -> None:
    """End the thread and close the sockets that a failed constructor has left behind."""
    if hasattr(admin, "_net"):
        admin._metrics.close()
        admin._client.close()
        admin._net.stop()
