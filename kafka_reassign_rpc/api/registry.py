"""The APIs that a node serves: each module of this package named `a<key>_<name>.py` declares one `API`, and the tables
of what a node refuses have a row for each, as has that of documents and commands of ours.
"""

import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from pkgutil import iter_modules

from kafka_reassign_rpc import api as handlers
from kafka_reassign_rpc.api import refused_coordination, refused_records, vendor_table
from kafka_reassign_rpc.api.api_definition import Api, ApiGroup
from kafka_reassign_rpc.protocol.versions import Versions

TABLES = (refused_records, refused_coordination, vendor_table)
_HANDLER_MODULE = re.compile(r"a\d+_\w+")


def table(apis: Iterable[Api]) -> dict[int, Api]:
    return {api.key: api for api in sorted(apis, key=lambda api: api.key)}


def advertised(apis: Mapping[int, Api]) -> Versions:
    return {key: (api.min_version, api.max_version) for key, api in apis.items() if api.advertised}


def _load() -> dict[int, Api]:
    names = [module.name for module in iter_modules(handlers.__path__) if _HANDLER_MODULE.fullmatch(module.name)]
    handled = (import_module(f"{handlers.__name__}.{name}").API for name in names)
    return table([*handled, *(api for module in TABLES for api in module.APIS)])


def _of(group: ApiGroup) -> dict[int, Api]:
    return {key: api for key, api in SERVER_APIS.items() if api.group is group}


SERVER_APIS: Mapping[int, Api] = _load()
"""All APIs that the server process serves."""

CLIENT_APIS: Mapping[int, Api] = _of(ApiGroup.CLIENT)
"""APIs that every node serves. A node that is not the controller answers NOT_CONTROLLER to a request that only the
controller can carry out."""

INTER_BROKER_APIS: Mapping[int, Api] = _of(ApiGroup.INTER_BROKER)
"""APIs that brokers call on their controller."""

SENT_TO_SERVERS: frozenset[int] = frozenset(key for key, api in SERVER_APIS.items() if api.group is ApiGroup.VENDOR)
"""APIs that clients send to servers of this product alone."""

SENT_TO_CONTROLLER: frozenset[int] = SENT_TO_SERVERS | {
    key for key, api in SERVER_APIS.items() if api.to_controller or api.group is ApiGroup.INTER_BROKER
}
"""The same, and APIs that clients and brokers send to the controller alone."""
