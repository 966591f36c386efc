"""The error for wrong flags and settings."""


class UsageError(Exception):
    """A wrong flag or setting. The message names it and what was expected; the command ends with exit code 2."""
