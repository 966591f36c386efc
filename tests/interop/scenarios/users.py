"""R: client quotas and SCRAM credentials."""

import hashlib
from collections.abc import Sequence

from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    AlterUserScramCredentialsRequest,
    DescribeClientQuotasRequest,
    DescribeUserScramCredentialsRequest,
)

from ..session import Session
from .registry import scenario

EXACT, DEFAULT, SPECIFIED = 0, 1, 2
SHA_256, SHA_512 = 1, 2
USER, CLIENT, IP = "user", "client-id", "ip"
PRODUCER, CONSUMER, PERCENTAGE, MUTATIONS = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)
CONNECTIONS = "connection_creation_rate"

OF_R05 = ("r05", "10.5.5.5")
"""How its entities' names begin: it runs beside scenarios that describe everything, and they leave them out."""

Entity = Sequence[tuple[str, str | None]]
Components = Sequence[tuple[str, int, str | None]]


async def alter_quotas(s: Session, label: str, entity: Entity, *ops: tuple[str, float | None]) -> None:
    kind = AlterClientQuotasRequest.EntryData
    entry = kind(
        entity=[kind.EntityData(entity_type=t, entity_name=n) for t, n in entity],
        ops=[kind.OpData(key=key, value=value or 0.0, remove=value is None) for key, value in ops],
    )
    answer = await s.cluster.ask(AlterClientQuotasRequest(entries=[entry], validate_only=False), 1)
    s.note(label, [(one["error_code"], one["error_message"]) for one in answer["entries"]])


async def describe_quotas(s: Session, label: str, components: Components, *, strict: bool = False) -> None:
    kind = DescribeClientQuotasRequest.ComponentData
    request = DescribeClientQuotasRequest(
        components=[kind(entity_type=t, match_type=m, match=n) for t, m, n in components], strict=strict
    )
    answer = await s.cluster.ask(request, 1)
    entries = [
        (
            sorted((e["entity_type"], e["entity_name"]) for e in one["entity"]),
            sorted((v["key"], v["value"]) for v in one["values"]),
        )
        for one in answer["entries"] or ()
        if not any((e["entity_name"] or "").startswith(OF_R05) for e in one["entity"])
    ]
    s.note(
        label, {"error": answer["error_code"], "message": answer["error_message"], "entries": sorted(entries, key=repr)}
    )


@scenario
async def r01_quotas_are_altered_and_described(s: Session) -> None:
    pair: Entity = [(USER, "r01 al@ice/*~"), (CLIENT, None)]
    await alter_quotas(s, "a user", [(USER, "r01")], (PRODUCER, 1000.0), (PERCENTAGE, 12.5), (MUTATIONS, 3.0))
    await alter_quotas(s, "a client of a user with an odd name", pair, (CONSUMER, 2.0**62))
    await alter_quotas(s, "a client", [(CLIENT, "r01")], (PRODUCER, 1.0))
    await alter_quotas(s, "an IP", [(IP, "10.1.1.1")], (CONNECTIONS, 7.0))
    await alter_quotas(s, "removed and set", [(USER, "r01")], (PERCENTAGE, None), (CONSUMER, 5.0))
    await alter_quotas(s, "removed what is not there", [(USER, "r01")], ("nonsense", None))
    await describe_quotas(s, "everything", [])
    await describe_quotas(s, "nothing", [], strict=True)
    await describe_quotas(s, "users", [(USER, SPECIFIED, None)])
    await describe_quotas(s, "users and nothing else", [(USER, SPECIFIED, None)], strict=True)
    await describe_quotas(s, "the default client", [(CLIENT, DEFAULT, None)])
    await describe_quotas(s, "one user", [(USER, EXACT, "r01")])
    await describe_quotas(s, "a user that has none", [(USER, EXACT, "nobody")], strict=True)
    await describe_quotas(s, "a pair", [(USER, EXACT, "r01 al@ice/*~"), (CLIENT, DEFAULT, None)], strict=True)
    await describe_quotas(s, "an IP is shown", [(IP, EXACT, "10.1.1.1")])
    gone: dict[str, tuple[Entity, list[str]]] = {
        "the user's go": ([(USER, "r01")], [PRODUCER, MUTATIONS, CONSUMER]),
        "the client's of the user go": (pair, [CONSUMER]),
        "the client's go": ([(CLIENT, "r01")], [PRODUCER]),
        "the IP's go": ([(IP, "10.1.1.1")], [CONNECTIONS]),
    }
    for label, (entity, keys) in gone.items():
        await alter_quotas(s, label, entity, *((key, None) for key in keys))
    await describe_quotas(s, "nothing is left", [])


