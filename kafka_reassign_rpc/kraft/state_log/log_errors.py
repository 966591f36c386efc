class LogError(Exception):
    """The message is one line for an operator."""


class Fenced(LogError):
    """Another claim came later, or may have come: this server leads no more."""


class LogLost(LogError):
    """Records that were acknowledged are missing or cannot be read. What leads stops, and a person decides."""


class LogRefused(LogError):
    """The cluster does not carry the log as it is set up, or does not let this server write it."""


class NotBrokers(LogRefused):
    """The addresses that were given are not those of brokers."""

    WHAT, ADVICE = "no broker answers, but a server of this product or a controller", "give addresses of brokers"

    def __init__(self) -> None:
        super().__init__(f"{self.WHAT}: {self.ADVICE}")


class LogUnavailable(LogError):
    """The cluster does not answer for now. The same call may succeed later."""
