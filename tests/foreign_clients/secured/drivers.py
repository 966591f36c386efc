"""One ListPartitionReassignments of each client (by librdkafka, Metadata): "" where it is answered, else its words."""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from kafka_reassign_rpc.client import ReassignmentClient, Unauthenticated, Unreachable, client_configs
from tests.foreign_clients.brought import franz_go, kafkajs
from tests.stock.tools import Tools

from .ways import Way

PATIENCE_S = 30.0
_MODULES = {
    "PLAIN": "plain.PlainLoginModule",
    "OAUTHBEARER": "oauthbearer.OAuthBearerLoginModule",
}
_TOKENS = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"


def java_properties(way: Way, directory: Path) -> dict[str, str]:
    """The properties of a Java client."""
    found = {"security.protocol": way.protocol, "default.api.timeout.ms": "30000", "request.timeout.ms": "30000"}
    if way.protocol.endswith("SSL"):
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": way.trusted}
    if way.own:
        found |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": way.own}
    if way.mechanism:
        module = _MODULES.get(way.mechanism, "scram.ScramLoginModule")
        user = f' username="{way.user}" password="{way.password}"' if way.user else ""
        jaas = f"org.apache.kafka.common.security.{module} required{user};"
        found |= {"sasl.mechanism": way.mechanism, "sasl.jaas.config": jaas}
    if way.token:
        token = directory / f"{way.name}.token".replace(" ", "-")
        token.write_text(way.token)
        found |= {"sasl.login.callback.handler.class": _TOKENS, "sasl.oauthbearer.token.endpoint.url": token.as_uri()}
    return found


async def by_tools(tools: Tools, tool: str, ways: Sequence[Way], directory: Path) -> list[str]:
    """A stock tool, which asks for all reassignments or for all topics."""
    said = []
    for way in ways:
        path = directory / "client.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in java_properties(way, directory).items()))
        done = await tools.run(tool, "--bootstrap-server", way.bootstrap, "--command-config", str(path), "--list")
        said.append(done.out + done.err if done.code else "")
    return said


async def by_kafkajs(ways: Sequence[Way]) -> list[str]:
    folder = await asyncio.to_thread(kafkajs)
    return await _driven(ways, "node", str(folder / "secured.mjs"))


async def by_franz_go(ways: Sequence[Way]) -> list[str]:
    return await _driven(ways, str(await asyncio.to_thread(franz_go, "secured")))


async def _driven(ways: Sequence[Way], *command: str) -> list[str]:
    """A program that reads the ways as JSON, and prints what was said."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(240):
        out, _ = await process.communicate(json.dumps([asdict(way) for way in ways]).encode())
    assert process.returncode == 0
    said: list[str] = json.loads(out)
    return said


async def by_our_client(ways: Sequence[Way], directory: Path) -> list[str]:
    """`ReassignmentClient`, with the properties of Java clients."""
    return [await asyncio.to_thread(_our_client, way, directory) for way in ways]


def _our_client(way: Way, directory: Path) -> str:
    try:
        with ReassignmentClient(**client_configs(way.bootstrap, java_properties(way, directory))) as client:
            client.list_partition_reassignments()
    except (Unauthenticated, Unreachable) as error:
        return str(error)
    return ""


async def by_kafka_python(ways: Sequence[Way]) -> list[str]:
    """In a process of its own: the sockets of refused connections stay open there."""
    return await _driven(ways, sys.executable, "-m", "tests.foreign_clients.secured.kafka_python")


async def by_librdkafka(ways: Sequence[Way]) -> list[str]:
    return await asyncio.gather(*(asyncio.to_thread(_librdkafka, way) for way in ways))


def _refuses(error: KafkaError) -> bool:
    """Where the server refuses its certificate, librdkafka tells of a lost connection, and goes on."""
    return error.code() in {KafkaError._AUTHENTICATION, KafkaError._SSL} or "SSL alert" in error.str()


def _librdkafka(way: Way) -> str:
    told: list[KafkaError] = []
    configs: dict[str, Any] = {
        "bootstrap.servers": way.bootstrap,
        "security.protocol": way.protocol.lower(),
        "log_level": 0,
        "error_cb": told.append,
        "ssl.ca.location": way.trusted,
    }
    if way.own:
        configs |= {"ssl.certificate.location": way.own, "ssl.key.location": way.own}
    if way.user:
        configs |= {"sasl.username": way.user, "sasl.password": way.password}
    if way.token:
        configs["oauth_cb"] = lambda _: (way.token, time.time() + 600)
    if way.mechanism:
        configs["sasl.mechanism"] = way.mechanism
    client = AdminClient(configs)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        client.poll(0)
        try:
            client.list_topics(timeout=0.5)
        except KafkaException:
            client.poll(0)
        else:
            return ""
        refused = [error for error in told if _refuses(error)]
        if refused:
            return "; ".join(f"{error.name()}: {error.str()}" for error in refused)
    return f"no answer: {told}"
