"""How a listener secures its connections."""

from functools import partial

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


def tls_context(listener: str, config: TlsConfig, *, keeps_names: bool = False) -> ReloadedContext:
    """Reads the listener's stores. Raises BadSetting. `keeps_names`: see `TlsConfig.load_server`."""
    return ReloadedContext(f"listener {listener}", partial(config.load_server, keeps_names=keeps_names), config.files)


def by_certificate(config: TlsConfig) -> MakeAuthenticator:
    """For SSL listeners: the principal is the subject of the certificate, by the mapping rules."""

    def authenticator(context: AuthenticationContext) -> Authenticator:
        try:
            return FixedAuthenticator(config.principal_of(context.certificate))
        except NoMatchingRule as error:
            raise AuthenticationFailed(str(error)) from None

    return authenticator
