"""Requests that need a znode which cannot be read: a proper error, one line of the log, and no traceback."""

import logging

import pytest

from kafka_reassign_rpc.protocol.messages import (
    AllocateProducerIdsRequest,
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    InitProducerIdRequest,
)
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.controller.bad_znodes.test_garbage import brokers, no_defect, serving
from tests.controller.bare_controller import put_topic
from tests.faults.cluster import ask
from tests.waiting import eventually

GARBAGE = b'{"version":1,"block_start":{}}'
COORDINATOR_LOAD_IN_PROGRESS, INVALID_CONFIG, STALE_BROKER_EPOCH, BROKER_ID_NOT_REGISTERED = 14, 40, 77, 102


async def test_236_5_while_the_last_producer_id_is_unreadable_producers_ask_again(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    init = InitProducerIdRequest(version=0, transactional_id=None, transaction_timeout_ms=1000)
    async with serving(zk_connect) as address, brokers(zk_connect, 1):
        await zk.set(znode_paths.PRODUCER_ID_BLOCK, GARBAGE)
        epoch = (await zk.get(znode_paths.broker(1)))[1].czxid
        allocate = AllocateProducerIdsRequest(version=0, broker_id=1, broker_epoch=epoch)
        for _ in range(2):
            assert (await ask(address, init, 0)).error_code == COORDINATOR_LOAD_IN_PROGRESS

        async def refused() -> bool:
            return bool((await ask(address, allocate, 0)).error_code == COORDINATOR_LOAD_IN_PROGRESS)

        await eventually(refused)  # once the controller knows the broker
        told = [record for record in caplog.records if "no producer ids" in record.getMessage()]
        assert len(told) == 1
        await zk.set(znode_paths.PRODUCER_ID_BLOCK, b"")
        assert (await ask(address, init, 0)).error_code == 0
        no_defect(caplog)


async def test_sv_4_only_a_registered_broker_gets_producer_ids_and_only_by_its_broker_epoch(
    zk: ZooKeeper, zk_connect: str
) -> None:
    """As in KafkaController.processAllocateProducerIds."""
    async with serving(zk_connect) as address, brokers(zk_connect, 1):
        epoch = (await zk.get(znode_paths.broker(1)))[1].czxid

        async def code(broker: int, broker_epoch: int) -> int:
            allocate = AllocateProducerIdsRequest(version=0, broker_id=broker, broker_epoch=broker_epoch)
            return int((await ask(address, allocate, 0)).error_code)

        async def allocated() -> bool:
            return await code(1, epoch) == 0

        await eventually(allocated)  # once the controller knows the broker
        assert await code(1, epoch - 1) == await code(1, -1) == STALE_BROKER_EPOCH
        assert await code(2, epoch) == BROKER_ID_NOT_REGISTERED


@pytest.mark.parametrize("validate_only", [False, True])
async def test_hm_1_configs_that_cannot_be_read_are_not_changed_and_the_answer_says_what_to_mend(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture, validate_only: bool
) -> None:
    """No broker is live that could be asked: what cannot be read comes first."""
    caplog.set_level(logging.INFO)
    await put_topic(zk, "t", {0: (1,)})
    unreadable: dict[tuple[int, str, str], str] = {
        (2, "t", "retention.ms"): znode_paths.config_topic("t"),
        (4, "", "min.insync.replicas"): znode_paths.config_broker("<default>"),
        (4, "1000", "min.insync.replicas"): znode_paths.config_broker("1000"),
        (4, "1000", "failure.interval.ms"): znode_paths.SETTINGS,
    }
    async with serving(zk_connect) as address:
        for (kind, name, config), path in unreadable.items():
            await zk.ensure_path(path.rpartition("/")[0])
            await zk.create(path, GARBAGE)
            for request in changes(kind, name, config, validate_only):
                (result,) = (await ask(address, request, 0)).responses
                assert result.error_code == INVALID_CONFIG
                assert result.error_message.startswith(f"What is set cannot be read: {path}: ")
                assert "Repair this znode, or delete it" in result.error_message
            assert (await zk.get(path))[0] == GARBAGE
            if (kind, name) != (2, "t"):
                await zk.delete(path)  # of the server's own two znodes, one at a time
        described = DescribeConfigsRequest.DescribeConfigsResource
        resource = described(version=1, resource_type=2, resource_name="t", configuration_keys=None)
        (result,) = (await ask(address, DescribeConfigsRequest(version=1, resources=[resource]), 1)).results
        assert result.error_code == INVALID_CONFIG
    no_defect(caplog)


def changes(kind: int, name: str, config: str, validate_only: bool) -> tuple[object, object]:
    """A request of each API that changes this config of a resource."""
    incremental, full = IncrementalAlterConfigsRequest.AlterConfigsResource, AlterConfigsRequest.AlterConfigsResource
    change = incremental.AlterableConfig(name=config, config_operation=0, value="1")
    wanted = full.AlterableConfig(name=config, value="1")
    return (
        IncrementalAlterConfigsRequest(
            version=0,
            resources=[incremental(version=0, resource_type=kind, resource_name=name, configs=[change])],
            validate_only=validate_only,
        ),
        AlterConfigsRequest(
            version=0,
            resources=[full(version=0, resource_type=kind, resource_name=name, configs=[wanted])],
            validate_only=validate_only,
        ),
    )
