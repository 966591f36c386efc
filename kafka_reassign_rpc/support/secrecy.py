"""What a message may repeat of what somebody has typed: numbers, names that look like names, paths of folders that are
there. Anything else may be a secret in the wrong place, and shows as Kafka's `[hidden]`.

Every error about a flag, a setting, a variable of the environment or a dynamic config says what was expected, and takes
what it repeats from here.
"""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

HIDDEN = "[hidden]"
"""As Kafka shows a password (org.apache.kafka.common.config.types.Password)."""
NAMELESS = "[a name that looks like none]"

LONGEST_NAME, LONGEST_NUMBER, LONGEST_OPTION = 120, 24, 60
_NUMBER = re.compile(
    r"[-+]?\d{1,6}(\.\d{1,3})? ?(|%|B|[kKMGT]i?B(/s)?|ns|us|ms|s|sec|min|h|d)|\d{1,3}[A-Za-z]{1,2}", re.ASCII
)
_WORD = re.compile(r"(?=.{1,24}$)(?:[a-z]+(?:[A-Z][a-z]+)*|[A-Z]+)|256|512|…")
_WORD_OR_NUMBER = re.compile(r"[A-Za-z0-9]{1,24}")
_SUITE = re.compile(r"(?:TLS|SSL)_[A-Z0-9_]{3,60}")
_PLAIN_PATH = re.compile(r"(?:[a-z0-9]{2,8}:/)?(?:/[A-Za-z0-9._=-]{1,60}){2,16}/?")
_PLAIN_NAME = re.compile(r"(?:\.{0,2}/)?[A-Za-z]{1,40}(?:[._-][A-Za-z0-9]{1,8}){0,6}/?")
_CLASS = re.compile(r"(?:[a-z][a-z0-9_]*\.){2,8}[A-Z][A-Za-z0-9]{0,60}")
_KEY = re.compile(r"[A-Za-z]{1,24}(?:[._-][A-Za-z]{1,24}){0,5}")
_OPTION = re.compile(r"--?[a-z]+(?:-[a-z]+)*|-[A-Za-z]")
_SECRET = re.compile(r"passw(?:or)?d|pwd|secret|jaas|tokens?|credentials?|keys?", re.IGNORECASE)
_BETWEEN = re.compile(r"([._-]+)")
_OF_SECRETS = """
keystore keymanager keytab keyfactory monkey password passwords secret jaas token tokens credential credentials key keys
"""
_AFTER_SECRETS = """
algorithm certificate chain cipher class config encoder endpoint expiry file handler interval iterations keyfactory
length lifetime location manager master max min ms name old password path provider server store time type url
"""
_OF_NAMES = """
acl acls admin advertised allow auth authorizer auto background backoff batch broker brokers buffer bytes cache
callback certificate chain class classes cleaner client clients cluster command compression config configs connect
connection connections consumer controller cooldown cordoned count create credentials default delegation delete dir
dirs disk enable enabled endpoint event events everyone expected factor factory failed failure fetch file files filter
flush format group groups health heartbeat host hosts id identification idle init inter interceptor internal interval
jaas jmx kafka kerberos key keystore lag leader level listener listeners location log max mechanism mechanisms message
metadata metric metrics min ms name names network node num offset offsets partition partitions password path per
plugin policy port principal process producer properties protocol provider providers proxy query queue queued quota
rack rate reassign reassignment refresh remote replica replication reporter reporters request requests retention retry
role rules sasl schema scram secret security segment server servers session size socket ssl state static status
storage super sync telemetry thread threads throttle tier timeout tls token topic topics transaction truststore type
unclean url user users value version watch webhook window worker zookeeper
"""
_SAFE = frozenset((_OF_SECRETS + _AFTER_SECRETS).split())
_TELLING = frozenset((_OF_NAMES + _OF_SECRETS + _AFTER_SECRETS).split())
"""Words of names of settings, of Kafka's and of plug-ins'. A text with dots and none of them is no such name."""


