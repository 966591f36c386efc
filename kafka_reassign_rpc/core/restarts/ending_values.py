"""Values at which brokers end when they start, by the rules of the table: of configs of brokers and topics, and of
names, quotas, credentials and addresses of clients; and which existing cluster-wide configs brokers cannot use.

`later_trouble` judges what is in force, so that it counts where a value comes from. The first rule that is broken is
reported. A broker reads the configs of all topics when it starts, whether it has a replica or not; and what concerns
clients as it is stored, with Java's parsers. A migration reads that with other ones.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import IPv6Address
from typing import NamedTuple

from kafka_reassign_rpc.core.config_values import DEFAULT, INT32, double, integer, trim
from kafka_reassign_rpc.core.configs.config_definitions import (
    BROKER_CONFIGS,
    THROTTLE_RATES,
    TOPIC_CONFIGS,
    ConfigDefinition,
    ConfigValueError,
    Value,
    broker_synonyms,
    format_version,
    ignored_default,
    parse,
    topic_default,
)
from kafka_reassign_rpc.core.configs.config_layers import MESSAGE_FORMAT, ConfigLayers, Configs
from kafka_reassign_rpc.core.configs.config_rules import (
    BACKOFF,
    CLEANER_THREADS,
    CLEANS,
    COPY_DISABLE,
    DEDUPE_BYTES,
    DELETE_ON_DISABLE,
    INDEX_BYTES,
    IO_BUFFER,
    IO_RATE,
    JMX_REPORTER,
    LEAST_INDEX,
    LOAD_FACTOR,
    NOT_APPLIED,
    REMOTE_STORAGE,
    REPORTERS,
    Props,
    applied,
    divided,
    judge_standing,
    list_in,
    number_in,
    text_in,
    whole_in,
)
from kafka_reassign_rpc.core.configs.scram_credentials import MECHANISMS, Fields
from kafka_reassign_rpc.core.restarts import table
from kafka_reassign_rpc.core.restarts.table import Ending
from kafka_reassign_rpc.support.bounded_text import shortened, whole_number

MIN_LAG, MAX_LAG = "log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"
LOG_INDEX_BYTES = "log.index.size.max.bytes"
_INT64 = 1 << 63
_MAP_ENTRY = 24
"""Bytes of SkimpyOffsetMap for each key: an MD5 and an offset."""


class BrokerTrouble(NamedTuple):
    """`why` says what is wrong, and `names` are all configs that have a part in it."""

    ending: Ending
    why: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.why}: {self.ending.dies}"


class _Rule(NamedTuple):
    """`check` gets what is in force now and what will be. None: the rule holds."""

    ending: Ending
    names: tuple[str, ...]
    check: Callable[[Props, Props], str | None]


def later_trouble(current: Props, new: Props) -> BrokerTrouble | None:
    """Why a broker accepts `new` but would not start with it, or would lose a part of itself; None if all is well."""
    for rule in _RULES:
        why = rule.check(current, new)
        if why is not None:
            return BrokerTrouble(rule.ending, why, rule.names)
    return None


def _is_stricter(definition: ConfigDefinition) -> bool:
    """Whether a topic may not have a value that the broker's config for the default of all topics may."""
    of_broker = BROKER_CONFIGS.get(definition.synonym or "")
    if of_broker is None:
        return False
    least, most = (-math.inf if one.min is None else one.min for one in (definition, of_broker))
    highest, lowest = (math.inf if one.max is None else one.max for one in (definition, of_broker))
    return least > most or highest < lowest or (definition.one_of is not None and of_broker.one_of is None)


_STRICTER = tuple(one for one in TOPIC_CONFIGS.values() if _is_stricter(one))


def _log_defaults(_current: Props, new: Props) -> str | None:
    for definition in _STRICTER:
        value = topic_default(definition, new)
        if value is not None:
            try:
                parse(definition, value)
            except ConfigValueError as error:
                return f"{definition.synonym} is the default of topics ({error})"
    return None


def _index_room(_current: Props, new: Props) -> str | None:
    bytes_ = whole_in(new, LOG_INDEX_BYTES)
    return f"{LOG_INDEX_BYTES}={bytes_} has no room for an entry" if bytes_ < LEAST_INDEX else None


def _lags(_current: Props, new: Props) -> str | None:
    shortest, longest = whole_in(new, MIN_LAG), whole_in(new, MAX_LAG)
    return f"{MIN_LAG} ({shortest}) > {MAX_LAG} ({longest})" if shortest > longest else None


