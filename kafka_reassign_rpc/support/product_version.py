"""The version of this product."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def product_version() -> str:
    """ "unknown" where it is not installed."""
    try:
        return version("kafka-reassign-rpc")
    except PackageNotFoundError:
        return "unknown"
