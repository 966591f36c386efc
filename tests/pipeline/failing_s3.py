"""An S3 endpoint on loopback that stands before another one, and fails in the middle of a job.

What a job does is told by the first folder of the bucket that it names:

    denied…   every request is refused, as with a wrong key
    expired…  requests are refused from the first on with which Spark reads a Parquet file: the credentials have expired
    gone…     from that request on connections end without an answer: the store has vanished

Requests of all other folders are passed on.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from tests.pipeline.s3 import BUCKET, S3

DENIED, EXPIRED, GONE = "denied", "expired", "gone"
_REFUSAL = b"""<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>InvalidAccessKeyId</Code><Message>The AWS Access Key Id you provided does not exist in our records.\
</Message></Error>"""
_OF_ONE_CONNECTION = ("connection", "transfer-encoding", "expect", "content-length", "date", "server")


class FailingEndpoint:
    """What the handlers share. failing: the folders whose requests fail by now."""

    def __init__(self, behind: S3) -> None:
        self.behind = urlsplit(behind.environment["AWS_ENDPOINT_URL"]).netloc
        self.failing: set[str] = set()

    def fails(self, folder: str, *, is_read_by_spark: bool) -> bool:
        """Whether this request of a folder fails; a read by Spark makes the later ones fail as well."""
        if folder.startswith(DENIED) or (is_read_by_spark and folder.startswith((EXPIRED, GONE))):
            self.failing.add(folder)
        return folder in self.failing


def _handler(endpoint: FailingEndpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self._body()
            if endpoint.fails(folder := self._folder(), is_read_by_spark=self._is_read_by_spark()):
                if folder.startswith(GONE):
                    self.close_connection = True
                else:
                    self._send(403, [("Content-Type", "application/xml")], _REFUSAL)
                return
            passed_on = HTTPConnection(endpoint.behind)
            try:
                headers = {name: text for name, text in self.headers.items() if name.lower() not in _OF_ONE_CONNECTION}
                passed_on.request(self.command, self.path, body, headers | {"Content-Length": str(len(body))})
                answer = passed_on.getresponse()
                self._send(answer.status, answer.getheaders(), answer.read())
            finally:
                passed_on.close()

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            chunks = []
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                chunks.append(self.rfile.read(size))
                self.rfile.readline()
            while self.rfile.readline().strip():
                """A trailer of the chunks."""
            return b"".join(chunks)

        def _folder(self) -> str:
            parts = urlsplit(self.path)
            inside = parts.path.removeprefix(f"/{BUCKET}").strip("/")
            key = inside or parse_qs(parts.query).get("prefix", [""])[0]
            return key.partition("/")[0]

        def _is_read_by_spark(self) -> bool:
            agent = self.headers.get("User-Agent", "")
            return "Hadoop" in agent and self.command == "GET" and urlsplit(self.path).path.endswith(".parquet")

        def _send(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            self.send_response(status)
            told = next((value for name, value in headers if name.lower() == "content-length"), "0")
            for name, value in headers:
                if name.lower() not in _OF_ONE_CONNECTION:
                    self.send_header(name, value)
            self.send_header("Content-Length", told if self.command == "HEAD" else str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Handler


@contextmanager
def failing_endpoint(behind: S3) -> Iterator[S3]:
    """`behind` through an endpoint that fails as this module says."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(FailingEndpoint(behind))) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, name="failing-s3")
        thread.start()
        try:
            port = server.server_address[1]
            yield behind._replace(environment=behind.environment | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"})
        finally:
            server.shutdown()
            thread.join()
