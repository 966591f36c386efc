"""What a stranger's login costs a server in CPU, and how long others wait meanwhile, beside a stock broker 3.9.1.

Both nodes run throughout with the same properties. For each mechanism one client logs in again and again: rightly, with
wrong credentials, and with the largest and most expensive messages (`tests.security.worst_tokens`). All the time, an
honest client sends requests on another listener.

python -m benchmarks hostile [--quick]
"""

import asyncio
import json
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from benchmarks import frames
from benchmarks.client import Address, Wire
from benchmarks.cluster import SERVER_ID, STOCK_ID, Server, Stock, controlling
from benchmarks.tables import duration, show
from kafka_reassign_rpc.controller import controller_election
from kafka_reassign_rpc.protocol.frame_codec import decode_response
from kafka_reassign_rpc.protocol.messages import SaslAuthenticateResponse
from kafka_reassign_rpc.security.sasl.hashed_users import hashed_line
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.optional_software import HAS_KDC
from tests.security.kerberos_tokens import no_tickets
from tests.security.sasl_steps import as_config, plain, scram_credential, scram_proof
from tests.security.test_login_costs import framed, handshake
from tests.security.worst_tokens import LATER, TOKENS, authenticate, first_requests

SECONDS, QUICK_S = 4.0, 0.5
WARM_UP_S = 3.0
ASKS_EVERY_S = 0.002
ANSWER_S = 1.0
"""How long a login waits for an answer. A stock broker gives none to a message for which Java's stack has no room."""
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAM, "OAUTHBEARER")
GSSAPI = "GSSAPI"
"""Measured only if there is a KDC."""
HEAD = ("", "logins", "CPU each", "others wait", "stock: logins", "CPU each", "others wait")
JAAS = {
    "plain": 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="alice-secret";',
    **dict.fromkeys(
        ("scram-sha-256", "scram-sha-512"), "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
    "oauthbearer": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
}
VALIDATOR = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerValidatorCallbackHandler"
RIGHT, WRONG = plain("alice", "alice-secret"), plain("alice", "wrong")
PREFIX = "listener.name.sasl."

Login = Callable[[Wire], None]


if HAS_KDC:
    from tests.security.realm import initiator, kerberos_realm, service_jaas


class Node(NamedTuple):
    """A node's process and its listeners.

    `hashed` is a PLAIN listener whose file holds hashes of passwords (only ours).
    """

    pid: int
    at: dict[str, Address]

    def cpu_s(self) -> float:
        """CPU time of the process since its start (Linux)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """The cost of logins in a row. `waited` is the longest wait of the honest client."""

    logins: int
    cpu_s: float
    waited: float


async def run(zookeeper: str, directory: Path, *, quick: bool) -> str:
    seconds = QUICK_S if quick else SECONDS
    home = directory / "hostile"
    home.mkdir()
    key = RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig", "alg": "RS256"})
    (home / "jwks.json").write_text(json.dumps(KeySet([key]).as_dict(private=False)))
    (home / "users.toml").write_text(f'alice = "{hashed_line("alice-secret")}"')
    now = int(time.time())
    claims = {"sub": "alice", "iat": now, "exp": now + 3600, "scope": "x"}
    token = jwt.encode({"alg": "RS256", "kid": "rsa"}, claims, key)
    rows = []
    async with _realm(), _nodes(zookeeper, home) as (ours, stock):
        for name, listener, logins in _cases(token):
            nodes = [node for node in (ours, stock) if listener in node.at]
            costs = [await asyncio.to_thread(_measured, node, listener, logins(), seconds) for node in nodes]
            rows.append([name, *(cell for cost in costs for cell in _cells(cost)), *["-"] * (3 * (2 - len(nodes)))])
            print("  " + "  ".join(rows[-1]), flush=True)
    return show(
        "hostile: what each connection of a client that logs in costs",
        HEAD,
        rows,
        [
            f"one client for {seconds:g} s each; CPU of the whole process; others: the longest wait of a client",
            f"that asks every {ASKS_EVERY_S * 1000:g} ms; the largest: all of tests/security/worst_tokens.py in turn",
        ],
    )


def _cells(cost: Cost) -> list[str]:
    return [f"{cost.logins:,}", duration(cost.cpu_s / max(1, cost.logins)), duration(cost.waited)]


def _cases(token: str) -> Iterator[tuple[str, str, Callable[[], Iterator[Login]]]]:
    """Name, listener, and a function that makes logins without end."""
    bearer = f"n,,\x01auth=Bearer {token}\x01\x01".encode()
    wrong_bearer = f"n,,\x01auth=Bearer {token[:-8]}AAAAAAAA\x01\x01".encode()
    right: dict[str, Login] = {name: partial(_scram, name, "alice-secret") for name in SCRAM}
    right |= {"PLAIN": partial(_token, "PLAIN", RIGHT), "OAUTHBEARER": partial(_token, "OAUTHBEARER", bearer)}
    wrong: dict[str, Login] = {name: partial(_scram, name, "wrong") for name in SCRAM}
    wrong |= {"PLAIN": partial(_token, "PLAIN", WRONG), "OAUTHBEARER": partial(_token, "OAUTHBEARER", wrong_bearer)}
    requests = [partial(_sent, (one,)) for _, one in first_requests()]
    yield "before a mechanism, the largest", "SASL", partial(cycle, requests)
    for name in MECHANISMS:
        yield f"{name}, right", "SASL", partial(cycle, [right[name]])
        yield f"{name}, wrong", "SASL", partial(cycle, [wrong[name]])
        largest = [partial(_sent, (handshake(name), authenticate(one))) for one in TOKENS[name].values()]
        first, finals = LATER.get(name, (b"", {}))
        largest += [partial(_sent, (handshake(name), authenticate(first), final)) for final in finals.values()]
        yield f"{name}, the largest", "SASL", partial(cycle, largest)
    if HAS_KDC:
        yield "GSSAPI, right", "SASL", partial(cycle, [_ticket])
        yield "GSSAPI, wrong", "SASL", partial(cycle, [partial(_ticket, right=False)])
        largest = [partial(_sent, (handshake(GSSAPI), authenticate(one))) for _, one in no_tickets()]
        yield "GSSAPI, the largest", "SASL", partial(cycle, largest)
    yield "PLAIN with hashes, right", "HASHED", partial(cycle, [right["PLAIN"]])
    yield "PLAIN with hashes, wrong", "HASHED", partial(cycle, [wrong["PLAIN"]])


def _token(mechanism: str, token: bytes, wire: Wire) -> None:
    wire.ask(framed(handshake(mechanism)))
    wire.ask(framed(authenticate(token)))


def _scram(mechanism: str, password: str, wire: Wire) -> None:
    wire.ask(framed(handshake(mechanism)))
    bare = "n=alice,r=abcdefghijklmnopqrstuvwx"
    first = _auth_bytes(wire.ask(framed(authenticate(f"n,,{bare}".encode()))))
    wire.ask(framed(authenticate(scram_proof(mechanism, password, bare, first))))


def _ticket(wire: Wire, *, right: bool = True) -> None:
    context = initiator()
    first = bytes(context.step())
    wire.ask(framed(handshake(GSSAPI)))
    if not right:
        wire.ask(framed(authenticate(first[:-1] + bytes((first[-1] ^ 1,)))))
        return
    context.step(_auth_bytes(wire.ask(framed(authenticate(first)))))
    offer = _auth_bytes(wire.ask(framed(authenticate(b""))))
    wire.ask(framed(authenticate(context.wrap(context.unwrap(offer).message, False).message)))


def _sent(parts: tuple[bytes | Callable[[bytes], bytes], ...], wire: Wire) -> None:
    token = b""
    for number, part in enumerate(parts):
        sent = part if isinstance(part, bytes) else authenticate(part(token))
        answer = wire.ask(framed(sent))
        if 0 < number < len(parts) - 1:
            token = _auth_bytes(answer)


def _auth_bytes(answer: bytes) -> bytes:
    return bytes(decode_response(SaslAuthenticateResponse, answer, version=2)[1].auth_bytes)


def _measured(node: Node, listener: str, logins: Iterator[Login], seconds: float) -> Cost:
    _log_in(node.at[listener], logins, min(seconds, WARM_UP_S))
    waits: list[float] = []
    over = threading.Event()
    honest = threading.Thread(target=_ask, args=(node.at["PLAINTEXT"], waits, over))
    honest.start()
    before = node.cpu_s()
    count = _log_in(node.at[listener], logins, seconds)
    spent = node.cpu_s() - before
    over.set()
    honest.join()
    return Cost(count, spent, max(waits))


def _log_in(address: Address, logins: Iterator[Login], seconds: float) -> int:
    count, until = 0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        with suppress(ConnectionError, TimeoutError), Wire(address, ANSWER_S) as wire:
            next(logins)(wire)
        count += 1
    return count


def _ask(address: Address, waits: list[float], over: threading.Event) -> None:
    with Wire(address) as wire:
        while not over.wait(ASKS_EVERY_S):
            since = time.perf_counter()
            wire.ask(frames.LIST_NOTHING)
            waits.append(time.perf_counter() - since)


@asynccontextmanager
async def _realm() -> AsyncIterator[None]:
    """If there is a KDC, the block runs in its own realm: this process has the realm's environment."""
    with kerberos_realm() if HAS_KDC else nullcontext():
        yield


@asynccontextmanager
async def _nodes(zookeeper: str, home: Path) -> AsyncIterator[tuple[Node, Node]]:
    """This server and a stock broker, each a controller. The end of the block ends both."""
    jwks = f"file://{home / 'jwks.json'}"
    properties = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SASL://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": ",".join([*MECHANISMS, *([GSSAPI] if HAS_KDC else [])]),
        "sasl.oauthbearer.jwks.endpoint.url": jwks,
        "connection.failed.authentication.delay.ms": "0",
        f"{PREFIX}oauthbearer.sasl.server.callback.handler.class": VALIDATOR,
        **{f"{PREFIX}{name}.sasl.jaas.config": value for name, value in JAAS.items()},
    }
    if HAS_KDC:
        properties |= {f"{PREFIX}gssapi.sasl.jaas.config": service_jaas(), "sasl.kerberos.service.name": "host"}
    ours = properties | {
        "listeners": f"{properties['listeners']},HASHED://127.0.0.1:0",
        "listener.security.protocol.map": f"{properties['listener.security.protocol.map']},HASHED:SASL_PLAINTEXT",
        "listener.name.hashed.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.hashed.sasl.plain.users.file": str(home / "users.toml"),
    }
    file = home / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in ours.items()))
    config = {name: as_config(scram_credential(name, "alice-secret")) for name in SCRAM}
    document = json.dumps({"version": 1, "config": config}).encode()
    async with AsyncExitStack() as stack:
        chroots = [f"{zookeeper}/hostile-{name}" for name in ("ours", "stock")]
        zks = [await stack.enter_async_context(ZooKeeper(chroot)) for chroot in chroots]
        for zk in zks:
            await zk.ensure_path(znode_paths.config_type("users"))
            await zk.create(znode_paths.config("users/alice"), document)
        server = Server(chroots[0], SERVER_ID, home, "--kafka-config", str(file), "--listeners", ours["listeners"])
        broker = Stock(chroots[1], home, properties)
        broker.jvm = (*Stock.jvm, f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={jwks}")
        if HAS_KDC:
            broker.jvm += (f"-Djava.security.krb5.conf={os.environ['KRB5_CONFIG']}",)
        processes: tuple[Server | Stock, ...] = (server, broker)
        for process in processes:
            stack.push_async_callback(process.kill)
            await process.start()
        owner = await controller_election.owner(zks[0])
        assert owner is not None
        registered = json.loads((await zks[1].get(znode_paths.broker(STOCK_ID)))[0])["endpoints"]
        nodes = (
            Node(server.pid, {one.listener: (one.host, one.port) for one in owner.endpoints}),
            Node(
                broker.pid,
                {text.partition("://")[0]: ("127.0.0.1", int(text.rpartition(":")[2])) for text in registered},
            ),
        )
        for node in nodes:
            await controlling(node.at["PLAINTEXT"])
        yield nodes
