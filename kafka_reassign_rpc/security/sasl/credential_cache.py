"""SCRAM credentials of all users in memory, as brokers keep them: no authentication waits for ZooKeeper.

The code that reads ZooKeeper keeps them up to date.
"""

from collections.abc import Iterable, Mapping

from kafka_reassign_rpc.security.sasl.mechanism import SaslRetry
from kafka_reassign_rpc.security.sasl.scram import MECHANISMS, Credentials, ScramCredential, parse_credential


class CredentialCache:
    def __init__(self) -> None:
        self._texts: Mapping[str, dict[str, str]] = {name: {} for name in MECHANISMS}
        self.loaded = False
        """Whether all users have been read once."""

    def put(self, user: str, configs: Mapping[str, str]) -> None:
        for name, users in self._texts.items():
            text = configs.get(name)
            if text is None:
                users.pop(user, None)
            else:
                users[user] = text

    def keep_only(self, users: Iterable[str]) -> None:
        known = frozenset(users)
        for by_user in self._texts.values():
            for user in by_user.keys() - known:
                del by_user[user]
        self.loaded = True

    def of(self, mechanism: str) -> Credentials:
        """The look-up raises SaslRetry until all users have been read once."""
        texts = self._texts[mechanism]

        def find(user: str) -> ScramCredential | None:
            if not self.loaded:
                raise SaslRetry("the credentials have not been read from ZooKeeper yet")
            text = texts.get(user)
            return None if text is None else parse_credential(text)

        return find
