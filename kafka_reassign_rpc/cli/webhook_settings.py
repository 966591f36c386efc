"""Whom to notify, and of what: a part of the server's catalogue."""

import logging
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kafka_reassign_rpc.cli.settings_reader import Setting, in_group
from kafka_reassign_rpc.cli.value_parsers import text, whole, words
from kafka_reassign_rpc.controller.telemetry.webhook_requests import (
    DEFAULT_MAX_AGE_MS,
    DEFAULT_TIMEOUT_MS,
    MOST_SECRET,
    WebhookConfig,
    origin,
    signing_key,
)
from kafka_reassign_rpc.core.events.notifications import DEFAULT_KINDS, kinds
from kafka_reassign_rpc.security.properties import BadSetting, Password
from kafka_reassign_rpc.security.secret_files import WEBHOOK_SECRET
from kafka_reassign_rpc.support.files import read_bounded
from kafka_reassign_rpc.support.host_port import is_loopback
from kafka_reassign_rpc.support.quiet_arguments import UsageError
from kafka_reassign_rpc.support.secrecy import told, told_path

log = logging.getLogger(__name__)

URLS = "webhook.urls"
EVENTS = "webhook.events"
CA_FILE = "webhook.ca.file"
MOST_URLS, LONGEST_URL = 10, 2048


def _urls(value: Any) -> tuple[str, ...]:
    """URLs, separated by commas. What was wrong is said without the URL, which may hold a secret."""
    try:
        found = words(value)
    except ValueError:
        raise ValueError("expected text, or a list of texts: URLs") from None
    if not found or len(found) > MOST_URLS or len(set(found)) < len(found):
        raise ValueError(f"expected 1 to {MOST_URLS} URLs, each once")
    for place, url in enumerate(found, start=1):
        if (why := _wrong(url)) is not None:
            raise ValueError(f"URL {place} of {len(found)}: {why}")
    return found


def _wrong(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "expected https://HOST[:PORT]/PATH"
    if parts.scheme not in ("https", "http") or not host or len(url) > LONGEST_URL or not url.isprintable():
        return "expected https://HOST[:PORT]/PATH"
    if "@" in parts.netloc:
        return "it has a user or a password before the host; receivers know the sender by the signature"
    return "what follows # is never sent" if parts.fragment else None


def _kinds(value: Any) -> frozenset[str]:
    found = kinds(words(value))
    if not found:
        raise ValueError(f"expected names of events, got {told(value)}")
    return found


WEBHOOK_SETTINGS = in_group(
    "notifications",
    Setting(
        URLS,
        _urls,
        (),
        "Who is notified of what happens: URLs to which the controller, or watch, posts signed JSON. At most"
        f" {MOST_URLS}, separated by commas. A URL that holds a token belongs in the file of --config: everybody can"
        " read a command line.",
        metavar="URL[,…]",
        default_words="none",
    ),
    Setting(
        WEBHOOK_SECRET,
        text,
        None,
        "A file with the secret that signs notifications (HMAC-SHA256): at least 16 bytes of text, or whsec_ and base64"
        " as in Standard Webhooks. webhook.urls needs it.",
        metavar="FILE",
    ),
    Setting(
        EVENTS,
        _kinds,
        frozenset(DEFAULT_KINDS),
        "Which events are sent, by their names in the event log, separated by commas: heal.* means all that begin so,"
        " and default for the default.",
        metavar="NAME[,…]",
        default_words=", ".join(DEFAULT_KINDS),
    ),
    Setting(
        CA_FILE,
        text,
        None,
        "A file with the certificates (PEM) of the authorities that sign for receivers with https.",
        metavar="FILE",
        default_words="those that the system trusts",
    ),
    Setting(
        "webhook.timeout.ms",
        whole(100, 60_000),
        DEFAULT_TIMEOUT_MS,
        "Milliseconds that one attempt to notify may take, from the connection to the status of the answer. From 100 to"
        " 60000.",
    ),
    Setting(
        "webhook.max.age.ms",
        whole(1000),
        DEFAULT_MAX_AGE_MS,
        "Milliseconds after which an event that a receiver has not taken is dropped. Until then the attempts go on,"
        " with waits of 1 s to 5 min. At least 1000.",
    ),
)


def webhook_config(values: Mapping[str, Any]) -> WebhookConfig | None:
    """What notifications need; None where there is none to notify. Reads the files. Raises UsageError."""
    urls: tuple[str, ...] = values[URLS]
    if not urls:
        lonely = next((name for name in (WEBHOOK_SECRET, CA_FILE) if values[name] is not None), None)
        if lonely is not None:
            raise UsageError(f"{lonely}: it has no effect without {URLS}")
        return None
    for url in urls:
        if url.startswith("http:") and not is_loopback(urlsplit(url).hostname or ""):
            log.warning("%s: everybody on the way can read notifications to %s: https hides them", URLS, origin(url))
    return WebhookConfig(
        urls,
        _secret(values[WEBHOOK_SECRET]),
        values[EVENTS],
        _tls(values[CA_FILE]) if any(url.startswith("https:") for url in urls) else None,
        values["webhook.timeout.ms"] / 1000,
        values["webhook.max.age.ms"],
    )


def _secret(path: str | None) -> Password:
    if path is None:
        raise UsageError(f"{WEBHOOK_SECRET}: {URLS} needs it, so that receivers know who notifies them")
    try:
        secret = Password(read_bounded(Path(path), MOST_SECRET).decode().strip())
        signing_key(secret)
    except OSError as error:
        raise UsageError(f"{WEBHOOK_SECRET}: {told_path(path)}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{WEBHOOK_SECRET}: {path}: expected text in UTF-8") from None
    except BadSetting as error:
        raise UsageError(f"{WEBHOOK_SECRET}: {path}: {error}") from None
    return secret


def _tls(path: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=path)
    except ssl.SSLError:
        raise UsageError(f"{CA_FILE}: {path}: expected certificates in PEM") from None
    except OSError as error:
        raise UsageError(f"{CA_FILE}: {told_path(path or '')}: {(error.strerror or str(error)).lower()}") from None
