"""One attempt to notify a webhook: a signed POST that takes a bounded time, follows nothing, and reads no answer.

Headers and signature are those of Standard Webhooks (https://www.standardwebhooks.com), so that its libraries check
them: HMAC-SHA256 over `ID.TIMESTAMP.BODY`.

Names of receivers are looked up in threads of their own. A name server that hangs takes half a minute to fail: in the
threads of the whole process it would hold up everything else, just when an operator has to be notified of it. No such
thread outlives the process, or holds up its end.
"""

import asyncio
import base64
import binascii
import hmac
import socket
import ssl
import time
from contextlib import suppress
from http import HTTPStatus
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from kafka_reassign_rpc.core.events.notifications import Notification
from kafka_reassign_rpc.security.properties import BadSetting, Password
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.product_version import product_version

THREADS = 2

_Places = list[tuple[Any, ...]]


class ReceiverNames(AbstractResolver):
    """Make it in a running event loop."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(THREADS)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Raises OSError."""
        found = await self._look_up(host, port, family)
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        return [
            ResolveResult(hostname=host, host=str(place[0]), port=port, family=of, proto=protocol, flags=flags)
            for of, _, protocol, _, place in found
        ]

    async def close(self) -> None:
        """A look-up that hangs goes on by itself."""

    async def _look_up(self, host: str, port: int, family: socket.AddressFamily) -> _Places:
        """A caller that gives up waiting leaves the thread, which keeps its place until it ends."""
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        looked_up: asyncio.Future[_Places] = loop.create_future()

        def ended(found: _Places | Exception) -> None:
            self._free.release()
            if looked_up.done():
                return
            if isinstance(found, Exception):
                looked_up.set_exception(found)
            else:
                looked_up.set_result(found)

        def work() -> None:
            found: _Places | Exception
            try:
                found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
            except Exception as error:  # OSError; UnicodeError where a label of the name is too long
                found = error
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(ended, found)

        Thread(target=work, name="webhook-names", daemon=True).start()
        return await looked_up


ENCODED = "whsec_"
"""What the secret of Standard Webhooks begins with: base64 follows."""
LEAST_SECRET, MOST_SECRET = 16, 4096
"""Bytes."""
REFUSED = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }
)
"""Answers to this body, which the same body gets again."""


DEFAULT_TIMEOUT_MS, DEFAULT_MAX_AGE_MS = 10_000, 6 * 3_600_000
"""Those of webhook.timeout.ms and webhook.max.age.ms."""


class WebhookConfig(NamedTuple):
    """urls         https, or http
    secret       signs what is sent (`signing_key`)
    kinds        the names of the events to send
    tls          None: the certificates that the system trusts
    timeout_s    of one attempt
    max_age_ms   older events are dropped
    """

    urls: tuple[str, ...]
    secret: Password
    kinds: frozenset[str]
    tls: ssl.SSLContext | None = None
    timeout_s: float = DEFAULT_TIMEOUT_MS / 1000
    max_age_ms: int = DEFAULT_MAX_AGE_MS


class Outcome(NamedTuple):
    """`why` an attempt failed, or ""; `refused`: the same body would be refused again."""

    why: str = ""
    refused: bool = False


def signing_key(secret: Password) -> bytes:
    """The bytes of the text, or what follows `whsec_` in base64. Raises BadSetting, without the secret."""
    text = secret.value
    try:
        key = base64.b64decode(text.removeprefix(ENCODED), validate=True) if text.startswith(ENCODED) else text.encode()
    except binascii.Error:
        raise BadSetting(f"what follows {ENCODED} is not base64") from None
    if not LEAST_SECRET <= len(key) <= MOST_SECRET:
        raise BadSetting(
            f"a secret of {LEAST_SECRET} to {MOST_SECRET} bytes is needed, it has {len(key)}:"
            " `openssl rand -hex 32` makes one"
        )
    return key


def origin(url: str) -> str:
    """Scheme, host and port: what follows may be secret, and shows in no log."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


class WebhookSession:
    """The connections to all receivers. Make it in a running event loop, and `close` it."""

    def __init__(self, config: WebhookConfig) -> None:
        self._key = signing_key(config.secret)
        self._timeout_s = config.timeout_s
        self._names = ReceiverNames()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=True if config.tls is None else config.tls, resolver=self._names),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=config.timeout_s),
            auto_decompress=False,
            headers={
                "Content-Type": "application/json",
                "User-Agent": f"kafka-reassign-rpc/{product_version()}",
                "Accept-Encoding": "identity",
            },
        )

    async def close(self) -> None:
        await self._session.close()
        await self._names.close()

    async def post(self, url: str, notification: Notification) -> Outcome:
        """Raises nothing but a cancellation. Only the status of an answer counts, none of it is read."""
        headers = self._signed(notification, int(time.time()))
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                self._session.post(url, data=notification.body, headers=headers, allow_redirects=False) as answer,
            ):
                status = answer.status
        except TimeoutError:
            return Outcome(f"no answer within {self._timeout_s:g} s")
        except aiohttp.ClientResponseError:  # its text may have the URL, and what the receiver has sent
            return Outcome("the answer is not HTTP")
        except aiohttp.ClientSSLError as error:
            return Outcome(f"TLS failed: {_of_tls(error)}")
        except aiohttp.ClientConnectorError as error:
            return Outcome(f"no connection: {error_text(error.os_error)}")
        except (aiohttp.ClientError, OSError) as error:
            return Outcome(f"the connection was closed ({type(error).__name__})")
        except Exception as error:
            return Outcome(f"the attempt failed ({type(error).__name__})")
        if 200 <= status < 300:
            return Outcome()
        also = ", and redirects are not followed" if 300 <= status < 400 else ""
        return Outcome(f"the answer has status {status}{also}", status in REFUSED)

    def _signed(self, notification: Notification, seconds: int) -> dict[str, str]:
        signed = b"%s.%d.%s" % (notification.id.encode(), seconds, notification.body)
        return {
            "webhook-id": notification.id,
            "webhook-timestamp": str(seconds),
            "webhook-signature": f"v1,{base64.b64encode(hmac.digest(self._key, signed, 'sha256')).decode()}",
        }


def _of_tls(error: aiohttp.ClientSSLError) -> str:
    cause = error.certificate_error if isinstance(error, aiohttp.ClientConnectorCertificateError) else error.os_error
    return getattr(cause, "verify_message", None) or getattr(cause, "reason", None) or type(cause).__name__
