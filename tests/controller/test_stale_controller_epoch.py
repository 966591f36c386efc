"""Brokers that answer STALE_CONTROLLER_EPOCH: ZooKeeper says whether another controller is elected. If none is,
`/controller_epoch` was lowered, and the server is elected again under an epoch that brokers obey.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from kafka_reassign_rpc.api.dispatch import SERVER_APIS
from kafka_reassign_rpc.api.vendor_table import COMMANDS
from kafka_reassign_rpc.client.config_calls import BROKER, config_request
from kafka_reassign_rpc.core.failover import STEPS
from kafka_reassign_rpc.protocol.messages import RESPONSES, InitProducerIdRequest
from kafka_reassign_rpc.zookeeper import topic_znodes, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bare_controller import topic_json
from tests.controller.notifications.scripted_cluster import JbodBroker, scripted_cluster
from tests.controller_channel.scripted_broker import STALE_CONTROLLER_EPOCH
from tests.faults.cluster import Address, alter, alter_request, ask
from tests.fuzz.messages import Request
from tests.vendor_requests import order
from tests.waiting import eventually

NEWEST_EPOCH = 7
GIVEN: Mapping[str, Mapping[str, Any]] = {
    "hold": {"all": True},
    "release": {"all": True},
    "throttle": {"rate": 1_000},
    "heal": {"broker": 9, "dry_run": False},
}
"""The body of a command, by name."""
NOT_CONTROLLER = 41


def answer_stale(broker: JbodBroker) -> None:
    """From now on the broker says to each request that it knows a newer controller."""

    def answer(body: Any) -> Any:
        version = max(version for key, version in broker.spoken if key == body.API_KEY)
        response: Any = RESPONSES[body.API_KEY]
        return response(version=version, error_code=STALE_CONTROLLER_EPOCH)

    broker.answer = answer


async def epochs(zk: ZooKeeper) -> tuple[bytes, int]:
    """The controller's epoch, and the transaction that created `/controller`."""
    (epoch, _), (_, owner) = await zk.get(znode_paths.CONTROLLER_EPOCH), await zk.get(znode_paths.CONTROLLER)
    return epoch, owner.czxid


def obey_from(broker: JbodBroker, least: int) -> None:
    """The broker refuses each request of a controller with a lower epoch, as a stock one does."""
    answer = broker.answer

    def obeyed(body: Any) -> Any:
        if body.controller_epoch >= least:
            return answer(body)
        version = max(version for key, version in broker.spoken if key == body.API_KEY)
        response: Any = RESPONSES[body.API_KEY]
        return response(version=version, error_code=STALE_CONTROLLER_EPOCH)

    broker.answer = obeyed


