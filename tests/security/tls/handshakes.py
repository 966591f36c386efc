"""What stock Kafka's TLS says of certificates, recorded from a JVM: who takes whose, and whose not.

`python -m tests.security.tls.handshakes` writes the recording again. Certificates are made when they are needed: only
the verdicts are recorded.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.x509.oid import ExtendedKeyUsageOID

from tests.certificates import Authority, Issued
from tests.jvm import QUICK
from tests.stock.jars import BROKER_VERSION, classpath

_HERE = Path(__file__).parent
RECORDED = _HERE / "recorded" / "handshakes.json"
DAY = timedelta(days=1)
OVER: Any = {"begins": -9 * DAY, "ends": -DAY}
HOST = "broker.example.com"


class Pair(NamedTuple):
    """The properties of a server and of a client, which connects to `host`."""

    server: Mapping[str, str]
    client: Mapping[str, str]
    host: str = HOST


class _Maker:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = 0

    def _path(self) -> Path:
        self._files += 1
        return self._folder / f"{self._files}.pem"

    def store(self, issued: Issued, *more: Issued) -> dict[str, str]:
        found = issued.pem_keystore(path := self._path())
        path.write_text(path.read_text() + "".join(one.certificates_pem for one in more))
        return found

    def trust(self, *trusted: Issued) -> dict[str, str]:
        (path := self._path()).write_text("".join(one.certificates_pem for one in trusted))
        return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(path)}


def pairs(folder: Path) -> dict[str, Pair]:
    """By what they show."""
    make, ca, other = _Maker(folder), Authority("CN=ca"), Authority("CN=other")
    trust, good = make.trust(ca.own), ca.issue(hosts=(HOST, "10.0.0.1"))
    below = Authority("CN=below", ca)
    old_root, old_below = Authority("CN=old", **OVER), Authority("CN=old below", ca, **OVER)
    alone = Authority("CN=alone", hosts=(HOST,), **OVER).own
    renewed = Authority("CN=ca", renews=ca, **OVER)
    required = {"ssl.client.auth": "required"}

    def served(hosts: tuple[str, ...] = (HOST,), name: str = "CN=broker", **more: Any) -> dict[str, str]:
        return make.store(ca.issue(name, hosts=hosts, **more))

    def both(server: dict[str, str], client: dict[str, str]) -> Pair:
        return Pair({**server, **trust, **required}, {**client, **trust})

    own = make.store(good)
    return {
        "in order": Pair(own, trust),
        "of another CA": Pair(make.store(other.issue(hosts=(HOST,))), trust),
        "of another CA of the same name": Pair(make.store(Authority("CN=ca").issue(hosts=(HOST,))), trust),
        "expired": Pair(served(**OVER), trust),
        "not yet valid": Pair(served(begins=DAY), trust),
        "another name": Pair(served(("other.example.com",)), trust),
        "another name, and none is wanted": Pair(
            served(("other.example.com",)), {**trust, "ssl.endpoint.identification.algorithm": ""}
        ),
        "the name as common name alone": Pair(served((), f"CN={HOST}"), trust),
        "the name as common name beside others": Pair(served(("other.example.com",), f"CN={HOST}"), trust),
        "no name at all": Pair(served(()), trust),
        "a wildcard": Pair(served(("*.example.com",)), trust),
        "a wildcard that goes too far": Pair(served(("*.com",)), trust),
        "an address": Pair(own, trust, "10.0.0.1"),
        "another address": Pair(own, trust, "10.0.0.2"),
        "an address as common name": Pair(served((), "CN=10.0.0.1"), trust, "10.0.0.1"),
        "for servers and clients": Pair(
            served(usages=(ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)), trust
        ),
        "for clients alone": Pair(served(usages=(ExtendedKeyUsageOID.CLIENT_AUTH,)), trust),
        "for mail alone": Pair(served(usages=(ExtendedKeyUsageOID.EMAIL_PROTECTION,)), trust),
        "for any use": Pair(served(usages=(ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,)), trust),
        "a key that may sign": Pair(served(key_usages=("digital_signature",)), trust),
        "a key that may only encipher": Pair(served(by_rsa=True, key_usages=("key_encipherment",)), trust),
        "a CA's certificate as a server's": Pair(make.store(Authority("CN=x", ca, hosts=(HOST,)).own), trust),
        "with the one between": Pair(make.store(below.issue(hosts=(HOST,))), trust),
        "without the one between": Pair(make.store(_alone(below.issue(hosts=(HOST,)))), trust),
        "without the one between, which is trusted": Pair(
            make.store(_alone(below.issue(hosts=(HOST,)))), make.trust(below.own)
        ),
        "with the one between, which has expired": Pair(make.store(old_below.issue(hosts=(HOST,))), trust),
        "with the one between, which has expired and is trusted": Pair(
            make.store(old_below.issue(hosts=(HOST,))), make.trust(old_below.own)
        ),
        "the root has expired": Pair(make.store(old_root.issue(hosts=(HOST,))), make.trust(old_root.own)),
        "the root is sent, and has expired": Pair(
            make.store(old_root.issue(hosts=(HOST,)), old_root.own), make.trust(old_root.own)
        ),
        "the root is sent as it was, and has been renewed since": Pair(make.store(good, renewed.own), trust),
        "signed by itself and trusted": Pair(
            make.store(self_signed := Authority("CN=s", hosts=(HOST,)).own), make.trust(self_signed)
        ),
        "signed by itself and not trusted": Pair(make.store(self_signed), trust),
        "signed by itself, trusted and expired": Pair(make.store(alone), make.trust(alone)),
        "trusted by itself, and expired": Pair(make.store(old := ca.issue(hosts=(HOST,), **OVER)), make.trust(old)),
        "of somebody who is no CA": Pair(make.store(Authority("CN=none", ca, ca=False).issue(hosts=(HOST,))), trust),
        "no protocol in common": Pair(
            {**own, "ssl.enabled.protocols": "TLSv1.2"}, {**trust, "ssl.enabled.protocols": "TLSv1.3"}
        ),
        "no suite in common": Pair(
            {**own, "ssl.cipher.suites": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
            {**trust, "ssl.cipher.suites": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"},
        ),
        "suites for another kind of key": Pair(
            {**own, "ssl.cipher.suites": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}, trust
        ),
        "a client with a certificate": both(own, own),
        "a client with a certificate of another CA": both(own, make.store(other.issue())),
        "a client with a certificate that has expired": both(own, served(**OVER)),
        "a client with a certificate for servers alone": both(own, served(usages=(ExtendedKeyUsageOID.SERVER_AUTH,))),
    }


def _alone(issued: Issued) -> Issued:
    return issued._replace(chain=issued.chain[:1])


def _written(folder: Path, all_pairs: Mapping[str, Pair]) -> Iterator[str]:
    for number, pair in enumerate(all_pairs.values()):
        paths = [folder / f"{number}.{side}" for side in ("server", "client")]
        for path, properties in zip(paths, pair, strict=False):
            assert isinstance(properties, Mapping)
            path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        yield f"{paths[0]} {paths[1]} {pair.host}"


def ask_java() -> dict[str, str]:
    """Each verdict, from Kafka's own engines now."""
    with tempfile.TemporaryDirectory() as directory:
        asked = pairs(Path(directory))
        lines = [*_written(Path(directory), asked)]
        command = ["java", *QUICK, "-cp", classpath(BROKER_VERSION), str(_HERE / "JavaHandshakes.java")]
        done = subprocess.run(
            command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True, timeout=120
        )
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines), done.stderr
    return dict(zip(asked, answers, strict=True))


def recorded() -> dict[str, str]:
    return json.loads(RECORDED.read_text())  # type: ignore[no-any-return]


def main() -> None:
    RECORDED.write_text(json.dumps(ask_java(), indent=1) + "\n")


if __name__ == "__main__":
    main()
