"""The files of examples/secured-cluster in a folder of a test, and the certificates that its script makes."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples/secured-cluster"
STORE_PASSWORD = "keystore-secret"
"""As the files have it."""


def put_files(folder: Path, replaced: Mapping[str, str]) -> None:
    """Copy the example's files, with nothing changed but these texts: each of them stands there."""
    left = set(replaced)
    for file in EXAMPLE.iterdir():
        text = file.read_text()
        for old, new in replaced.items():
            if old in text:
                left.discard(old)
                text = text.replace(old, new)
        (folder / file.name).write_text(text)
    assert not left


def make_certificates(folder: Path, *nodes: str, password: str = STORE_PASSWORD) -> str:
    """Run the example's script there; what it prints on standard output."""
    return subprocess.run(
        ["sh", str(EXAMPLE / "certificates.sh"), *nodes],
        cwd=folder,
        env=os.environ | {"STORE_PASSWORD": password},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