async def test_sv_3_the_others_are_controlled_while_a_broker_refuses_every_epoch(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The epoch rises a few times, in case it was lowered; then the broker is wrong."""
    async with scripted_cluster(zk, zk_connect, {0: (1, 2), 1: (3,)}) as cluster:
        odd = cluster.brokers[3]
        answer_stale(odd)

        async def joins() -> bool:
            """Broker 2 joins the ISR, once the controller knows that it is back."""
            return await cluster.alter_isr(0, [1, 2]) == 0

        async def has_tried() -> bool:
            return int((await epochs(zk))[0]) > sum(STEPS)

        async with cluster.serving():
            await eventually(has_tried, within=30)
            await eventually(lambda: cluster.shown(0, to=(1, 2)) == [(1, [1, 2], [])] * 2)
            elected, refused = await epochs(zk), len(odd.received)
            for _ in range(3):
                await cluster.unregister(2)
                await eventually(lambda: cluster.shown(0, to=(1,)) == [(1, [1], [2])])
                await cluster.register(2)
                await eventually(joins)
                await eventually(lambda: cluster.shown(0, to=(1, 2)) == [(1, [1, 2], [])] * 2)
            assert len(odd.received) > refused + 3, "each was refused"
            assert await epochs(zk) == elected
            assert await alter(cluster.server, {("t", 0): [2, 1]}) == {("t", 0): 0}
    told = [one.getMessage() for one in caplog.records if "STALE_CONTROLLER_EPOCH" in one.getMessage()]
    assert len(told) == len(STEPS) + 1, "once in each term"
    assert told[-1].startswith("broker 3 knows a newer controller than this one of epoch ")


async def test_sv_3_a_server_begins_above_the_epoch_of_states_and_of_its_own_last_term(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Without one refused request, although `/controller_epoch` was deleted, and then is lowered."""
    async with scripted_cluster(zk, zk_connect, {0: (1, 2)}) as cluster:
        await zk.set(znode_paths.partition_state("t", 0), topic_znodes.encode_state(1, 3, (1, 2), 57))
        for broker in cluster.brokers.values():
            obey_from(broker, 57)
        async with cluster.serving():
            await eventually(lambda: cluster.shown(0, to=(1, 2)) == [(1, [1, 2], [])] * 2)
            assert (await epochs(zk))[0] == b"58"
            for broker in cluster.brokers.values():
                obey_from(broker, 58)
            await zk.set(znode_paths.CONTROLLER_EPOCH, b"3")
            await eventually(lambda: accepts(cluster.server, [2, 1]))
            assert (await epochs(zk))[0] == b"59"
            await zk.delete(znode_paths.CONTROLLER_EPOCH)
            await eventually(lambda: accepts(cluster.server, [1, 2]))
            assert (await epochs(zk))[0] == b"60"
            seen = {body.controller_epoch for one in cluster.brokers.values() for body in one.received}
            assert seen == {58, 59, 60}


async def accepts(server: Address, target: list[int]) -> bool:
    answer = await ask(server, alter_request({("t", 0): target}), 0)
    return not answer.error_code and [one.error_code for one in answer.responses[0].partitions] == [0]


async def test_sv_3_until_brokers_obey_nothing_is_answered_as_done_and_the_epoch_rises_until_they_do(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """Nothing in ZooKeeper says which epoch they know."""
    async with scripted_cluster(zk, zk_connect, {0: (1, 2)}) as cluster:
        for broker in cluster.brokers.values():
            obey_from(broker, 1_234)
        async with cluster.serving():
            done: list[int] = []

            async def moved() -> bool:
                if await accepts(cluster.server, [2, 1]):
                    done.append(int((await epochs(zk))[0]))
                return bool(done)

            await eventually(moved, within=30)
            assert done[0] >= 1_234
            assert done[0] <= 1 + sum(STEPS[:4]) + len(STEPS)


async def test_sv_3_where_no_broker_obeys_any_epoch_commands_are_answered_not_controller(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with scripted_cluster(zk, zk_connect, {0: (1, 2)}) as cluster:
        for broker in cluster.brokers.values():
            answer_stale(broker)

        async def has_tried() -> bool:
            return int((await epochs(zk))[0]) > sum(STEPS)

        async with cluster.serving():
            await eventually(has_tried, within=30)
            for _ in range(3):
                assert (await ask(cluster.server, alter_request({("t", 0): [2, 1]}), 0)).error_code == NOT_CONTROLLER
            for key, version, request in commands():
                codes = {code for code in error_codes((await ask(cluster.server, request, version)).to_dict()) if code}
                assert codes == {NOT_CONTROLLER}, (SERVER_APIS[key].name, version)
            for row in COMMANDS:
                answer = await ask(cluster.server, order(row.name, **GIVEN.get(row.name, {})), 0)
                assert (answer.error_code == NOT_CONTROLLER) == row.by_brokers, row.name
            assert (await topic_json(zk, "t"))["partitions"] == {"0": [1, 2]}
            # What brokers read in ZooKeeper by themselves, or no broker has to carry out, is done.
            setting = {(BROKER, "1000"): {"failure.interval.ms": "60000"}}
            assert [one.error_code for one in (await ask(cluster.server, config_request(setting), 1)).responses] == [0]
            init = InitProducerIdRequest(version=0, transactional_id=None, transaction_timeout_ms=1000)
            assert (await ask(cluster.server, init, 0)).error_code == 0


def commands() -> Iterator[tuple[int, int, Any]]:
    """A request of each API and version that brokers have to carry out, with something in its lists."""
    for key, api in SERVER_APIS.items():
        for version in range(api.min_version, api.max_version + 1) if api.by_brokers else ():
            recipe = Request(key, key, version)
            yield key, version, recipe.message(array=max(recipe.arrays, key=len, default=""), count=1)


def error_codes(answer: object) -> Iterator[int]:
    if isinstance(answer, Mapping):
        if "error_code" in answer:
            yield answer["error_code"]
        answer = [*answer.values()]
    for one in answer if isinstance(answer, list) else ():
        yield from error_codes(one)


async def test_sv_3_a_controller_that_hears_of_a_newer_one_from_a_broker_ends_its_term_at_once_if_zookeeper_says_so_too(
    zk: ZooKeeper, zk_connect: str
) -> None:
    async with scripted_cluster(zk, zk_connect, {0: (1, 2)}) as cluster, cluster.serving():
        await eventually(lambda: cluster.shown(0, to=(1, 2, 3)) == [(1, [1, 2], [])] * 3)
        await zk.set(znode_paths.CONTROLLER_EPOCH, b"%d" % NEWEST_EPOCH)
        answer_stale(cluster.brokers[1])
        await cluster.unregister(3)  # which changes nothing in ZooKeeper, but brokers hear of it

        async def has_a_new_term() -> bool:
            now, _ = await epochs(zk)
            return int(now) > NEWEST_EPOCH

        await eventually(has_a_new_term)
