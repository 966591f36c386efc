"""Connects kafka-python's admin client, to brokers or to KRaft controllers, and translates its errors into ours."""

import ssl
from typing import Any

import kafka.errors as kafka_errors
from kafka.admin import KafkaAdminClient
from kafka.net.compat import KafkaNetClient
from kafka.net.inet import create_connection
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

from kafka_reassign_rpc.client.client_errors import Unauthenticated, Unreachable, raise_for
from kafka_reassign_rpc.client.kafka_python_request import KafkaPythonRequest
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.protocol.messages import DescribeClusterRequest, MetadataResponse
from kafka_reassign_rpc.security.login.login_errors import LoginFailed, tls_failure
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
        self._connect = self._manager._connect
        self._manager._build_transport, self._manager._connect = self._build_transport, self._connect_watched

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:
        """As KafkaConnectionManager's own, which leaves the socket of a failed handshake open."""
        manager = self._manager
        proxy, options = manager.config["proxy_url"], manager.config["socket_options"]
        sock = await create_connection(
            manager._net, node.host, node.port, options, proxy_url=proxy, timeout_at=timeout_at
        )
        if manager.ssl_enabled:
            tls = {name: value for name, value in manager.config.items() if name.startswith("ssl_")}
            transport = KafkaSSLTransport(manager._net, sock, host=node.host, **tls)
        else:
            transport = KafkaTCPTransport(manager._net, sock, host=node.host)
        try:
            await transport.handshake()
        except BaseException as error:
            transport.close()
            if isinstance(error, ssl.SSLError):
                self._refuse(node, tls_failure(error))
            if isinstance(error, Exception):
                raise kafka_errors.KafkaConnectionError(f"Handshake failed: {error}") from error
            raise
        return read_to_the_end(transport)

    async def _connect_watched(self, node: Any, connection: Any, *arguments: Any, **named: Any) -> None:
        await self._connect(node, connection, *arguments, **named)
        error = connection.init_future.exception
        if alert := _alert(error):
            self._refuse(node, f"it refuses this client: {alert}")
        elif isinstance(error, _REFUSED_LOGIN):
            text = str(error.args[0]) if error.args else type(error).__name__
            self._refuse(node, text.removeprefix("SaslAuthenticationFailedError: "))

    def _refuse(self, node: Any, reason: str) -> None:
        if not self._manager.bootstrapped:
            self.refused = Unauthenticated(f"{node.host}:{node.port}: {shortened(reason, MAX_REASON)}")
            self._manager.closed = True


def read_to_the_end(transport: Any) -> Any:
    """Let a transport hand on what came together with the end of the connection; kafka-python drops it.

    A node that refuses a login answers why, and closes: often both are there at the same time.
    """
    receive = transport._sock_recv
    ended: list[Exception] = []

    def received() -> tuple[bytes, Exception | None]:
        if ended:
            return b"", ended[0]
        data, error = receive()
        if not data or error is None:
            return data, error
        ended.append(error)
        return data, None

    transport._sock_recv = received
    return transport


_REFUSED_LOGIN = (
    kafka_errors.SaslAuthenticationFailedError,
    kafka_errors.UnsupportedSaslMechanismError,
    LoginFailed,
)


def _alert(error: BaseException | None) -> str:
    """The alert of TLS with which a node has ended a connection, "" where it was another end.

    With TLS 1.3 a node refuses a client's certificate after the client has done its part.
    """
    cause = error.args[0] if isinstance(error, kafka_errors.KafkaConnectionError) and error.args else None
    reason = cause.reason or "" if isinstance(cause, ssl.SSLError) else ""
    return reason.partition("ALERT_")[2].lower().replace("_", " ")


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
        release(admin)
        refused = getattr(getattr(admin, "_client", None), "refused", None)
        if refused is not None:
            raise refused from error
        text = str(error.args[0]) if error.args else type(error).__name__
        if isinstance(error, kafka_errors.SaslAuthenticationFailedError):
            raise Unauthenticated(text) from error
        raise Unreachable(text) from error
    except BaseException:
        release(admin)
        raise
    return admin


def release(admin: KafkaAdminClient) -> None:
    """End the thread and close the sockets that a failed constructor has left behind."""
    if hasattr(admin, "_net"):
        admin._metrics.close()
        admin._client.close()
        admin._net.stop()
