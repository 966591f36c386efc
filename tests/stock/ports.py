"""Ports for JVMs that bind them only seconds after they were chosen: the package has them for its own ones."""

from kafka_reassign_rpc.embedded_kraft import is_free, kept_ports

__all__ = ["kept_ports", "ports_in_a_row"]


def ports_in_a_row(count: int, host: str = "127.0.0.1") -> int:
    """The first of free ports that follow one another."""
    while True:
        [first] = kept_ports(1, host)
        if all(is_free(host, first + more) for more in range(1, count)):
            return first
