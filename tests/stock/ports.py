"""Ports for JVMs that bind them only seconds after they were chosen."""

import random
import socket
from pathlib import Path

FIRST = 10_000
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""Linux takes ports from here where a program lets it choose."""


def kept_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Free ports, all different, below those that the system gives to others meanwhile."""
    end = int(RANGE.read_text().split()[0])
    found: list[int] = []
    while len(found) < count:
        port = random.SystemRandom().randrange(FIRST, end)
        if port not in found and _is_free(host, port):
            found.append(port)
    return found


def ports_in_a_row(count: int, host: str = "127.0.0.1") -> int:
    """The first of free ports that follow one another."""
    while True:
        [first] = kept_ports(1, host)
        if all(_is_free(host, first + more) for more in range(1, count)):
            return first


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((host, port))
        except OSError:
            return False
        return True
