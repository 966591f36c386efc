"""What a controller has recorded of a registered broker that has lost log dirs."""

import msgspec


class FailedLogDirs(msgspec.Struct, frozen=True):
    """`since` is when a controller first noticed that replicas of the broker are offline, in ms since 1970; `paths` are
    the log dirs that had failed by then or since, empty until the broker has named them.
    """

    since: int
    paths: tuple[str, ...] = ()
