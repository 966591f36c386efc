"""Where jobs read and write: a local path, or a URI of a store that several machines reach (docs/spark.md).

file:/mnt/shared/snapshots/monday   a path; Spark's executors read it if it is mounted there too
s3a://bucket/snapshots/monday       an object store (s3: means the same), by the AWS_… environment variables
hdfs://namenode:8020/snapshots      HDFS, by the configuration in HADOOP_CONF_DIR

The driver uses pyarrow's file systems, Spark's executors Hadoop's (`spark_uri`).
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
import pyarrow as pa
from pyarrow import fs

from kafka_reassign_rpc.pipeline.job_errors import BadInput, JobFailed
from kafka_reassign_rpc.support import files

NO_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""msgspec raises these for what is no JSON of the wanted type, is no UTF-8, or is nested thousands deep."""

_S3 = ("s3", "s3a")
_SCHEMES = ("file", *_S3, "hdfs")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
"""AWS's variables; the first that is set counts."""

_REFUSALS = ("ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "EXPIRED_TOKEN", "ExpiredToken")
_CREDENTIALS = (
    "not allowed with the credentials given (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, ~/.aws): "
)


class StoreError(JobFailed):
    """A store does not answer, or the credentials do not allow the request."""


class RemotePath(NamedTuple):
    """With the methods of pathlib's Path that the pipeline uses.

    authority   the bucket, or the name node, which may be empty
    path        inside of it, without a slash at its ends

    Methods that reach the store raise StoreError, or FileNotFoundError for a missing file.
    """

    scheme: str
    authority: str
    path: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}/{self.path}"

    def __truediv__(self, name: str) -> "RemotePath":
        return self._replace(path=str(PurePosixPath(self.path) / name))

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name

    @property
    def stem(self) -> str:
        return PurePosixPath(self.path).stem

    @property
    def parent(self) -> "RemotePath":
        return self._replace(path=str(PurePosixPath(self.path).parent).removeprefix("."))

    def with_name(self, name: str) -> "RemotePath":
        return self.parent / name

    def resolve(self) -> "RemotePath":
        return self

    def exists(self) -> bool:
        return self._type() is not fs.FileType.NotFound

    def is_file(self) -> bool:
        return self._type() is fs.FileType.File

    def is_dir(self) -> bool:
        return self._type() is fs.FileType.Directory

    def iterdir(self) -> Iterator["RemotePath"]:
        """In order of names."""
        with self._errors():
            found = self._store.get_file_info(fs.FileSelector(self._key, allow_not_found=True))
        return (self / one.base_name for one in sorted(found, key=lambda one: one.base_name))

    def glob(self, pattern: str) -> Iterator["RemotePath"]:
        return (one for one in self.iterdir() if fnmatchcase(one.name, pattern))

    def files(self) -> list["RemotePath"]:
        """However deep, in order."""
        with self._errors():
            found = self._store.get_file_info(fs.FileSelector(self._key, allow_not_found=True, recursive=True))
        inside = sorted(one.path.removeprefix(f"{self._key}/") for one in found if one.type is fs.FileType.File)
        return [self / name for name in inside]

    def mkdir(self, **_of_path: bool) -> None:
        """Makes parents too; an object store has no directories."""
        if self.scheme == "hdfs":
            with self._errors():
                self._store.create_dir(self._key)

    def read_bytes(self) -> bytes:
        with self._errors(), self._store.open_input_file(self._key) as file:
            return bytes(file.readall())

    def write_bytes(self, content: bytes) -> None:
        """Readers see the old content or the new."""
        with self._errors(), self._store.open_output_stream(self._key) as file:
            file.write(content)

    def open_for_arrow(self, mode: str) -> Any:
        """`mode`: "rb" or "wb"."""
        with self._errors():
            return self._store.open_input_file(self._key) if mode == "rb" else self._store.open_output_stream(self._key)

    def rename(self, target: "RemotePath") -> None:
        """A file (an object store copies, then deletes), or on HDFS a directory in one step."""
        with self._errors():
            self._store.move(self._key, target._key)

    def unlink(self, *, missing_ok: bool = False) -> None:
        try:
            with self._errors():
                self._store.delete_file(self._key)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def remove_tree(self) -> None:
        if self.is_dir():
            with self._errors():
                self._store.delete_dir(self._key)

    @property
    def renames_directories(self) -> bool:
        return self.scheme == "hdfs"

    @property
    def _key(self) -> str:
        return f"{self.authority}/{self.path}" if self.scheme == "s3a" else f"/{self.path}"

    @property
    def _store(self) -> fs.FileSystem:
        return _file_system(self.scheme, self.authority)

    def _type(self) -> fs.FileType:
        with self._errors():
            return self._store.get_file_info(self._key).type

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise FileNotFoundError(f"{self}: is missing") from None
        except (OSError, RuntimeError, ValueError) as error:
            raise store_error(self, error) from None


