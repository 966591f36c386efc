"""Configs of brokers that brokers accept and cannot live with: the rules of the table for them.

`later_trouble` judges what is in force, so that it counts where a value comes from. The first rule that is broken is
reported.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.core.configs.broker_config_rules import (
    BACKOFF,
    CLEANER_THREADS,
    CLEANS,
    DEDUPE_BYTES,
    IO_BUFFER,
    IO_RATE,
    JMX_REPORTER,
    LOAD_FACTOR,
    REPORTERS,
    Props,
    divided,
    list_in,
    number_in,
    text_in,
    whole_in,
)
from kafka_reassign_rpc.core.configs.config_definitions import (
    BROKER_CONFIGS,
    THROTTLE_RATES,
    TOPIC_CONFIGS,
    ConfigDefinition,
    ConfigValueError,
    broker_synonyms,
    parse,
    topic_default,
)
from kafka_reassign_rpc.core.configs.topic_config_rules import LEAST_INDEX
from kafka_reassign_rpc.core.java_values import integer
from kafka_reassign_rpc.core.restarts import table
from kafka_reassign_rpc.core.restarts.table import Ending
from kafka_reassign_rpc.support.bounded_text import shortened

MIN_LAG, MAX_LAG = "log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"
INDEX_BYTES = "log.index.size.max.bytes"
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
    bytes_ = whole_in(new, INDEX_BYTES)
    return f"{INDEX_BYTES}={bytes_} has no room for an entry" if bytes_ < LEAST_INDEX else None


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
    _Rule(table.INDEX_ROOM, (INDEX_BYTES,), _index_room),
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
