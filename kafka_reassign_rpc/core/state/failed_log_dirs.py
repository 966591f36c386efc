"""A registered broker that has lost log dirs: what a controller has recorded of it."""

import msgspec


class FailedLogDirs(msgspec.Struct, frozen=True):
    """since    when a controller first noticed that replicas of the broker are offline, ms since 1970
    paths    the log dirs that had failed by then or since; empty: the broker has not told
    """

    since: int
    paths: tuple[str, ...] = ()