StorePath = Path | RemotePath


def store_path(text: str) -> StorePath:
    """Raises BadInput for an unknown scheme, and for a URI without a place."""
    scheme, colon, rest = text.partition(":")
    if not colon or "/" in scheme or (scheme not in _SCHEMES and not rest.startswith("/")):
        return Path(text)  # a local name may hold a colon
    if scheme not in _SCHEMES:
        raise BadInput(f"{text}: a place is a local path or a URI with one of {', '.join(f'{s}:' for s in _SCHEMES)}")
    parts = urlsplit(text)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadInput(f"{scheme}: URI: only a place may stand in it; credentials belong into the environment")
    if scheme == "file":
        if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
            raise BadInput(f"{text}: expected file:/a/path")
        return Path(parts.path)
    path = parts.path.strip("/")
    if not path or (scheme in _S3 and not parts.netloc) or ".." in path.split("/"):
        raise BadInput(f"{text}: expected {'s3a://bucket/path' if scheme in _S3 else 'hdfs://host:port/path'}")
    return RemotePath("s3a" if scheme in _S3 else scheme, parts.netloc, path)


def matching(directory: StorePath, pattern: str) -> list[StorePath]:
    """What is directly inside, fits the pattern and is not hidden, in order."""
    found: list[StorePath] = [*directory.glob(pattern)]
    return sorted((one for one in found if not one.name.startswith(".")), key=lambda one: one.name)


def spark_uri(path: StorePath) -> str:
    """It does not depend on Hadoop's default file system."""
    return f"file://{path.absolute()}" if isinstance(path, Path) else str(path)


def s3_endpoint() -> str:
    """ "" for AWS's own."""
    return next((found for name in _ENDPOINTS if (found := os.environ.get(name))), "")


def open_for_arrow(path: StorePath, mode: str) -> Any:
    return pa.OSFile(str(path), mode) if isinstance(path, Path) else path.open_for_arrow(mode)


def store_error(path: StorePath, error: Exception) -> StoreError:
    first = str(error).partition("\n")[0]
    is_refused = any(code in first for code in _REFUSALS)
    return StoreError(f"{path}: {_CREDENTIALS if is_refused else ''}{first}")


def rename(source: StorePath, target: StorePath) -> None:
    """Within one directory. Raises OSError, StoreError."""
    if isinstance(source, RemotePath) and isinstance(target, RemotePath):
        source.rename(target)
    else:
        Path(str(source)).rename(str(target))


def remove_tree(path: StorePath) -> None:
    if isinstance(path, Path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.remove_tree()


def write_file(path: StorePath, content: bytes, *, sync: bool = False) -> None:
    """Readers see the old content or the new; with `sync`, a file on a disk survives a loss of power. Raises OSError,
    StoreError.
    """
    if isinstance(path, Path):
        files.write_file(path, (content,), sync=sync)
    else:
        path.write_bytes(content)


@cache
def _file_system(scheme: str, authority: str) -> fs.FileSystem:
    if scheme == "hdfs":
        host, _, port = authority.partition(":")
        return fs.HadoopFileSystem(host or "default", int(port or 0))
    endpoint = urlsplit(s3_endpoint())
    if not endpoint.netloc:
        return fs.S3FileSystem()
    return fs.S3FileSystem(endpoint_override=endpoint.netloc, scheme=endpoint.scheme)