def told(value: object) -> str:
    """A wrong value, as a message may show it. Short numbers and sizes, booleans and blanks are no secrets."""
    if isinstance(value, bool | int | float) or value is None:
        text = repr(value)
        return text if len(text) <= LONGEST_NUMBER else HIDDEN
    if isinstance(value, str) and (not value.strip() or _NUMBER.fullmatch(value)):
        return repr(value[:LONGEST_NUMBER])
    return HIDDEN


def told_name(name: str) -> str:
    """The name of a setting, known or not, with `…` for a word that looks like none. Of what follows a word such
    as `password` in it, only known words.
    """
    parts = _BETWEEN.split(name)
    words = parts[::2]
    looks = len(words) > 1 and len(name) <= LONGEST_NAME and all(map(_WORD_OR_NUMBER.fullmatch, words))
    if not looks or not _TELLING & {one.lower() for one in words}:
        return NAMELESS
    parts[::2] = [one if _WORD.fullmatch(one) else "…" for one in words]
    return _without_secrets(parts)


def told_class(name: str) -> str:
    """The name of a Java class with its package."""
    return name if len(name) <= LONGEST_NAME and _CLASS.fullmatch(name) else HIDDEN


def told_suite(name: str) -> str:
    """Java's name of a cipher suite."""
    return name if _SUITE.fullmatch(name) else HIDDEN


def told_key(name: str) -> str:
    """What a secret is called where secrets are kept (`${provider:path:key}`): letters alone, with `.`, `_` and `-`."""
    return name if _KEY.fullmatch(name) else HIDDEN


def told_option(word: str) -> str:
    """An option of a command line without its value, which is given with `=` or with nothing between."""
    name = word.partition("=")[0]
    if len(name) > LONGEST_OPTION or not _OPTION.fullmatch(name):
        return HIDDEN
    dashes = "--" if name.startswith("--") else "-"
    return dashes + _without_secrets(_BETWEEN.split(name.removeprefix(dashes)))


def told_words(words: Sequence[str]) -> str:
    """Words of a command line that nothing takes. What follows an option that speaks of a secret is hidden,
    whatever it looks like.
    """
    found, hides = [], False
    for word in words:
        is_option = word.startswith("-") and not _NUMBER.fullmatch(word)
        found.append(told_option(word) if is_option else HIDDEN if hides else told(word).strip("'"))
        hides = is_option and _SECRET.search(word) is not None
    return " ".join(found)


def told_path(path: str | os.PathLike[str]) -> str:
    """A path that is there, or whose folder is, or that is written as one, or a plain word: a secret has digits within
    its words.
    """
    text = os.fspath(path)
    folder = text.rpartition("/")[0]
    try:
        is_plain = any(form.fullmatch(text) for form in (_PLAIN_PATH, _PLAIN_NAME))
        is_path = is_plain or Path(text).exists() or (folder and Path(folder).is_dir())
    except (OSError, ValueError):
        is_path = False
    return text if is_path and text.isprintable() else HIDDEN


def told_names(names: Iterable[str]) -> str:
    """Names that look like names, and how many others there are."""
    shown = [told_name(name) for name in names]
    known = [one for one in shown if one != NAMELESS]
    rest = len(shown) - len(known)
    more = [f"{rest} whose names look like none"] if rest else []
    return ", ".join([*known, *more]) or "none"


def _without_secrets(parts: Sequence[str]) -> str:
    """`parts`: words with what is between them."""
    out, is_secret = "", False
    for between, word in zip(("", *parts[1::2]), parts[::2], strict=True):
        small = word.lower()
        if is_secret and small not in _SAFE:
            return f"{out}…"
        found = None if small in _SAFE else _SECRET.search(word)
        if found is not None:
            return f"{out}{between}{word[: found.end()]}…"
        out += between + word
        is_secret = is_secret or _SECRET.fullmatch(word) is not None
    return out
