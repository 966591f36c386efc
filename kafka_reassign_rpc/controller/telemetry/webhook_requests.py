"""One attempt to notify a webhook: a signed POST that takes a bounded time, follows nothing, and reads no answer.

Headers and signature are those of Standard Webhooks (https://www.standardwebhooks.com), so that its libraries check
them: HMAC-SHA256 over `ID.TIMESTAMP.BODY`.
"""

import asyncio
import base64
import binascii
import hmac
import ssl
import time
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp

from kafka_reassign_rpc.controller.telemetry.webhook_names import ReceiverNames
from kafka_reassign_rpc.core.events.notifications import Notification
from kafka_reassign_rpc.security.bad_setting import BadSetting, Password
from kafka_reassign_rpc.support.error_text import error_text
from kafka_reassign_rpc.support.product_version import product_version

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
