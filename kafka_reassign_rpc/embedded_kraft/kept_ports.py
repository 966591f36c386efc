"""Ports for JVMs that bind them only seconds after they were chosen."""

import random
import socket
from pathlib import Path

FIRST = 10_000
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""Linux takes ports from here where a program lets it choose."""
USUAL_END = 32_768
"""Where other systems begin to, at the earliest."""


def kept_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Free ports, all different, below those that the system gives to others meanwhile."""
    end = int(RANGE.read_text().split()[0]) if RANGE.exists() else USUAL_END
    found: list[int] = []
    while len(found) < count:
        port = random.SystemRandom().randrange(FIRST, end)
        if port not in found and is_free(host, port):
            found.append(port)
    return found


def is_free(host: str, port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((host, port))
        except OSError:
            return False
        return True
