"""An S3 endpoint on loopback: moto's server in a process of its own, with one bucket."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from pyarrow import fs

from kafka_reassign_rpc.pipeline import store_paths

BUCKET = "bucket"
_SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""
"""Ends when its standard input is closed: with the test that started it, whatever happens to that one."""


class S3(NamedTuple):
    """The running endpoint. `environment`: the variables that name it, with its credentials."""

    process: "subprocess.Popen[str]"
    environment: dict[str, str]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def file_system(self, **options: bool) -> fs.S3FileSystem:
        place = self.environment["AWS_ENDPOINT_URL"].removeprefix("http://")
        keys = {"access_key": "key", "secret_key": "secret"}
        return fs.S3FileSystem(**keys, endpoint_override=place, scheme="http", **options)

    def names(self, directory: str = "") -> list[str]:
        """All objects below a directory of the bucket."""
        selector = fs.FileSelector(f"{BUCKET}/{directory}".rstrip("/"), recursive=True, allow_not_found=True)
        found = self.file_system().get_file_info(selector)
        return sorted(one.path.removeprefix(f"{BUCKET}/") for one in found if one.type is fs.FileType.File)


@contextmanager
def s3_endpoint() -> Iterator[S3]:
    """Start it, with an empty bucket."""
    quiet = {**os.environ, "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=quiet,
    )
    with process:
        try:
            assert process.stdout is not None
            lines = (line.strip() for line in process.stdout)
            port = next(line for line in lines if line.isdecimal())
            environment = {
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
                "AWS_ACCESS_KEY_ID": "key",
                "AWS_SECRET_ACCESS_KEY": "secret",
                "AWS_REGION": "us-east-1",
                "AWS_EC2_METADATA_DISABLED": "true",
            }
            started = S3(process, environment)
            started.file_system(allow_bucket_creation=True).create_dir(BUCKET)
            yield started
        finally:
            process.kill()


@contextmanager
def in_environment(found: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    """This process uses the endpoint."""
    for name, value in found.environment.items():
        monkeypatch.setenv(name, value)
    store_paths._file_system.cache_clear()
    yield found
    store_paths._file_system.cache_clear()
