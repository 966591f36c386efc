"""What Kafka takes for unique and is not: both checks name it."""

import shlex
from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.core.quotas.client_quotas import USER
from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.preflight.check import check_for_kraft
from kafka_reassign_rpc.preflight.findings import Cures, Finding, Level
from kafka_reassign_rpc.preflight.read_state import FoundState, ProducerBlock, UniqueNames
from kafka_reassign_rpc.preflight.unique_findings import controller_ids, findings, nodes
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.config_znodes import QuotaStore
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.core.build import broker, cluster, not_moving
from tests.core.topics.test_duplicate_topic_ids import knows, topic
from tests.preflight.checking import PLAINTEXT, checked
from tests.preflight.found_states import found_state
from tests.preflight.test_kraft_findings import answer


def found(topics: Iterable[str] = (), names: UniqueNames = UniqueNames()) -> list[Finding]:  # noqa: B008
    return list(findings(knows(*(topic(name, None) for name in topics)), names, Cures("zk:2181")))


@pytest.mark.parametrize(
    ("topics", "text"),
    [
        (["a.b", "a_b", "a.b.c", "ab"], "a.b and a_b. One"),
        (["a.b_c", "a_b.c", "a_b_c"], "a.b_c and a_b.c and a_b_c"),
        (["a.b", "a-b", "a..b"], ""),
    ],
)
def test_sv_4_topics_whose_names_are_one_as_metrics_are_a_warning(topics: list[str], text: str) -> None:
    (one,) = found(topics)
    assert (one.level, one.subject) == ((Level.WARNING, "metric-names") if text else (Level.OK, "unique-names"))
    assert text in one.text


def test_sv_4_a_topic_that_is_left_alone_has_a_name_too() -> None:
    here = knows(topic("a.b", None))
    here.unreadable["a_b"] = "no JSON"
    (one,) = findings(here, UniqueNames(), Cures("zk:2181"))
    assert "a.b and a_b" in one.text


def test_sv_4_znodes_that_are_one_principal_are_unsafe_and_no_command_takes_a_credential_away() -> None:
    users = ["alice", "%61lice", "b%40x", "c", "<default>"]
    (one,) = found(names=UniqueNames({"users": users, "clients": ["alice"]}))
    assert (one.level, one.subject) == (Level.UNSAFE, "principals")
    assert "/config/users are one name to Kafka: %61lice and alice." in one.text
    assert one.advice.endswith("and then delete %61lice")
    assert one.commands == ()


@pytest.mark.parametrize(
    ("block", "is_unsafe"),
    [
        (ProducerBlock(None, 0), False),
        (ProducerBlock(4_999, 5), False),
        (ProducerBlock(4_999, 6), False),
        (ProducerBlock(4_999, 7), True),
        (ProducerBlock(None, 2), True),
    ],
)
def test_sv_4_producer_ids_that_were_set_back_are_unsafe_and_the_command_goes_behind_all_of_them(
    block: ProducerBlock, is_unsafe: bool
) -> None:
    (one,) = found(names=UniqueNames({}, block))
    assert (one.level is Level.UNSAFE) is is_unsafe
    if is_unsafe:
        data = shlex.split(one.commands[0])[-1].encode()
        assert znode_contents.decode_producer_id_block(data) == 1000 * (block.writes + 1) - 1


def test_mg_1_ids_that_kraft_controllers_share_with_brokers_or_servers_are_named() -> None:
    state = FoundState(cluster=cluster(not_moving(1, 2), live=(1, 2)), **found_state() | {"taken_ids": ["1000", "x"]})

    def told(voters: str) -> list[tuple[Level, str]]:
        return [(one.level, one.text) for one in controller_ids(state, [answer(1, controller_quorum_voters=voters)])]

    assert told("3000@c:9093,3001@d:9093") == told("") == told("garbage,@") == []
    [(level, text)] = told("3000@c:9093, 2@d:9093")
    assert level is Level.UNSAFE
    assert text.startswith("broker 2 has the ids of KRaft controllers (controller.quorum.voters)")
    [(level, text)] = told("1000@c:9093")
    assert level is Level.WARNING
    assert text.startswith("server 1000 of kafka-reassign-rpc and KRaft controllers have the same id")


