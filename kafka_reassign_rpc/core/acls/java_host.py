"""Addresses as ACLs have them: as Java's InetAddress.getHostAddress prints them."""

from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address
from struct import unpack

KEPT = 4096
"""Addresses whose form is remembered."""


@lru_cache(KEPT)
def java_host(address: str) -> str:
    """`0:0:0:0:0:0:0:1` for `::1`; `10.0.0.7` for itself and for `::ffff:10.0.0.7`; `fe80:0:0:0:0:0:0:1%eth0`."""
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
