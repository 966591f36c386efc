"""Names, quotas, credentials and addresses of clients: the rules of the table for them. Brokers read them as they are
stored, with Java's parsers; a migration reads them with other ones.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv6Address
from typing import NamedTuple

from kafka_reassign_rpc.core.configs.scram_credentials import MECHANISMS, Fields
from kafka_reassign_rpc.core.java_values import double, integer, trim
from kafka_reassign_rpc.core.restarts import table
from kafka_reassign_rpc.core.restarts.table import Ending
from kafka_reassign_rpc.core.state.config_entities import DEFAULT
from kafka_reassign_rpc.support.bounded_text import shortened

USERS, CLIENTS, IPS = "users", "clients", "ips"
SCRAM = frozenset(one.name for one in MECHANISMS.values())
_INT32, _INT64 = 1 << 31, 1 << 63
_LONGS = ("producer_byte_rate", "consumer_byte_rate")
_DOUBLES = ("request_percentage", "controller_mutation_rate")
_INTS = ("connection_creation_rate",)
_ENCODED = re.compile(r"(?:[^%]|%[+0-9a-fA-F][0-9a-fA-F])*", re.DOTALL)
"""URLDecoder; its parser of two hexadecimal digits takes a sign."""
_NUMERIC = re.compile(r"[0-9.]+")
_HOST = re.compile(r"[A-Za-z0-9._-]+")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?")


class ClientTrouble(NamedTuple):
    """`config`: the one that is wrong; empty: the name of the znode is."""

    ending: Ending
    why: str
    config: str = ""


def name_trouble(kind: str, name: str) -> ClientTrouble | None:
    """`name`: as the znode under `/config/users`, `/config/clients` or `/config/ips` has it."""
    if name == DEFAULT:
        return None
    if kind == IPS:
        return _address_trouble(name)
    return None if _ENCODED.fullmatch(name) else ClientTrouble(table.CLIENT_NAMES, "it cannot be decoded")


def value_troubles(path: Sequence[str], configs: Mapping[str, str]) -> Iterator[ClientTrouble]:
    """`path`: such as `users`, `alice`, `clients`, `c`."""
    kind, name = path[:2]
    of_user = kind == USERS and len(path) == 2 and name != DEFAULT
    for config, value in sorted(configs.items()):
        if config in SCRAM and len(path) == 2:
            if not is_credential(value):
                ending = table.CREDENTIALS if of_user else table.CLIENT_NUMBERS
                yield ClientTrouble(ending, f"{config} is no credential", config)
        elif (what := _quota_trouble(kind, config, value)) is not None:
            yield ClientTrouble(table.QUOTAS, f"{config}={shortened(value)} is {what}", config)
        elif double(trim(value)) is None:
            yield ClientTrouble(table.CLIENT_NUMBERS, f"{config} is no number", config)


def is_credential(text: str) -> bool:
    """As ScramCredentialUtils.credentialFromString reads it."""
    tokens = text.split(",")
    while len(tokens) > 1 and not tokens[-1]:  # as String.split does
        tokens.pop()
    pairs = [token.partition("=") for token in tokens]
    fields = {name: value for name, _, value in pairs}
    if not all(name and equals for name, equals, _ in pairs) or fields.keys() != set(Fields._fields):
        return False
    *keys, iterations = (fields[name] for name in Fields._fields)
    return integer(iterations, _INT32) is not None and all(map(_BASE64.fullmatch, keys))


def _quota_trouble(kind: str, config: str, value: str) -> str | None:
    if kind == IPS:
        return "no whole number of 32 bits" if config in _INTS and integer(value, _INT32) is None else None
    if config in _LONGS and integer(value, _INT64) is None:
        return "no whole number"
    return "no number" if config in _DOUBLES and double(trim(value)) is None else None


def _address_trouble(name: str) -> ClientTrouble | None:
    if ":" in name:
        return None if _is_ipv6(name) else ClientTrouble(table.ADDRESSES, "it is no address")
    if _NUMERIC.fullmatch(name):
        return None if _is_ipv4(name) else ClientTrouble(table.ADDRESSES, "it is no address")
    if not _HOST.fullmatch(name):
        return ClientTrouble(table.ADDRESSES, "it is neither an address nor a name of a host")
    return ClientTrouble(table.HOSTS, "it is the name of a host")


def _is_ipv6(name: str) -> bool:
    try:
        IPv6Address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _is_ipv4(name: str) -> bool:
    """IPAddressUtil.textToNumericFormatV4: the last of one to four numbers has the rest of the 32 bits."""
    parts = name.split(".")
    if len(parts) > 4 or not all(len(part) <= 10 and part for part in parts):
        return False
    *heads, last = map(int, parts)
    return all(head <= 255 for head in heads) and last < 1 << (8 * (4 - len(heads)))
