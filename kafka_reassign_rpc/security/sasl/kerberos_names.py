"""From a Kerberos principal to a user's name: sasl.kerberos.principal.to.local.rules.

    DEFAULT                              the first part of a name of the default realm
    RULE:[n:format](regex)s/a/b/g/L      names with n parts; $0 the realm, $1 and $2 the parts; /L, /U: the case

Source: KerberosName, KerberosRule, KerberosShortNamer (Kafka 3.9). What Python's `re` cannot compile is refused.
"""

import re
from collections.abc import Sequence

import msgspec

_RULE = re.compile(
    r"(?P<default>DEFAULT)|RULE:\[(?P<parts>\d+):(?P<format>[^\]]*)\](?:\((?P<match>[^)]*)\))?"
    r"(?:s/(?P<old>[^/]*)/(?P<new>[^/]*)/(?P<all>g)?)?/?(?P<case>[LU])?"
)
_NAME = re.compile(r"([^/@]*)(?:/([^/@]*))?@([^/@]*)")
_PARAMETER = re.compile(r"\$(\d*)")
_GROUP = re.compile(r"\\(.)|\$(\d)")
MOST_PARTS = 2


class NoShortName(ValueError): ...


class KerberosRule(msgspec.Struct, frozen=True):
    text: str
    parts: int = 0
    form: str = ""
    match: re.Pattern[str] | None = None
    old: re.Pattern[str] | None = None
    new: str = ""
    everywhere: bool = False
    case: str = ""

    def apply(self, realm: str, parts: Sequence[str], default_realm: str) -> str | None:
        """None: the rule is not for this principal. Raises NoShortName."""
        if not self.parts:
            found = parts[0] if realm == default_realm else None
        elif self.parts != len(parts):
            return None
        else:
            found = _PARAMETER.sub(lambda one: [realm, *parts][int(one[1])], self.form)
            if self.match is not None and self.match.fullmatch(found) is None:
                return None
            if self.old is not None:
                found = self.old.sub(self.new, found, count=0 if self.everywhere else 1)
        if found is not None and re.search("[/@]", found):
            raise NoShortName(f"the rule {self.text} gives a name with / or @")
        if found is not None and self.case:
            return found.lower() if self.case == "L" else found.upper()
        return found


def parse_rules(texts: Sequence[str] | None) -> tuple[KerberosRule, ...]:
    """None: no rules are set, which is DEFAULT; an empty list lets nobody in. Raises ValueError with the number of the
    rule.
    """
    if texts is None:
        return (KerberosRule("DEFAULT"),)
    return tuple(_parse(text, f"rule {place} is invalid") for place, text in enumerate(texts, 1))


def _parse(text: str, wrong: str) -> KerberosRule:
    match = _RULE.fullmatch(text)
    if match is None:
        raise ValueError(wrong)
    if match["default"]:
        return KerberosRule(text)
    parts = int(match["parts"][:3])
    given = _PARAMETER.findall(match["format"])
    if not all(one and int(one[:3]) <= parts for one in given) or not 0 < parts <= MOST_PARTS:
        raise ValueError(f"{wrong}: expected 1 or 2 parts, and $0 to one of them")
    references = [int(one) for _, one in _GROUP.findall(match["new"] or "") if one]
    try:
        pattern = None if match["match"] is None else re.compile(match["match"])
        old = None if match["old"] is None else re.compile(match["old"])
    except re.error as error:
        raise ValueError(f"{wrong}: {error}") from None
    if old is not None and max(references, default=0) > old.groups:
        raise ValueError(f"{wrong}: there is no such group")
    new = _GROUP.sub(lambda one: rf"\g<{one[2]}>" if one[2] else one[1].replace("\\", r"\\"), match["new"] or "")
    return KerberosRule(text, parts, match["format"], pattern, old, new, match["all"] is not None, match["case"] or "")


def short_name(principal: str, rules: Sequence[KerberosRule], default_realm: str) -> str:
    match = _NAME.fullmatch(principal)
    if match is None:
        if "@" in principal:
            raise NoShortName("the principal has more than two parts")
        return principal
    parts = [match[1]] if match[2] is None else [match[1], match[2]]
    for rule in rules:
        found = rule.apply(match[3], parts, default_realm)
        if found is not None:
            return found
    raise NoShortName(f"no rule is for principals of {match[3]} with {len(parts)} parts")
