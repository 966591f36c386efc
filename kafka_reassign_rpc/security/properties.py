"""Settings as texts by name: Java properties, and those of one listener."""

from collections.abc import Iterable, Mapping

from kafka_reassign_rpc.security.bad_setting import BadSetting, Password
from kafka_reassign_rpc.security.blank_values import check_blank
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
    """Raises BadSetting for a key or certificate in PEM that has a beginning and no end: the rest of it is where
    settings should be.
    """
    for name, value in settings:
        pem = value if isinstance(value, str) else ""
        alone = name.startswith((_BEGIN, _END))
        if alone or pem.count(_BEGIN) != pem.count(_END):
            where = "a line of PEM is alone" if alone else f"{told_name(name)}: PEM is cut after its first line"
            raise BadSetting(
                rf"{where}: in a properties file each line of it but the last ends with \; in TOML it is between"
                " three quotation marks"
            )


class Properties:
    """Each setting is read under several prefixes in their order: a listener's own before those of all listeners."""

    def __init__(self, values: Mapping[str, str], prefixes: tuple[str, ...]) -> None:
        self._values = values
        self._prefixes = prefixes

    def name(self, setting: str) -> str:
        """With the prefix under which it is set (the first prefix if it is not set)."""
        for prefix in self._prefixes:
            if self._values.get(prefix + setting) is not None:
                return prefix + setting
        return self._prefixes[0] + setting

    def text(self, setting: str) -> str | None:
        """None where it is not set; "" where it is blank and Kafka takes that. Raises BadSetting where Kafka refuses
        a blank."""
        name = self.name(setting)
        value = self._values.get(name)
        check_blank(name, self._unprefixed(setting), value)
        return None if value is None else value.strip()

    def password(self, setting: str) -> Password | None:
        value = self.text(setting)
        return None if value is None else Password(value)

    def words(self, setting: str) -> list[str] | None:
        """None where it is not set; nothing where it is blank."""
        value = self.text(setting)
        return None if value is None else [word.strip() for word in value.split(",") if word.strip()]

    def _unprefixed(self, setting: str) -> str:
        """A prefix that is none of a listener is a part of the name: `zookeeper.ssl.protocol`."""
        first = self._prefixes[0]
        return setting if first.startswith(LISTENER_PREFIX) else first + setting
