"""The modules of a room, for tests of what holds in each of them."""

import dataclasses
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import msgspec


def modules_of(room: str) -> Iterator[ModuleType]:
    package = import_module(f"kafka_reassign_rpc.{room}")
    yield package
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield import_module(found.name)


def changeable(modules: Iterator[ModuleType]) -> set[str]:
    """The classes of values, structs and dataclasses, whose fields may be changed."""
    return {
        one.__name__
        for module in modules
        for one in vars(module).values()
        if isinstance(one, type) and one.__module__ == module.__name__ and _is_changeable(one)
    }


def _is_changeable(one: type) -> bool:
    if issubclass(one, msgspec.Struct):
        return not one.__struct_config__.frozen
    return dataclasses.is_dataclass(one) and not one.__dataclass_params__.frozen  # type: ignore[attr-defined]
