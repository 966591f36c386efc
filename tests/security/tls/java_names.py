"""What Java and Kafka print for names of certificates and for mapping rules, recorded from a JVM.

`python -m tests.security.tls.java_names` writes the recording again.
"""

import itertools
import json
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.jvm import QUICK
from tests.stock.jars import BROKER_VERSION, classpath

_HERE = Path(__file__).parent
RECORDED = _HERE / "recorded" / "java_names.json"

OIDS = {
    "CN": "550403",
    "C": "550406",
    "L": "550407",
    "ST": "550408",
    "STREET": "550409",
    "O": "55040a",
    "OU": "55040b",
    "UID": "0992268993f22c640101",
    "DC": "0992268993f22c640119",
    "serialNumber": "550405",
    "title": "55040c",
    "givenName": "55042a",
    "email": "2a864886f70d010901",
    "of Microsoft": "2b0601040182373c020103",
    "unknown": "6086480186f84203ce0f",
    "2.999": "883703",
}
VALUES = [
    "alice", "", " ", "  ", " a", "a ", "#a", "a#", "a,b", "a+b", 'a"b', "a\\b", "a<b>c", "a;b", "a=b", "a\0b", "a\nb",
    "\ra\r",    "ä ö", "日本", "a\tb", "\u2028x", "x" * 130, "CN=x,O=y", "\\ ", "a\u00a0", "\u007f",
]  # fmt: skip
TAGS = {0x0C: "utf-8", 0x13: "latin-1", 0x14: "latin-1", 0x16: "latin-1", 0x1E: "utf-16-be", 0x1C: "utf-32-be"}

NAMES = [
    "CN=kafka-server1, OU=KAFKA",
    "CN=Duke,OU=ServiceUsers,O=Org,C=US",
    "CN=duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US",
    "CN=alice",
    "CN=a\\,b,O=Acme\\, Inc.",
    "OU=a+CN=b",
    "1.2.840.113549.1.9.1=#1603,CN=x",
    "CN=ÄÖ \u017ftraße İ",
    "CN=a\nb",
    "CN=a\u2028b",
    "",
]
RULES = [
    "DEFAULT",
    "",
    " , , ",
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/",
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L",
    "RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U",
    "RULE:^CN=(.*?), *OU=(.*?)$/$1@$2/L, DEFAULT",
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,RULE:^CN=(.*?),OU=(.*?)$/$1@$2/L,DEFAULT",
    "RULE:^CN=([^,]*).*$/$1@$4/",
    "RULE:^CN=([^,]*).*$/$2$1$3/",
    "RULE:^CN=([^,]*).*$/$12$10$01/",
    "RULE:^(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.*)$/$11-$12-$111-$2/",
    "RULE:.*/x/",
    "RULE:.*/x/L",
    "RULE:.+/$0/U",
    "RULE:(.+)/$0/L",
    "RULE:CN=alice/$1/",
    "RULE:CN=alice/a\\/b\\$1/",
    "RULE:(CN)=alice/\\/$1/",
    "RULE:CN=alice/a$/",
    "RULE:(CN)=alice/$x/",
    "RULE:(?<n>CN)=alice/${n}!/",
    "RULE:(?<n>CN)=alice/${m}/",
    "RULE:^CN=(a|al|alice)$/$1/",
    "RULE:a|CN=alice/z/",
    "RULE:^CN=(?:alice)$/bob/",
    "RULE:^(?i)cn=(ALICE)$/$1/",
    "RULE:^CN=(\\w+)$/$1/",
    "RULE:^CN=(\\S+ \\w+)/$1/, RULE:^CN=(.*)$/<$1>/L",
    "RULE:^CN=(.*)$/<$1>/U",
    "RULE:(.*)\\/(.*)/$1/,DEFAULT",
    "RULE:^CN=([a-zA-Z0-9.]*).*$/$1/L,DEFAULT",
    "RULE:^OU=(a)\\+CN=(b)$/$1+$2/",
    "RULE:^CN=(.*)$/$1/L DEFAULT",
    "RULE:^CN=(.*)$/$1/LU",
    "RULE:^CN=(.*)$/$1",
    "RULE:^CN=(.*$/$1/",
    "RULE:^CN=[$/$1/",
    "DEFAULT, RULE:x/y/",
    "DEFAUL",
    "default",
    "RULE:/x/",
    "RULE:^CN=(.*)$//",
    "RULE:^CN=(.*),O=(.*)$/$2\\,$1/",
    "RULE:CN=a\\nb/nl/",
    "RULE:CN=a.b/dot/",
    "RULE:^CN=(\\p{Alpha}+)$/$1/",
    "RULE:^CN=[a-z&&[^b]]*$/x/",
    "RULE:\\QCN=alice\\E/x/",
    "RULE:^CN=(\\p{L}+)$/$1/",
    "RULE:^CN=([\\p{Lower}\\p{Digit}]+)$/$1/",
    "RULE:CN=(a|x(?i)ALICE)/$1/",
    "RULE:CN=a\\Z/$0/,RULE:CN=al\\w*\\z/<$0>/",
]
WITHOUT = ("\\p{L}", "&&", "\\Q", "x(?i)")
"""What Java reads and this product refuses, in rules above."""