@scenario
async def r02_quotas_that_are_refused(s: Session) -> None:
    await alter_quotas(s, "an unknown quota", [(USER, "r02")], ("nonsense", 1.0))
    await alter_quotas(s, "an IP's quota of a user", [(USER, "r02")], (CONNECTIONS, 1.0))
    await alter_quotas(s, "not whole", [(USER, "r02")], (PRODUCER, 1.5))
    await alter_quotas(s, "negative", [(USER, "r02")], (PRODUCER, -1.0))
    await alter_quotas(s, "too large for an IP", [(IP, "10.1.1.1")], (CONNECTIONS, 2.0**31))
    await alter_quotas(s, "nobody", [], (PRODUCER, 1.0))
    await alter_quotas(s, "an empty name", [(USER, "")], (PRODUCER, 1.0))
    await alter_quotas(s, "an unknown type", [("group", "g")], (PRODUCER, 1.0))
    await alter_quotas(s, "a user and an IP", [(USER, "r02"), (IP, "10.1.1.1")], (CONNECTIONS, 1.0))
    await describe_quotas(s, "an empty type", [("", SPECIFIED, None)])
    await describe_quotas(s, "an unknown type is asked for", [("group", SPECIFIED, None)])
    await describe_quotas(s, "twice", [(CLIENT, SPECIFIED, None), (CLIENT, EXACT, "c")])
    await describe_quotas(s, "an IP and a user", [(IP, SPECIFIED, None), (USER, SPECIFIED, None)])
    await describe_quotas(s, "nothing has changed", [(USER, EXACT, "r02")], strict=True)


Upsertions = Sequence[tuple[str, int, int]]
Deletions = Sequence[tuple[str, int]]


async def alter_users(
    s: Session,
    label: str,
    upsertions: Upsertions = (),
    deletions: Deletions = (),
    *,
    node: int | None = None,
) -> None:
    kind = AlterUserScramCredentialsRequest
    request = kind(
        deletions=[kind.ScramCredentialDeletion(name=n, mechanism=m) for n, m in deletions],
        upsertions=[
            kind.ScramCredentialUpsertion(
                name=n,
                mechanism=m,
                iterations=i,
                salt=b"0123456789abcdef",
                salted_password=hashlib.pbkdf2_hmac("sha256", b"secret", b"0123456789abcdef", 1000),
            )
            for n, m, i in upsertions
        ],
    )
    answer = await s.cluster.ask(request, 0, node)
    s.note(label, sorted((r["user"], r["error_code"], r["error_message"]) for r in answer["results"]))


async def describe_users(s: Session, label: str, *users: str) -> None:
    kind = DescribeUserScramCredentialsRequest
    answer = await s.cluster.ask(kind(users=[kind.UserName(name=user) for user in users] or None), 0)
    results = [
        (
            r["user"],
            r["error_code"],
            r["error_message"],
            sorted((info["mechanism"], info["iterations"]) for info in r["credential_infos"]),
        )
        for r in answer["results"]
        if not r["user"].startswith(OF_R05)
    ]
    s.note(label, {"error": answer["error_code"], "message": answer["error_message"], "users": results})


