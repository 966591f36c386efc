from collections.abc import Mapping

from kafka_reassign_rpc.security.bad_setting import BadSetting, Password

LISTENER_PREFIX = "listener.name."


def prefix_of(listener: str) -> str:
    """ListenerName.configPrefix."""
    return f"{LISTENER_PREFIX}{listener.lower()}."


def parse_properties(text: str) -> dict[str, str]:
    r"""As java.util.Properties does. Raises BadSetting for a malformed \uXXXX, with Java's message."""
    import javaproperties  # here, because most calls of the commands read no such file

    try:
        return dict(javaproperties.loads(text))
    except javaproperties.InvalidUEscapeError:
        raise BadSetting("Malformed \\uxxxx encoding.") from None


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
