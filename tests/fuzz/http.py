"""Requests to the pages for monitoring, well-formed and not."""

from random import Random

from tests.fuzz.damage import damaged

_METHODS = ("GET", "GET", "GET", "HEAD", "POST", "OPTIONS", "get", "G\x00T", "X" * 5_000)
_PATHS = ("/metrics", "/health", "/ready", "/", "/../etc/passwd", "//ready", "/ready?" + "x" * 3_000, "*", "http://a/ready",
          "/" * 9_000, "/%ff%00", "/ready#x", "\x7f", "/api/v1/status", "/api/v1/stream", "/api/v1/brokers",
          "/api/v1/moves?topic=%00%ff&sort=left&offset=9999999", "/api/v1/moves?limit=" + "9" * 3_000,
          "/api/v1/events?since=1&principal=%ud800&broker=1", "/api/v1/history?span=day", "/static/status.js",
          "/static/../page.py", "/api/v1/moves?" + "&" * 3_000)  # fmt: skip
_VERSIONS = ("HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/9.9", "", "HTTP/" + "1" * 500)
_HEADERS = (
    *("Host: x", "Host: a\r\nHost: b", "Connection: close", "Connection: keep-alive", "Accept-Encoding: gzip"),
    *("Content-Length: 5", "Content-Length: -1", "Content-Length: 99999999999999999999", "Transfer-Encoding: chunked"),
    *(
        "Expect: 100-continue",
        "Upgrade: websocket",
        "Upgrade: h2c",
        "Cookie: \x00",
        "X: " + "y" * 5_000,
        "X" * 100,
        ": x",
    ),
    " folded: x",
)


def request(rng: Random) -> bytes:
    """Any request; half of them well-formed but for what their headers say."""
    head = " ".join((rng.choice(_METHODS), rng.choice(_PATHS), rng.choice(_VERSIONS)))
    headers = rng.sample(_HEADERS, rng.choice((0, 1, 2, 3))) * rng.choice((1, 1, 1, 1, 200))
    headers += ["Host: localhost"] * rng.choice((0, 1, 1))
    data = "\r\n".join((head, *headers, "", "")).encode() + rng.randbytes(rng.choice((0, 0, 5, 100)))
    data *= rng.choice((1, 1, 1, 20))
    return damaged(rng, data) if rng.random() < 0.5 else data
