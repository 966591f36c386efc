from collections.abc import Iterable, Mapping

from kafka_reassign_rpc.security.bad_setting import BadSetting, Password
from kafka_reassign_rpc.support.secrecy import told_name

LISTENER_PREFIX = "listener.name."
_BEGIN, _END = "-----BEGIN", "-----END"


def prefix_of(listener: str) -> str:
    """ListenerName.configPrefix."""
    return f"{LISTENER_PREFIX}{listener.lower()}."


def parse_properties(text: str) -> dict[str, str]:
    r"""As java.util.Properties does. Raises BadSetting for a malformed \uXXXX, with Java's message."""
    import javaproperties  # here, because most calls of the commands read no such file

    try:
        found = dict(javaproperties.loads(text))
    except javaproperties.InvalidUEscapeError:
        raise BadSetting("Malformed \\uxxxx encoding.") from None
    refuse_cut_keys(found.items())
    return found


def refuse_cut_keys(settings: Iterable[tuple[str, object]]) -> None:
    """Raises BadSetting for a key or certificate in PEM that has a beginning and no end: the rest of it stands where
    settings should.
    """
    for name, value in settings:
        pem = value if isinstance(value, str) else ""
        alone = name.startswith((_BEGIN, _END))
        if alone or pem.count(_BEGIN) != pem.count(_END):
            where = "a line of PEM stands alone" if alone else f"{told_name(name)}: PEM is cut after its first line"
            raise BadSetting(
                rf"{where}: in a properties file each line of it but the last ends with \; in TOML it stands between"
                " three quotation marks"
            )


class Properties:
    """Each setting is read under several prefixes in their order: a listener's own before those of all listeners."""

    def __init__(self, values: Mapping[str, str], prefixes: tuple[str, ...]) -> None:
        self._values = values
        self._prefixes = prefixes

    def name(self, setting: str) -> str:
        """With the prefix under which it stands (the first prefix if it stands nowhere)."""
        for prefix in self._prefixes:
            if self._values.get(prefix + setting) is not None:
                return prefix + setting
        return self._prefixes[0] + setting

    def raw(self, setting: str) -> str | None:
        value = self._values.get(self.name(setting))
        return None if value is None else value.strip()

    def text(self, setting: str) -> str | None:
        return self.raw(setting) or None

    def password(self, setting: str) -> Password | None:
        value = self.text(setting)
        return Password(value) if value else None

    def words(self, setting: str) -> list[str]:
        return [word.strip() for word in (self.raw(setting) or "").split(",") if word.strip()]