class Table(NamedTuple):
    """`names`: DER in hexadecimal, and what Java prints. `mapped`: rules, name, and what comes out."""

    names: list[tuple[str, str]]
    mapped: list[tuple[str, str, str]]


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    return bytes((tag,)) + (bytes((size,)) if size < 128 else b"\x82" + size.to_bytes(2, "big")) + content


def _attribute(oid: str, tag: int, value: str) -> bytes:
    text = value.encode(TAGS[tag], "replace")
    return _der(0x30, _der(6, bytes.fromhex(OIDS[oid])) + _der(tag, text))


def _name(*relative: Sequence[bytes]) -> str:
    return _der(0x30, b"".join(_der(0x31, b"".join(one)) for one in relative)).hex()


def asked_names() -> list[str]:
    """Names in DER: every value, every kind of text, every attribute; and mixtures of them."""
    found = [_name()]
    found += [_name([_attribute("CN", 0x0C, value)]) for value in VALUES]
    found += [_name([_attribute("O", tag, "aü\\,b ")]) for tag in TAGS]
    found += [_name([_attribute(oid, 0x13, "x y")]) for oid in OIDS]
    found.append(_name([_der(0x30, _der(6, bytes.fromhex(OIDS["CN"])) + _der(2, b"\x05"))]))
    chance = random.Random(14)
    for _ in range(60):
        found.append(
            _name(
                *(
                    [
                        _attribute(chance.choice(list(OIDS)), chance.choice(list(TAGS)), chance.choice(VALUES))
                        for _ in range(chance.choice((1, 1, 1, 2, 3)))
                    ]
                    for _ in range(chance.randint(1, 6))
                )
            )
        )
    return found


def _hex(text: str) -> str:
    return text.encode().hex() or "-"


def _text(found: str) -> str:
    return "" if found == "-" else bytes.fromhex(found).decode()


def ask_java() -> Table:
    """The whole table, from Java now."""
    names, pairs = asked_names(), list(itertools.product(RULES, NAMES))
    lines = [f"name {one}" for one in names] + [f"map {_hex(rules)} {_hex(name)}" for rules, name in pairs]
    command = ["java", *QUICK, "-cp", classpath(BROKER_VERSION), str(_HERE / "JavaNames.java")]
    done = subprocess.run(
        command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True, timeout=120
    )
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines), done.stderr
    return Table(
        [(name, _text(answer)) for name, answer in zip(names, answers, strict=False)],
        [
            (rules, name, f"= {_text(answer[2:])}" if answer.startswith("=") else answer)
            for (rules, name), answer in zip(pairs, answers[len(names) :], strict=True)
        ],
    )


def recorded() -> Table:
    found = json.loads(RECORDED.read_text())
    return Table([tuple(one) for one in found["names"]], [tuple(one) for one in found["mapped"]])


def main() -> None:
    table = ask_java()
    rows = {kind: ",\n".join("  " + json.dumps(row) for row in rows) for kind, rows in table._asdict().items()}
    RECORDED.write_text('{"names": [\n' + rows["names"] + '\n], "mapped": [\n' + rows["mapped"] + "\n]}\n")


if __name__ == "__main__":
    main()
