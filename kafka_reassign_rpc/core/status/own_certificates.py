"""What a server knows of its own certificates: who would take them, and when they end."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

DAY_S = 86_400
ENDS_SOON_DAYS = 14
"""Warnings begin this early: those of the log and of `check`, and the alert of deploy/prometheus/alerts.yml."""


class ListenerHandshake(NamedTuple):
    """of_brokers  brokers come by this listener
    why         why a handshake of the server with itself fails; "": it succeeds
    is_doubt    clients may accept it anyway: they may have another truststore
    """

    listener: str
    of_brokers: bool
    why: str = ""
    is_doubt: bool = False

    @property
    def fails(self) -> bool:
        return bool(self.why) and not self.is_doubt

    def __str__(self) -> str:
        who = "brokers" if self.of_brokers else "clients"
        return f"listener {self.listener}: {who} would not connect: {self.why}"


class OwnCertificates(NamedTuple):
    """ends: by use (`listener SSL`, `brokers`, `ZooKeeper`) and part (`own`, `ca`), in seconds since 1970."""

    handshakes: Sequence[ListenerHandshake] = ()
    ends: Mapping[tuple[str, ...], float] = {}

    @property
    def kept_out(self) -> ListenerHandshake | None:
        """The listener for brokers, if they would not come by it: a server that they cannot reach controls nothing."""
        return next((one for one in self.handshakes if one.of_brokers and one.fails), None)

    @property
    def failing(self) -> list[ListenerHandshake]:
        return [one for one in self.handshakes if one.fails]

    def days_left(self, now_s: float) -> Mapping[tuple[str, ...], float]:
        return {of: (at - now_s) / DAY_S for of, at in self.ends.items()}


NO_CERTIFICATES = OwnCertificates()
CURE = (
    "give the keystore a certificate that the truststore's CA has issued for the host of advertised.listeners, or set"
    " ssl.truststore.* and ssl.endpoint.identification.algorithm as the brokers have them"
)
