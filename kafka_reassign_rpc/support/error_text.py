"""What an error says to people, without the names that Python gives to it."""


def error_text(error: BaseException) -> str:
    """The error in words. Of an OSError the path and what is wrong; of one that says nothing, its kind."""
    if isinstance(error, OSError) and error.strerror:
        path = f"{error.filename}: " if error.filename else ""
        return path + _begun_small(error.strerror)
    return str(error) or type(error).__name__


def _begun_small(text: str) -> str:
    """`Address already in use` as a part of a sentence; `SSL failed` stays."""
    return text[0].lower() + text[1:] if text[1:2].islower() else text
