"""Plain pictures of values that decisions may only look at: two are equal where nothing was written between."""

from collections.abc import Mapping
from typing import Any

import msgspec

_PLAIN = (int, str, bytes, float, type(None))


def picture(value: Any) -> Any:
    """The value as tuples, all that it refers to included. A frozen struct is its own picture."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Mapping):
        return tuple((key, picture(one)) for key, one in value.items())
    if isinstance(value, (set, frozenset)):
        return frozenset(value)
    if isinstance(value, (list, tuple)):
        return tuple(map(picture, value))
    if isinstance(value, msgspec.Struct):
        if value.__struct_config__.frozen:
            return value
        return tuple((field, picture(getattr(value, field))) for field in value.__struct_fields__)
    attributes = getattr(value, "__dict__", None)
    return value if attributes is None else tuple((name, picture(one)) for name, one in attributes.items())
