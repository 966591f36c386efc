"""What is recorded of a broker that has lost log dirs."""

import msgspec


class FailedLogDirs(msgspec.Struct, frozen=True):
    """A registered broker that has lost log dirs.

    since   when a controller first noticed that replicas are offline, ms since 1970
    paths   the log dirs that had failed by then or since, empty until the broker has named them
    """

    since: int
    paths: tuple[str, ...] = ()
