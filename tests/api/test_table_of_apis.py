"""The table of APIs, built from the handler modules and the tables of what is refused."""

from importlib import import_module
from pathlib import Path

import kafka_reassign_rpc.api
from kafka_reassign_rpc.api.api_definition import ApiGroup
from kafka_reassign_rpc.api.dispatch import CLIENT_APIS, INTER_BROKER_APIS, SENT_TO_CONTROLLER, SERVER_APIS, TABLES
from kafka_reassign_rpc.api.vendor_table import COMMANDS
from kafka_reassign_rpc.protocol.messages import REQUESTS, RESPONSES
from kafka_reassign_rpc.protocol.versions import FIRST_VENDOR_KEY, SUPPORTED


def test_sv_2_every_handler_module_is_served_under_the_key_and_the_name_of_its_file() -> None:
    files = {path.stem for path in Path(kafka_reassign_rpc.api.__file__).parent.glob("a[0-9]*.py")}
    rows = [api for module in TABLES for api in module.APIS]
    assert len(files) + len(rows) == len(SERVER_APIS) >= 58
    assert all(SERVER_APIS[api.key] is api for api in rows)
    for file in files:
        prefix, _, name = file.partition("_")
        api = import_module(f"kafka_reassign_rpc.api.{file}").API
        assert SERVER_APIS[int(prefix.removeprefix("a"))] is api
        assert name.replace("_", "") == api.name.lower()


def test_sv_2_every_api_served_can_be_read_in_each_of_its_versions() -> None:
    for key, api in SERVER_APIS.items():
        assert (api.min_version, api.max_version) == SUPPORTED[key]
        assert api.name == REQUESTS[key].__name__.removesuffix("Request")
        assert api.name == RESPONSES[key].__name__.removesuffix("Response")
    assert CLIENT_APIS.keys() < SERVER_APIS.keys()


def test_sv_3_every_api_that_brokers_carry_out_waits_until_they_obey() -> None:
    """The others of the controller read, write what brokers read by themselves, or answer a broker."""
    carried_out = {
        *("CreateTopics", "DeleteTopics", "CreatePartitions", "ElectLeaders", "ControlledShutdown"),
        "AlterPartitionReassignments",
    }
    others = {
        *("ListPartitionReassignments", "ListReassignments", "DescribeReassignments", "AskDocument", "DoCommand"),
        *("AlterUserScramCredentials", "UpdateFeatures", "AlterPartition", "AllocateProducerIds", "Envelope"),
    }
    assert {api.name for api in SERVER_APIS.values() if api.by_brokers} == carried_out
    assert {SERVER_APIS[key].name for key in SENT_TO_CONTROLLER} == carried_out | others
    assert [row.name for row in COMMANDS if not row.by_brokers] == ["move_settings"]


def test_240_1_the_vendor_group_is_exactly_the_keys_that_kafka_never_allocated() -> None:
    vendor = {key for key, api in SERVER_APIS.items() if api.group is ApiGroup.VENDOR}
    assert vendor == {key for key in SERVER_APIS if key >= FIRST_VENDOR_KEY}
    assert INTER_BROKER_APIS.keys() == {7, 56, 58, 67}
    assert SERVER_APIS.keys() == CLIENT_APIS.keys() | INTER_BROKER_APIS.keys() | vendor
