"""Errors of logins. Their texts have no password, no token and no line of a login configuration."""


class BadLoginSettings(ValueError):
    """The settings of a login cannot be used: the text names the setting."""


class LoginFailed(ConnectionError):
    """The other side, or its mechanism, has refused a login."""
