"""Errors in words for people."""

import os
import re

from kafka_reassign_rpc.support.secrecy import told_path

_NUMBERS = re.compile(r"\[Errno ([0-9]{1,4})\]")


def error_text(error: BaseException) -> str:
    """What the error says, without Python's names; of an OSError its path and fault.

    asyncio hides the words behind the address, and joins the errors of all addresses of a name: the words then come
    from the system's error numbers.
    """
    if isinstance(error, ConnectionError) and error.errno:
        return _begun_small(os.strerror(error.errno))
    if isinstance(error, OSError) and not error.errno and (numbers := _NUMBERS.findall(str(error))):
        return ", ".join(dict.fromkeys(_begun_small(os.strerror(int(number))) for number in numbers))
    if isinstance(error, OSError) and error.strerror:
        path = f"{told_path(error.filename)}: " if isinstance(error.filename, str | os.PathLike) else ""
        return path + _begun_small(error.strerror)
    return str(error) or type(error).__name__


def _begun_small(text: str) -> str:
    """`Address already in use` within a sentence; `SSL failed` stays."""
    return text[0].lower() + text[1:] if text[1:2].islower() else text
