"""The name of a certificate's subject, and the principal that `ssl.principal.mapping.rules` make of it
(org.apache.kafka.common.security.ssl.SslPrincipalMapper of Kafka 3.9, line by line; KIP-371).

The subject is as Java prints it: X500Principal.getName(), RFC 2253, the last part first. Source:
sun.security.x509.X500Name, RDN and AVA (toRFC2253String) of JDK 17. Other libraries print other names, but ACLs and
super.users use Java's: values that are no text, or whose attribute has no keyword of RFC 2253, become hexadecimal DER.
"""

import re
from collections.abc import Callable

import msgspec

from kafka_reassign_rpc.security.tls.certificate_stores import SEQUENCE, BadDer, Element, elements, single
from kafka_reassign_rpc.security.tls.java_patterns import java_pattern, java_replacement

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_TEXT_TAGS = frozenset((0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E))
"""UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString."""
_ESCAPED = frozenset(',=+<>#;"\\')
_OF_THE_SUBJECT = 4
"""A certificate's elements before its subject, apart from the version: serial number, algorithm, issuer, validity."""
_VERSION = 0xA0


def subject_name(certificate: bytes) -> str:
    """The subject of a certificate (DER), as Java writes it. Raises BadDer."""
    return distinguished_name(subject(certificate))


def subject(certificate: bytes) -> bytes:
    """The subject of a certificate, both DER. Raises BadDer."""
    parts = elements(elements(single(certificate, SEQUENCE))[0].content)
    first = 1 if parts and parts[0].tag == _VERSION else 0
    if len(parts) <= first + _OF_THE_SUBJECT:
        raise BadDer("it is no certificate")
    return parts[first + _OF_THE_SUBJECT].encoded


def distinguished_name(name: bytes) -> str:
    """The text of a Name (DER). Raises BadDer."""
    relative = elements(single(name, SEQUENCE))
    return ",".join("+".join(_attribute(one) for one in elements(several.content)) for several in reversed(relative))


def _attribute(pair: Element) -> str:
    kind, value = elements(pair.content)
    oid = _dotted(kind.content)
    keyword = _KEYWORDS.get(oid)
    if keyword is None or value.tag not in _TEXT_TAGS:
        return f"{keyword or oid}=#{value.encoded.hex()}"
    return f"{keyword}={_escaped(value.content.decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    out = "".join("\\" + one if one in _ESCAPED else "\\00" if one == "\0" else one for one in text)
    inner = out.strip(" \r")
    if not inner:
        return "".join("\\" + one for one in out)
    before = out[: len(out) - len(out.lstrip(" \r"))]
    after = out[len(out.rstrip(" \r")) :]
    return "".join("\\" + one for one in before) + inner + "".join("\\" + one for one in after)


def _dotted(oid: bytes) -> str:
    if not oid or oid[-1] & 0x80:
        raise BadDer("an object identifier is cut short")
    numbers: list[int] = []
    number = 0
    for byte in oid:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


_RULE = r"(DEFAULT)|RULE:((\\.|[^\\/])*)/((\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_SPLITTER = re.compile(rf"\s*({_RULE})\s*(,\s*|$)", re.ASCII)
_PARSER = re.compile(_RULE, re.ASCII)
_BACK_REFERENCE = re.compile(r"\$(\d+)", re.ASCII)
_CASES: dict[str, Callable[[str], str]] = {"": str, "L": str.lower, "U": str.upper}
_BLANK = "".join(map(chr, range(33)))
"""Java's String.trim() removes these."""


class NoMatchingRule(ValueError): ...


class Rule(msgspec.Struct, frozen=True):
    """`pattern` None is DEFAULT: the name stays as it is."""

    pattern: re.Pattern[str] | None = None
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        """None: the rule does not match the whole name. Raises ValueError if the replacement makes no sense."""
        if self.pattern is None:
            return name
        if not self.pattern.fullmatch(name):
            return None
        replacement = _literal_references(self.replacement, self.pattern.groups)
        return _CASES[self.case](java_replacement(self.pattern, replacement, name))


def parse_rules(text: str) -> tuple[Rule, ...]:
    """Raises ValueError, which says which rule and where."""
    found: list[Rule] = []
    for split in _SPLITTER.finditer(text.strip(_BLANK)):
        rule = split[1]
        parsed = _PARSER.match(rule)
        assert parsed is not None  # its last alternative matches anything
        if parsed.end() != len(rule):
            raise ValueError(f"rule {len(found) + 1} is invalid from its character {parsed.end() + 1} on")
        if parsed[1] is not None:
            found.append(Rule())
        elif parsed[2] is not None:
            try:
                found.append(Rule(java_pattern(parsed[2]), parsed[4], parsed[6]))
            except ValueError as error:
                raise ValueError(f"rule {len(found) + 1}: {error}") from None
    return tuple(found)


def principal_name(rules: tuple[Rule, ...], name: str) -> str:
    for rule in rules:
        try:
            found = rule.apply(name)
        except ValueError as error:
            raise NoMatchingRule(f"a rule of ssl.principal.mapping.rules fails for {name!r}: {error}") from None
        if found is not None:
            return found
    raise NoMatchingRule(f"no rule of ssl.principal.mapping.rules applies to {name!r}")


def _literal_references(replacement: str, groups: int) -> str:
    """Makes `$n` beyond the number of groups plain text. (Kafka's escapeLiteralBackReferences; if it escapes twice it
    counts from the places before the first escape, and so does this.)
    """
    if not groups:
        return replacement
    value = replacement
    for reference in _BACK_REFERENCE.finditer(replacement):
        digits = reference[1]
        if digits.startswith("0"):
            continue
        index = int(digits)
        while index > groups and index >= 10:
            index //= 10
        if index > groups:
            start = reference.start(1)
            value = value[: start - 1] + "\\" + value[start - 1 :]
    return value
