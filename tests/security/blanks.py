"""What stock Kafka makes of blank settings, recorded from a JVM: of each that this server reads from a broker's file,
for all listeners and for one, and of each of a client.

`python -m tests.security.blanks` writes the recording again.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kafka_reassign_rpc.cli.server_settings import SETTINGS
from tests.certificates import Authority
from tests.jvm import QUICK
from tests.stock.jars import BROKER_VERSION, classpath

_HERE = Path(__file__).parent
RECORDED = _HERE / "recorded" / "blanks.json"
PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b" user_a="b";'
TOKENS = (
    'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="a";'
)
VALIDATOR = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
READ = tuple(one.name for one in SETTINGS if one.of_kafka)
OF_LISTENERS = tuple(one.name for one in SETTINGS if one.of_kafka and one.of_listeners)
OF_AUTHORIZERS = tuple(name for name in READ if name.startswith(("authorizer.", "super.users", "allow.everyone")))
"""The authorizer parses them by itself."""
OF_CLIENTS = (
    *("security.protocol", "sasl.mechanism", "sasl.jaas.config", "sasl.kerberos.service.name"),
    "sasl.oauthbearer.token.endpoint.url",
    *(
        name
        for name in OF_LISTENERS
        if name.startswith("ssl.") and name not in ("ssl.client.auth", "ssl.principal.mapping.rules")
    ),
)


class Case(NamedTuple):
    """`kind` and `base`: whose file; the blank setting is `name`."""

    kind: str
    base: str
    name: str

    @property
    def key(self) -> str:
        return f"{self.base}: {self.name}"


def cases() -> list[Case]:
    found = [Case("broker", base, name) for base in ("tls", "sasl") for name in READ if name not in OF_AUTHORIZERS]
    found += [
        Case("broker", "tls", f"listener.name.internal.{name}") for name in OF_LISTENERS if name.startswith("ssl.")
    ]
    found += [Case("broker", "sasl", f"listener.name.client.{name}") for name in OF_LISTENERS]
    found += [
        Case("broker", "tokens", f"listener.name.client.{name}") for name in OF_LISTENERS if "oauthbearer" in name
    ]
    found += [Case("broker", "sasl", "listener.name.client.plain.sasl.jaas.config")]
    found += [Case("broker", "tokens", "listener.name.client.oauthbearer.sasl.server.callback.handler.class")]
    found += [Case("broker", "authorizer", name) for name in OF_AUTHORIZERS]
    found += [Case("broker", "zookeeper", name) for name in READ if name.startswith("zookeeper.")]
    return found + [Case("client", "client", name) for name in OF_CLIENTS]


def bases(folder: Path) -> dict[str, dict[str, str]]:
    """Files that every reader takes."""
    ca = Authority("CN=ca")
    stores = {
        **ca.issue("CN=kafka").pkcs12_keystore(folder / "own.p12", "storeword"),
        **ca.pem_truststore(folder / "ca.pem"),
    }
    (folder / "jwks.json").write_text('{"keys": []}')
    common = {
        "broker.id": "1",
        "zookeeper.connect": "127.0.0.1:1",
        "listeners": "INTERNAL://127.0.0.1:9093,CLIENT://127.0.0.1:9094",
        "listener.security.protocol.map": "INTERNAL:SSL,CLIENT:SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN",
        "ssl.client.auth": "required",
        **stores,
    }
    login = {"listener.name.client.plain.sasl.jaas.config": PLAIN}
    tls = {**common, "inter.broker.listener.name": "INTERNAL", **login}
    behind = "listener.name.client.oauthbearer.sasl"
    return {
        "tls": tls,
        "sasl": {
            **common,
            **login,
            "inter.broker.listener.name": "CLIENT",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
        },
        "tokens": {
            **tls,
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{behind}.jaas.config": TOKENS,
            f"{behind}.server.callback.handler.class": VALIDATOR,
            "sasl.oauthbearer.jwks.endpoint.url": (folder / "jwks.json").as_uri(),
        },
        "zookeeper": {
            **tls,
            "zookeeper.ssl.client.enable": "true",
            "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
            **{f"zookeeper.{name}": value for name, value in stores.items()},
        },
        "authorizer": {
            **tls,
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "authorizer.zookeeper.connection.timeout.ms": "100",
        },
        "client": {
            "bootstrap.servers": "127.0.0.1:1",
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": PLAIN,
            **stores,
        },
    }


def written(folder: Path, properties: Mapping[str, str], name: str | None = None) -> str:
    """The path of a file with these, one of them blank."""
    path = folder / f"{len(list(folder.iterdir()))}.properties"
    blank = {} if name is None else {name: ""}
    path.write_text("".join(f"{key}={value}\n" for key, value in {**properties, **blank}.items()))
    return str(path)


def _lines(folder: Path, whole: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for base, properties in whole.items():
        kind = "client" if base == "client" else "broker"
        yield f"{kind} {written(folder, properties)} ssl.keystore.type"
    for case in cases():
        yield f"{case.kind} {written(folder, whole[case.base], case.name)} {case.name}"


def ask_java() -> dict[str, str]:
    with tempfile.TemporaryDirectory() as directory:
        whole = bases(Path(directory))
        lines = [*_lines(Path(directory), whole)]
        command = ["java", *QUICK, "-cp", classpath(BROKER_VERSION), str(_HERE / "JavaBlanks.java")]
        done = subprocess.run(
            command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True, timeout=900
        )
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines), done.stderr
    keys = [f"{base}: whole" for base in whole]
    return dict(zip([*keys, *(case.key for case in cases())], answers, strict=True))


def recorded() -> dict[str, str]:
    return json.loads(RECORDED.read_text())  # type: ignore[no-any-return]


def main() -> None:
    RECORDED.write_text(json.dumps(ask_java(), indent=1) + "\n")


if __name__ == "__main__":
    main()
