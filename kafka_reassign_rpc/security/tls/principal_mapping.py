"""`ssl.principal.mapping.rules`: org.apache.kafka.common.security.ssl.SslPrincipalMapper (Kafka 3.9; KIP-371), line by
line.
"""

import re
from collections.abc import Callable

import msgspec

from kafka_reassign_rpc.security.tls.java_patterns import java_pattern, java_replacement

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
