"""Stores as Java's keytool writes them. `python -m tests.security.tls.keytool_files` writes the recorded ones anew.

key.jks, key.jceks      a key and its certificate; the key has a password of its own
key.p12, trust.p12      in the format that keytool writes since Java 9
trust.jks               two trusted certificates, one of them of a CA
both.jks                a key, and a trusted certificate
"""

import subprocess
from pathlib import Path

RECORDED = Path(__file__).parent / "recorded"
STORE_PASSWORD = "storeword"
KEY_PASSWORD = "keyword"
NAME = "CN=broker,OU=Kafka,O=Acme\\, Inc.,C=DE"
CA_NAME = "CN=authority"


def write(folder: Path) -> None:
    """Writes all stores into `folder`."""
    own = ["-alias", "own", "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "36500", "-dname", NAME]
    for kind in ("jks", "jceks"):
        _keytool(folder, f"key.{kind}", "-genkeypair", *own, "-storetype", kind, "-keypass", KEY_PASSWORD)
    _keytool(folder, "key.p12", "-genkeypair", *own)
    _keytool(folder, "key.p12", "-exportcert", "-alias", "own", "-file", "own.crt")
    ca = ["-alias", "ca", "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "36500", "-dname", CA_NAME]
    _keytool(folder, "both.jks", "-genkeypair", *ca, "-storetype", "jks", "-ext", "bc:c")
    _keytool(folder, "both.jks", "-exportcert", "-alias", "ca", "-file", "ca.crt")
    _keytool(folder, "both.jks", "-importcert", "-noprompt", "-alias", "other", "-file", "own.crt")
    for alias in ("own", "ca"):
        trusted = ["-importcert", "-noprompt", "-alias", alias, "-file", f"{alias}.crt"]
        _keytool(folder, "trust.jks", *trusted, "-storetype", "jks")
        _keytool(folder, "trust.p12", *trusted)
        (folder / f"{alias}.crt").unlink()


def _keytool(folder: Path, store: str, *arguments: str) -> None:
    command = ["keytool", *arguments, "-keystore", store, "-storepass", STORE_PASSWORD]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)


if __name__ == "__main__":
    for old in ("*.jks", "*.jceks", "*.p12"):
        for path in RECORDED.glob(old):
            path.unlink()
    write(RECORDED)
