"""The IP address of a host."""

import asyncio
import logging
from ipaddress import ip_address

log = logging.getLogger(__name__)

RESOLVE_S = 2.0
"""How long host names that are read together may take to resolve."""


async def resolved(host: str) -> str | None:
    """Of a name that is not known, None."""
    try:
        return str(ip_address(host))
    except ValueError:
        pass
    try:
        async with asyncio.timeout(RESOLVE_S):
            found = await asyncio.get_running_loop().getaddrinfo(host, None)
        return str(found[0][4][0])
    except (OSError, UnicodeError) as error:  # a timeout is an OSError
        log.warning("the quota of IP %r has no effect: the name is not known: %s", host[:200], error)
        return None
