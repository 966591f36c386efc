"""One SaslAuthenticator by hand: frames in, steps out, without sockets and with clocks that tests set."""

import asyncio
import hashlib
import hmac
import os
import struct
from base64 import b64decode, b64encode
from collections.abc import Mapping
from inspect import isawaitable
from typing import Any

from scramp import ScramClient

from kafka_reassign_rpc.api.api_definition import Peer
from kafka_reassign_rpc.api.dispatch import Dispatcher
from kafka_reassign_rpc.core.configs.scram_credentials import credential_text
from kafka_reassign_rpc.protocol.frame_codec import Body, DecodedRequest, decode_response, encode_request
from kafka_reassign_rpc.protocol.messages import (
    RESPONSES,
    ApiMessage,
    ApiVersionsRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from kafka_reassign_rpc.security.authenticator import AuthenticationContext, Step
from kafka_reassign_rpc.security.sasl.mechanism import MakeSaslServer
from kafka_reassign_rpc.security.sasl.plain import PlainPasswords, PlainSaslServer
from kafka_reassign_rpc.security.sasl.sasl_authenticator import SaslAuthenticator, SaslSettings
from kafka_reassign_rpc.security.sasl.sasl_config import MAX_RECEIVE_SIZE
from kafka_reassign_rpc.security.sasl.scram import ScramCredential, ScramSaslServer, parse_credential
from tests.api.model_node import ModelNode

USERS = {"alice": "alice-secret", "bob": "bob-secret", "a,b=c%25 =2C": "päss=,%", "a,b=c%25ü": "päss=,%"}

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


def scram_credential(
    mechanism: str, password: str, iterations: int = 4096, salt: bytes | None = None
) -> ScramCredential:
    name, salt = HASHES[mechanism], os.urandom(16) if salt is None else salt
    salted = hashlib.pbkdf2_hmac(name, password.encode(), salt, iterations)
    credential = parse_credential(credential_text(name, iterations, salt, salted))
    assert credential is not None
    return credential


CREDENTIALS = {
    name: {user: scram_credential(name, password) for user, password in USERS.items()}
    for name in ("SCRAM-SHA-256", "SCRAM-SHA-512")
}


def scram_servers(credentials: Mapping[str, Mapping[str, ScramCredential]] = CREDENTIALS) -> dict[str, MakeSaslServer]:
    def maker(name: str) -> MakeSaslServer:
        return lambda _: ScramSaslServer(name, credentials[name].get)

    return {name: maker(name) for name in credentials}


def mechanisms() -> dict[str, MakeSaslServer]:
    return {"PLAIN": lambda address: PlainSaslServer(PlainPasswords(USERS), address), **scram_servers()}


class Clocks:
    def __init__(self) -> None:
        self.now = 100.0
        self.wall = 1_000_000.0

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        self.wall += seconds


class ModelRequests:
    def __init__(self) -> None:
        self._dispatcher = Dispatcher(ModelNode())
        self.served = self._dispatcher.served

    def api_versions(self, request: DecodedRequest) -> Body:
        """Handlers need a running event loop, and tests of an authenticator have none."""

        async def handled() -> object:
            return self._dispatcher.handle(request, Peer("127.0.0.1", "SASL"))

        with asyncio.Runner() as runner:
            body = runner.run(handled())
        assert isinstance(body, ApiMessage)
        return body

    def illegal_sasl_state(self, request: DecodedRequest, text: str) -> ApiMessage | None:
        return self._dispatcher.illegal_sasl_state(request, text)


class Exchange:
    """A client's side of one authenticator."""

    def __init__(self, settings: SaslSettings | None = None, **changes: Any) -> None:
        self.clocks = Clocks()
        given: dict[str, Any] = {
            "mechanisms": mechanisms(),
            "max_receive_size": MAX_RECEIVE_SIZE,
            "clock": lambda: self.clocks.now,
            "wall_clock": lambda: self.clocks.wall,
        }
        context = AuthenticationContext("127.0.0.1", "SASL", "SASL_PLAINTEXT", None, ModelRequests())
        self.authenticator = SaslAuthenticator(settings or SaslSettings(**(given | changes)), context)

    def frame(self, data: bytes) -> Step:
        """The step for a frame that the authenticator takes."""
        step = self.authenticator.receive(data)
        assert not isawaitable(step)
        return step

    def send(self, body: Any, version: int) -> tuple[Any, Step]:
        """The answer to a request, None where there is none, and its step."""
        step = self.frame(request(body, version))
        if not step.answer:
            return None, step
        return decode_response(RESPONSES[body.API_KEY], step.answer[4:], version=version)[1], step

    def handshake(self, mechanism: str, version: int = 1) -> tuple[Any, Step]:
        return self.send(SaslHandshakeRequest(mechanism=mechanism, version=version), version)

    def token(self, token: bytes, version: int = 2) -> tuple[Any, Step]:
        return self.send(SaslAuthenticateRequest(auth_bytes=token, version=version), version)

    def log_in(self, mechanism: str, user: str, password: str, version: int = 2) -> Any:
        """The last answer of the exchange."""
        self.handshake(mechanism)
        if mechanism == "PLAIN":
            return self.token(plain(user, password), version)[0]
        client = ScramClient([mechanism], user, password)
        first, _ = self.token(client.get_client_first().encode(), version)
        if first.error_code:
            return first
        client.set_server_first(first.auth_bytes.decode())
        last, _ = self.token(client.get_client_final().encode(), version)
        if not last.error_code:
            client.set_server_final(last.auth_bytes.decode())
        return last


def request(body: Any, version: int) -> bytes:
    """A frame, without its length."""
    return encode_request(body, version=version, correlation_id=7, client_id="test")[4:]


def api_versions(version: int = 3, name: str = "test") -> Any:
    return ApiVersionsRequest(client_software_name=name, client_software_version="1", version=version)


def unknown_api_versions() -> bytes:
    return struct.pack(">hhih", 18, 99, 7, -1) + b"\0"


def plain(user: str, password: str, authzid: str = "") -> bytes:
    return f"{authzid}\0{user}\0{password}".encode()


def scram_proof(mechanism: str, password: str, bare: str, server_first: bytes, without_proof: str = "") -> bytes:
    """The last message of a client that signs `bare` as its first message, by RFC 5802 and without scramp.

    without_proof   what it sends and signs before its proof, in the place of what is usual
    """
    sent = server_first.decode()
    nonce, salt, iterations = (part.partition("=")[2] for part in sent.split(","))
    without_proof = without_proof or f"c=biws,r={nonce}"
    name = HASHES[mechanism]
    salted = hashlib.pbkdf2_hmac(name, password.encode(), b64decode(salt), int(iterations))
    key = hmac.digest(salted, b"Client Key", name)
    signature = hmac.digest(hashlib.new(name, key).digest(), f"{bare},{sent},{without_proof}".encode(), name)
    proof = bytes(one ^ other for one, other in zip(key, signature, strict=True))
    return f"{without_proof},p={b64encode(proof).decode()}".encode()


def as_config(credential: ScramCredential) -> str:
    """As a user's config holds it."""
    salt, stored, server = (b64encode(value).decode() for value in credential[:3])
    return f"salt={salt},stored_key={stored},server_key={server},iterations={credential.iterations}"
