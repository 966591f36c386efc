"""Connects kafka-python's admin client, to brokers or to KRaft controllers, and translates its errors into ours."""

import ssl
from typing import Any

import kafka.errors as kafka_errors
from kafka.admin import KafkaAdminClient
from kafka.net.compat import KafkaNetClient

from kafka_reassign_rpc.client.client_errors import Unauthenticated, Unreachable, raise_for
from kafka_reassign_rpc.client.kafka_python_request import KafkaPythonRequest
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import DescribeClusterRequest, MetadataResponse
from kafka_reassign_rpc.security.login.login_errors import LoginFailed
from kafka_reassign_rpc.support.bounded_text import shortened

MAX_REASON = 300
CONTROLLERS = 2
"""The endpoint type of KRaft controllers in DescribeCluster."""


class NetClient(KafkaNetClient):  # type: ignore[misc]
    """A network client that gives up at once where a node refuses its login, or is not to be trusted, as Java's does.

    kafka-python itself tries again until its time is over, and says no reason.
    """

    def __init__(self, **configs: Any) -> None:
        super().__init__(**configs)
        self.refused: KafkaError | None = None
        self._build, self._connect = self._manager._build_transport, self._manager._connect
        self._manager._build_transport, self._manager._connect = self._build_watched, self._connect_watched

    async def _build_watched(self, node: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return await self._build(node, *arguments, **named)
        except kafka_errors.KafkaError as error:
            if isinstance(error.__context__, ssl.SSLError):
                self._refuse(node, _tls_reason(error.__context__))
            raise

    async def _connect_watched(self, node: Any, connection: Any, *arguments: Any, **named: Any) -> None:
        await self._connect(node, connection, *arguments, **named)
        error = connection.init_future.exception
        if isinstance(error, _REFUSED_LOGIN):
            text = str(error.args[0]) if error.args else type(error).__name__
            self._refuse(node, text.removeprefix("SaslAuthenticationFailedError: "))

    def _refuse(self, node: Any, reason: str) -> None:
        if not self._manager.bootstrapped:
            self.refused = Unauthenticated(f"{node.host}:{node.port}: {shortened(reason, MAX_REASON)}")
            self._manager.closed = True


_REFUSED_LOGIN = (
    kafka_errors.SaslAuthenticationFailedError,
    kafka_errors.UnsupportedSaslMechanismError,
    LoginFailed,
)


def _tls_reason(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is refused: {error.verify_message or error.reason}"
    return f"TLS failed: {(error.reason or 'the connection was closed').lower().replace('_', ' ')}"


class KRaftControllers(NetClient):
    """A network client for KRaft controllers, which kafka-python itself does not know.

    Controllers do not serve Metadata. They list each other in DescribeCluster (KIP-919).
    """

    def __init__(self, **configs: Any) -> None:
        super().__init__(**configs)
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
    configs = {"kafka_client": NetClient, **configs}
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
