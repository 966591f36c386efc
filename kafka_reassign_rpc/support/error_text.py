"""What an error says to people, without the names that Python gives to it."""

import os
import re

_NUMBERS = re.compile(r"\[Errno ([0-9]{1,4})\]")


def error_text(error: BaseException) -> str:
    """The error in words. Of an OSError the path and what is wrong; of one that says nothing, its kind.

    asyncio puts the address in the place of the words, and several errors into one text where a name has several
    addresses: the words are those of the system's numbers.
    """
    if isinstance(error, ConnectionError) and error.errno:
        return _begun_small(os.strerror(error.errno))
    if isinstance(error, OSError) and not error.errno and (numbers := _NUMBERS.findall(str(error))):
        return ", ".join(dict.fromkeys(_begun_small(os.strerror(int(number))) for number in numbers))
    if isinstance(error, OSError) and error.strerror:
        path = f"{error.filename}: " if error.filename else ""
        return path + _begun_small(error.strerror)
    return str(error) or type(error).__name__


def _begun_small(text: str) -> str:
    """`Address already in use` as a part of a sentence; `SSL failed` stays."""
    return text[0].lower() + text[1:] if text[1:2].islower() else text
