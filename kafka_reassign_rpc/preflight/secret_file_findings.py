"""Whether others may read the files with the server's secrets."""

from collections.abc import Iterable, Iterator

from kafka_reassign_rpc.preflight.findings import Finding, fine, warning
from kafka_reassign_rpc.security.secret_files import SecretFile, readable
from kafka_reassign_rpc.support.counted import counted

SUBJECT = "secret-files"


def findings(files: Iterable[SecretFile]) -> Iterator[Finding]:
    """Says nothing where the settings name no file with a secret."""
    all_files = list(files)
    found = readable(all_files)
    for one in found:
        yield warning(SUBJECT, one.problem, one.advice)
    if all_files and not found:
        count = len({file.path for file in all_files})
        yield fine(SUBJECT, f"no other user may read {counted(count, 'file')} with secrets that the settings name")
