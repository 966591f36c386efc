"""Addresses of status pages that other servers tell, and that browsers follow."""

import re

_PAGE = re.compile(r"https?://(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):[0-9]{1,5}/")


def page_of_server(text: str) -> str | None:
    """None: it is not the address of a server's page, and nothing else."""
    return text if _PAGE.fullmatch(text) else None
