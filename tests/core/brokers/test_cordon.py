"""Cordoned brokers: which they are, and that topics do not land on them."""

from random import Random
from typing import TypeVar
from uuid import UUID

import pytest

from kafka_reassign_rpc.core.brokers.cordon import cordoned
from kafka_reassign_rpc.core.config_values import parse_brokers
from kafka_reassign_rpc.core.kafka_errors import InvalidReplicationFactor
from kafka_reassign_rpc.core.round.round_view import RoundView
from kafka_reassign_rpc.core.state.broker import FailedLogDirs
from kafka_reassign_rpc.core.state.partition import Partition
from kafka_reassign_rpc.core.topics.topic_changes import create_partitions, create_topic
from kafka_reassign_rpc.core.writers.facts import SettingsFound
from kafka_reassign_rpc.support.slices import finished
from tests.core.build import TOPIC, not_moving, view, write
from tests.tables import for_each

Change = TypeVar("Change")


def _view(*partitions: Partition, settings: str = "", broker: dict[str, str] | None = None) -> RoundView:
    here = view(*partitions, live=(1, 2, 3, 4, 5))
    write(
        here.cluster,
        settings={"cordoned.brokers": settings} if settings else {},
        broker_configs={"4": broker} if broker else {},
    )
    return here


@for_each(
    ("settings", "broker", "expected"),
    [
        ("", None, set()),
        ("2,5", None, {2, 5}),
        (" 2 , 5 ", None, {2, 5}),
        ("2,five", None, set()),
        ("-2", None, set()),
        ("02", None, set()),
        ("2", {"cordoned.log.dirs": "*"}, {2, 4}),
        ("", {"cordoned.log.dirs": "/one/of/two"}, set()),
        ("", {"cordoned.log.dirs": "/a", "log.dirs": "/a,/b"}, set()),
        ("", {"cordoned.log.dirs": "/b, /a", "log.dirs": "/a,/b"}, {4}),
        ("", {"cordoned.log.dirs": "/a", "log.dir": "/a"}, {4}),
        ("", {"cordoned.log.dirs": "/a", "log.dirs": "", "log.dir": "/a"}, {4}),
        ("", {"cordoned.log.dirs": ""}, set()),
        (",".join(map(str, range(5_001))), None, set()),
    ],
)
def test_dh_2_the_setting_of_all_servers_and_kafkas_config_of_a_broker_cordon_it(
    settings: str, broker: dict[str, str] | None, expected: set[int]
) -> None:
    assert cordoned(_view(settings=settings, broker=broker).cluster) == expected


def test_dh_2_a_broker_is_cordoned_where_all_log_dirs_are_that_have_not_failed() -> None:
    here = _view(broker={"cordoned.log.dirs": "/a,/b", "log.dirs": "/a,/b,/c"})
    assert cordoned(here.cluster) == set()
    here.cluster.failed_log_dirs[4] = FailedLogDirs(1, ("/c",))
    assert cordoned(here.cluster) == {4}
    here.cluster.failed_log_dirs[4] = FailedLogDirs(1, ("/a", "/b", "/c"))
    assert cordoned(here.cluster) == set(), "none works: it takes nothing for another reason"


def test_dh_2_an_empty_list_is_a_list() -> None:
    assert parse_brokers("") == frozenset()


@for_each("seed", range(20))
def test_dh_2_no_new_topic_and_no_new_partition_lands_on_a_cordoned_broker(seed: int) -> None:
    chance = Random(seed)
    here = _view(not_moving(2, 4), settings="2,4")
    made = finished(
        create_topic(
            here,
            "new",
            topic_id=UUID(int=1),
            start=chance.getrandbits(31),
            shift=chance.getrandbits(31),
            num_partitions=7,
            replication_factor=3,
        )
    )
    assert {broker for one in made.partitions.values() for broker in one.replicas} == {1, 3, 5}
    grown = finished(create_partitions(here, TOPIC, 8))
    assert {broker for one in grown.partitions.values() for broker in one.replicas} == {1, 3, 5}


def test_dh_2_replicas_that_a_client_names_go_where_it_says_as_in_kafka_4_3() -> None:
    here = _view(not_moving(1, 2), settings="2,4")
    made = finished(create_topic(here, "new", topic_id=UUID(int=1), start=0, shift=0, assignments={0: (2, 4)}))
    assert made.partitions[0].replicas == (2, 4)
    assert finished(create_partitions(here, TOPIC, 2, [[4, 2]])).partitions[1].replicas == (4, 2)


def test_dh_2_too_few_open_brokers_are_an_invalid_replication_factor_as_in_kafka() -> None:
    with pytest.raises(InvalidReplicationFactor, match=r"larger than available brokers: 2\. 3 others are cordoned\.$"):
        finished(
            create_topic(
                _view(settings="1,2,3"),
                "new",
                topic_id=UUID(int=1),
                start=0,
                shift=0,
                num_partitions=1,
                replication_factor=3,
            )
        )


def test_dh_2_where_all_brokers_are_cordoned_the_error_of_a_growing_topic_says_so() -> None:
    with pytest.raises(InvalidReplicationFactor, match=r"available brokers: 0\. 5 others are cordoned\.$"):
        finished(create_partitions(_view(not_moving(1, 2), settings="1,2,3,4,5,77"), TOPIC, 2))


def test_dh_2_a_list_among_the_brokers_defaults_holds_as_every_setting_there_until_there_is_one_of_all_servers() -> (
    None
):
    here = _view().cluster
    write(here, broker_configs={"<default>": {"cordoned.brokers": "3"}})
    assert cordoned(here) == {3}
    write(here, settings={"cordoned.brokers": ""})
    assert cordoned(here) == frozenset()


def test_dh_2_brokers_stay_cordoned_while_the_settings_cannot_be_read() -> None:
    here = _view().cluster
    write(here, settings={"cordoned.brokers": "2", "failure.interval.ms": "5"})
    for found, expected in [
        (SettingsFound({}, "garbage", {}), {"cordoned.brokers": "2"}),
        (SettingsFound({}, "still garbage", {}), {"cordoned.brokers": "2"}),
        (SettingsFound({}, "", {}), {}),
        (SettingsFound({}, "garbage", {}), {}),
    ]:
        for _ in found.apply(here):
            pass
        assert (here.settings, here.settings_problem) == (expected, found.problem)
