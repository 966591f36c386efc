"""The error of a security setting, and text that never shows."""


class BadSetting(ValueError):
    """The text names the setting, and the file if there is one; it holds no secret."""


class Password:
    """Only `value` has the text: `str`, `repr` and a traceback show `[hidden]` (Kafka's Password)."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "[hidden]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)
