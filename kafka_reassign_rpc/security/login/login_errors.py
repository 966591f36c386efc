"""The error of a login. Its text has no password, no token and no line of a login configuration."""


class LoginFailed(ConnectionError):
    """The other side, or the mechanism, has refused a login."""
