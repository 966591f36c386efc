"""Java's InetAddress.getHostAddress."""

from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address
from struct import unpack

KEPT = 4096


@lru_cache(KEPT)
def java_host(address: str) -> str:
    """`::1` gives `0:0:0:0:0:0:0:1`, `::ffff:10.0.0.7` gives `10.0.0.7`."""
    if ":" not in address:
        return address
    try:
        found = IPv6Address(address)
    except AddressValueError:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    groups = ":".join(f"{one:x}" for one in unpack(">8H", found.packed))
    return f"{groups}%{found.scope_id}" if found.scope_id else groups