@scenario
async def r03_credentials_are_altered_and_described(s: Session) -> None:
    await alter_users(s, "two users", [("r03 a@b", SHA_256, 4096), ("r03 a@b", SHA_512, 8192), ("r03", SHA_256, 16384)])
    await describe_users(s, "everybody")
    await describe_users(s, "some, twice, nobody and no name", "r03", "nobody", "r03 a@b", "x", "x", "")
    await alter_users(s, "one is deleted, one replaced", [("r03", SHA_256, 5000)], [("r03 a@b", SHA_512)])
    await alter_users(s, "deleted again", deletions=[("r03 a@b", SHA_512), ("nobody", SHA_256)])
    await alter_users(s, "of two deletions one fails", deletions=[("r03", SHA_256), ("r03", SHA_512)])
    await describe_users(s, "what is left")
    await alter_users(s, "all gone", deletions=[("r03", SHA_256), ("r03 a@b", SHA_256)])
    await describe_users(s, "nobody is left")


@scenario
async def r04_credentials_that_are_refused(s: Session) -> None:
    await alter_users(s, "nobody")
    await alter_users(s, "no name", [("", SHA_256, 4096)])
    await alter_users(s, "no name to delete", deletions=[("", SHA_256)])
    await alter_users(s, "unknown mechanisms", [("r04", 0, 4096)], [("r04b", 9)])
    await alter_users(s, "too few and too many", [("r04", SHA_256, 4095), ("r04b", SHA_256, 16385)])
    await alter_users(s, "twice", [("r04", SHA_256, 4096), ("r04", SHA_256, 5000)])
    await alter_users(s, "set and deleted", [("r04", SHA_256, 4096)], [("r04", SHA_256)])
    await alter_users(s, "one of two is wrong", [("r04", SHA_256, 4096), ("r04", SHA_512, 1)])
    await alter_users(s, "at a broker that is not the controller", [("r04", SHA_256, 4096)], node=2)
    await describe_users(s, "nobody has any")


async def note_znodes(s: Session, label: str, prefix: str) -> None:
    """The znodes of the entities whose quoted names have this prefix, with what they hold."""
    found: list[tuple[str, str]] = []
    places = [f"/config/{kind}" for kind in ("users", "clients", "ips")]
    while places:
        parent = places.pop()
        for name in await s.cluster.znodes.children(parent):
            path = f"{parent}/{name}"
            if prefix in path:
                found.append((path, (await s.cluster.znodes.get(path))[0].decode()))
                places.append(path)
    s.note(label, sorted(found))


@scenario
async def r05_what_has_no_quotas_and_no_credentials_has_no_znode(s: Session) -> None:
    user: Entity = [(USER, "r05")]
    first: Entity = [(USER, "r05"), (CLIENT, "r05a")]
    second: Entity = [(USER, "r05"), (CLIENT, "r05b")]
    alone: dict[str, tuple[Entity, str]] = {
        "a client": ([(CLIENT, "r05 c")], PRODUCER),
        "an IP": ([(IP, "10.5.5.5")], CONNECTIONS),
        "the default client of a user": ([(USER, "r05d"), (CLIENT, None)], PRODUCER),
    }
    for label, (entity, key) in alone.items():
        await alter_quotas(s, f"{label}: what never was", entity, (key, None))
        await alter_quotas(s, label, entity, (key, 1.0))
        await alter_quotas(s, f"{label}: removed", entity, (key, None))
    await note_znodes(s, "none of them is left", "5")
    for entity in (user, first, second):
        await alter_quotas(s, "set", entity, (PRODUCER, 1.0))
    await alter_users(s, "a credential beside a quota", [("r05", SHA_256, 4096)])
    await alter_quotas(s, "the user's quota", user, (PRODUCER, None))
    await alter_users(s, "the user's credential", deletions=[("r05", SHA_256)])
    await note_znodes(s, "a user without configs has clients", "r05")
    await alter_quotas(s, "the first client's", first, (PRODUCER, None))
    await alter_quotas(s, "a client that never was", [(USER, "r05"), (CLIENT, "r05x")], (PRODUCER, None))
    await note_znodes(s, "one client is left", "r05")
    await alter_quotas(s, "the second client's", second, (PRODUCER, None))
    await note_znodes(s, "nothing is left", "r05")
