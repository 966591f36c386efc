"""How a listener secures its connections."""

import msgspec

from kafka_reassign_rpc.security.authenticator import (
    AuthenticationContext,
    AuthenticationFailed,
    Authenticator,
    FixedAuthenticator,
    MakeAuthenticator,
    anonymous,
)
from kafka_reassign_rpc.security.tls import TlsConfig
from kafka_reassign_rpc.security.tls.principal_mapping import NoMatchingRule
from kafka_reassign_rpc.security.tls.reloaded_context import ReloadedContext


class ListenerSecurity(msgspec.Struct, frozen=True):
    """`tls` is for SSL and SASL_SSL; `authenticator` makes one for each connection."""

    tls: ReloadedContext | None = None
    authenticator: MakeAuthenticator = anonymous


def tls_context(listener: str, config: TlsConfig) -> ReloadedContext:
    """Reads the listener's stores. Raises BadSetting."""
    return ReloadedContext(f"listener {listener}", config.load_server, config.files)


def by_certificate(config: TlsConfig) -> MakeAuthenticator:
    """For SSL listeners: the principal is the subject of the certificate, by the mapping rules."""

    def authenticator(context: AuthenticationContext) -> Authenticator:
        try:
            return FixedAuthenticator(config.principal_of(context.certificate))
        except NoMatchingRule as error:
            raise AuthenticationFailed(str(error)) from None

    return authenticator
