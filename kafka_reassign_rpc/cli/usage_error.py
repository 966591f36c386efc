"""What ends a command with one clear line."""


class UsageError(Exception):
    """A wrong flag or configuration value: the message says which and what would be right. Exit code 2."""
