"""Maps in processes that live for years hold what there is, not all that has ever been."""

from collections.abc import Collection, Hashable, MutableMapping
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)


def forget_others(known: MutableMapping[K, Any], there: Collection[K]) -> None:
    for key in [one for one in known if one not in there]:
        del known[key]