def _rates(_current: Props, new: Props) -> str | None:
    """BrokerConfigHandler reads them as they are stored; ConfigDef, which judges a request, trims them."""
    for name in THROTTLE_RATES:
        if name in new and integer(new[name], _INT64) is None:
            return f'{name} is "{shortened(new[name])}", with more than the digits of a number'
    return None


def _cleaners(new: Props) -> int:
    """0 where no log cleaner runs."""
    return max(whole_in(new, CLEANER_THREADS), 0) if text_in(new, CLEANS).lower() == "true" else 0


def _map(_current: Props, new: Props) -> str | None:
    threads = _cleaners(new)
    if not threads:
        return None
    slots = min(divided(whole_in(new, DEDUPE_BYTES), threads), 2**31 - 1) // _MAP_ENTRY
    factor = number_in(new, LOAD_FACTOR)
    if math.isnan(factor) or slots * factor <= 1:
        return f"{LOAD_FACTOR}={text_in(new, LOAD_FACTOR)} has no room for a single key"
    return None


def _buffer(_current: Props, new: Props) -> str | None:
    threads, bytes_ = _cleaners(new), whole_in(new, IO_BUFFER)
    return f"{IO_BUFFER}={bytes_} is none for {CLEANER_THREADS}={threads}" if bytes_ < 2 * threads else None


def _rate(_current: Props, new: Props) -> str | None:
    """A negative rate is no limit."""
    if _cleaners(new) and 0 <= number_in(new, IO_RATE) < 1:
        return f"{IO_RATE}={text_in(new, IO_RATE)} lets them read nothing"
    return None


def _pause(_current: Props, new: Props) -> str | None:
    return f"{BACKOFF}=0 leaves them no pause" if _cleaners(new) and whole_in(new, BACKOFF) == 0 else None


def _memory(current: Props, new: Props) -> str | None:
    """A broker does not report how much memory it has: what it uses now, or by default, is known to fit."""
    if not _cleaners(new):
        return None
    for name in (DEDUPE_BYTES, IO_BUFFER):
        wanted = whole_in(new, name)
        if wanted > max(whole_in(current, name), whole_in({}, name)):
            return (
                f"{name}={wanted} is more than it has now. Set it for one broker first (--entity-name), at that broker"
            )
    return None


def _reporters(current: Props, new: Props) -> str | None:
    """DynamicMetricsReporters cannot know whether a class that loads also takes its configuration."""
    untried = [one for one in list_in(new, REPORTERS) if one not in {JMX_REPORTER, *list_in(current, REPORTERS)}]
    if not untried:
        return None
    return (
        f"it does not have {REPORTERS} {', '.join(untried)} yet. Set it for one broker first (--entity-name), at that"
        " broker"
    )


_RULES = (
    _Rule(
        table.LOG_DEFAULTS,
        tuple(dict.fromkeys(name for one in _STRICTER for name in broker_synonyms(one.synonym or ""))),
        _log_defaults,
    ),
    _Rule(table.INDEX_ROOM, (LOG_INDEX_BYTES,), _index_room),
    _Rule(table.COMPACTION_LAGS, (MIN_LAG, MAX_LAG), _lags),
    _Rule(table.RATES, THROTTLE_RATES, _rates),
    _Rule(table.CLEANER_MAP, (CLEANS, CLEANER_THREADS, DEDUPE_BYTES, LOAD_FACTOR), _map),
    _Rule(table.CLEANER_BUFFER, (CLEANS, CLEANER_THREADS, IO_BUFFER), _buffer),
    _Rule(table.CLEANER_RATE, (CLEANS, CLEANER_THREADS, IO_RATE), _rate),
    _Rule(table.CLEANER_PAUSE, (CLEANS, CLEANER_THREADS, BACKOFF), _pause),
    _Rule(table.CLEANER_MEMORY, (CLEANS, CLEANER_THREADS, DEDUPE_BYTES, IO_BUFFER), _memory),
    _Rule(table.REPORTERS, (REPORTERS,), _reporters),
)
COUNT_LATER: Mapping[str, None] = dict.fromkeys(name for rule in _RULES for name in rule.names)
"""The configs that `later_trouble` reads, each once."""


_LISTENERS = "listeners"
_BY_DEFAULT = "PLAINTEXT://:9092"