def test_sv_3_addresses_and_ids_that_brokers_and_servers_share_are_named() -> None:
    def told(own_id: int = 1000, advertised: int = 9092, **changes: Any) -> list[tuple[Level, str]]:
        here = cluster(not_moving(1, 2), live=(1, 2))
        here.brokers[2] = replace(here.brokers[2], endpoints=changes.pop("endpoints", here.brokers[2].endpoints))
        state = FoundState(cluster=here, **found_state() | changes)
        answers = [answer(1, broker_id_generation_enable="true"), answer(2, reserved_broker_max_id="1")]
        place = Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", advertised)
        return [(one.level, one.text) for one in nodes(state, answers, own_id, [place])]

    first = broker(1).endpoints
    assert told() == []
    [(level, text)] = told(endpoints=first)
    assert (level, text[:72]) == (
        Level.UNSAFE, "brokers are registered at one address: localhost:9001 (brokers 1, 2). Wh"
    )  # fmt: skip
    [(level, text)] = told(advertised=9002)
    assert level is Level.UNSAFE
    assert text == "this server would be advertised at the address of a broker: localhost:9002 (broker 2)"
    [(level, text)] = told(servers=["2", "1000"])
    assert level is Level.WARNING
    assert text.startswith("server 2 of kafka-reassign-rpc runs, and a broker is registered with the same id")


def test_sv_3_an_id_that_zookeeper_may_give_to_a_broker_is_named() -> None:
    here = cluster(not_moving(1, 2), live=(1, 1001))
    state = FoundState(cluster=here, **found_state())
    generated = [answer(1), answer(1001, broker_id_generation_enable="true")]
    assert [*nodes(state, generated, 1000, [])] == []
    [one] = nodes(state, generated, 1002, [])
    assert one.text.startswith("ZooKeeper may give the id 1002 to the next broker without broker.id, as it may have")
    fixed = [answer(1), answer(1001, broker_id_generation_enable="false")]
    assert [*nodes(state, fixed, 1002, [])] == []


async def test_sv_4_the_check_reads_users_and_producer_ids_as_they_are_stored(zk: ZooKeeper, zk_connect: str) -> None:
    await QuotaStore(zk).alter(((USER, "alice"),), lambda _: {"request_percentage": "1"})
    for path, data in {"/config/users/%61lice": b"", znode_paths.PRODUCER_ID_BLOCK: b""}.items():
        await zk.create(path, data)
    empty = {one.subject: one for one in await checked(zk_connect, seconds=30)}["producer-ids"]
    assert "/latest_producer_id_block (empty, where Kafka wants no data" in empty.text
    for last in (999, 1_999, 2_999, 999):
        data = znode_contents.encode_producer_id_block(1, last - 999, last)
        await zk.set(znode_paths.PRODUCER_ID_BLOCK, data)
    told = {one.subject: one for one in await checked(zk_connect, seconds=30)}
    assert "%61lice and alice" in told["principals"].text
    assert "up to 999 have been given out, and its 4 writes" in told["producer-ids"].text
    assert "unique-names" not in told
    config = ServerConfig(zookeeper_connect=zk_connect, listeners=[PLAINTEXT], server_id=1001)
    assert told.keys() >= {"principals", "producer-ids"} <= {one.subject for one in await check_for_kraft(config, 30)}
    of_kraft = znode_contents.encode_controller(3000, 0).replace(
        b'"kraftControllerEpoch":-1', b'"kraftControllerEpoch":4'
    )
    await zk.create(znode_paths.CONTROLLER, of_kraft)
    after = await check_for_kraft(config, 30)
    assert not {"principals", "producer-ids"} & {one.subject for one in after}, "a copy, which nobody may write"
    assert not any(one.commands for one in after)