def troubles(defaults: Configs, brokers: Mapping[int, ConfigLayers]) -> Iterator[tuple[Sequence[str], str]]:
    """Minimal sets of configs that together do harm, each with the reason.

    Brokers whose own and static configs are unknown are not judged, nor is metric.reporters: only the broker knows
    which classes it can load.
    """
    for name, value in defaults.items():
        why = ignored_default(name, value)
        if why is not None:
            yield [name], f"brokers leave it out: {why}"
    judged = {name: value for name, value in sorted(applied(defaults).items()) if name != REPORTERS}
    found: dict[str, list[int]] = {}
    for broker, layers in sorted(brokers.items()):
        harm = _harm(judged, layers)
        if harm is not None:
            found.setdefault(harm, []).append(broker)
    named: dict[tuple[str, ...], str] = {}
    for ids in found.values():
        for names, harm in _least_harmful(judged, brokers[ids[0]]):
            named.setdefault(names, f"brokers such as {ids[0]} ({len(ids)} of {len(brokers)}) {harm}")
    yield from named.items()


def _least_harmful(defaults: Configs, layers: ConfigLayers) -> Iterator[tuple[tuple[str, ...], str]]:
    """None can be left out without ending the harm."""
    rest = dict(defaults)
    while _harm(rest, layers) is not None:
        least = dict(rest)
        for name in rest:
            without = {other: value for other, value in least.items() if other != name}
            if _harm(without, layers) is not None:
                least = without
        harm = _harm(least, layers)
        if harm is None or not least:  # the broker's own configs do it
            return
        yield tuple(least), harm
        rest = {name: value for name, value in rest.items() if name not in least}


def _harm(defaults: Configs, layers: ConfigLayers) -> str | None:
    configs = layers._replace(defaults=defaults).effective()
    try:
        for listener in _listeners(configs):
            judge_standing(layers.static, defaults, layers.own, listener)
        later = later_trouble(configs, configs)
    except ConfigValueError as error:
        return f"{NOT_APPLIED}: {error}"
    return None if later is None else f"accept that, but {later}"


def _listeners(configs: Configs) -> list[str]:
    addresses = configs.get(_LISTENERS, _BY_DEFAULT).split(",")
    return [address.partition("://")[0].strip().lower() for address in addresses]


class TopicTrouble(NamedTuple):
    """`configs`: without them a broker lives with the rest."""

    ending: Ending
    why: str
    configs: tuple[str, ...]


def topic_trouble(configs: Configs, tiered_storage: bool | None) -> TopicTrouble | None:
    """`tiered_storage`: whether every broker has it; None: that is not known."""
    found = [*_troubles(configs, tiered_storage)]
    return found[0]._replace(configs=tuple(one.configs[0] for one in found)) if found else None


def _troubles(configs: Configs, tiered_storage: bool | None) -> Iterator[TopicTrouble]:
    values: dict[str, Value] = {}
    for name, definition in TOPIC_CONFIGS.items():
        if name in configs:
            try:
                values[name] = parse(definition, configs[name])
            except ConfigValueError as error:
                ending = table.TOPIC_REPLICAS if definition.throttled_replicas else table.TOPIC_VALUES
                yield TopicTrouble(ending, str(error), (name,))
                continue
            unread = _unreadable(definition, configs[name])
            if unread is not None:
                text = f"{name} has a form that a broker cannot read: {shortened(configs[name])}"
                yield TopicTrouble(unread, text, (name,))
    for name in (DELETE_ON_DISABLE, COPY_DISABLE):
        if values.get(name):
            yield TopicTrouble(table.TOPIC_TIERED, f"{name}=true is possible under KRaft alone", (name,))
    if values.get(REMOTE_STORAGE) and tiered_storage is False:
        text = f"{REMOTE_STORAGE}=true, and a broker has no tiered storage"
        yield TopicTrouble(table.TOPIC_TIERED, text, (REMOTE_STORAGE,))
    index = values.get(INDEX_BYTES)
    if isinstance(index, int) and index < LEAST_INDEX:
        yield TopicTrouble(table.TOPIC_INDEX, f"{INDEX_BYTES}={index} has no room for an entry", (INDEX_BYTES,))


def _unreadable(definition: ConfigDefinition, text: str) -> Ending | None:
    """ConfigDef trims a value; TopicConfigHandler and LogManager do not when they read it again."""
    if definition.name == MESSAGE_FORMAT:
        return table.TOPIC_FORMAT if format_version(definition, text) is None else None
    trimmed = trim(text)
    if not definition.throttled_replicas or trimmed == "*":
        return None
    items = trimmed.split(",")
    while items and not items[-1]:  # as String.split does
        items.pop()
    numbers = (number for item in items for number in f"{item}:".split(":", 2)[:2])
    return None if all(whole_number(one, 0, INT32) is not None for one in numbers) else table.TOPIC_REPLICAS


USERS, CLIENTS, IPS = "users", "clients", "ips"
SCRAM = frozenset(one.name for one in MECHANISMS.values())
_INT32 = 1 << 31
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
