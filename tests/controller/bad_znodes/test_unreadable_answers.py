"""Requests that need a znode which cannot be read: a proper error, one line of the log, and no traceback."""

import logging

import pytest

from kafka_reassign_rpc.core.kafka_errors import RequestTimedOut
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


async def test_236_5_configs_that_cannot_be_read_are_not_changed(
    zk: ZooKeeper, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await put_topic(zk, "t", {0: (1,)})
    for path in (znode_paths.config_topic("t"), znode_paths.config_broker("<default>")):
        await zk.ensure_path(path.rpartition("/")[0])
        await zk.create(path, GARBAGE)
    incremental, full = IncrementalAlterConfigsRequest.AlterConfigsResource, AlterConfigsRequest.AlterConfigsResource
    described = DescribeConfigsRequest.DescribeConfigsResource
    async with serving(zk_connect) as address:
        unreadable = (INVALID_CONFIG, "cannot be read")
        nobody_to_ask = (RequestTimedOut.code, "no broker is live")  # they would have to judge what stands
        for kind, name, config, (code, said) in (
            (2, "t", "retention.ms", unreadable),
            (4, "", "min.insync.replicas", nobody_to_ask),
        ):
            change = incremental.AlterableConfig(name=config, config_operation=0, value="1")
            answers = [
                await ask(address, request, 0)
                for request in (
                    IncrementalAlterConfigsRequest(
                        version=0,
                        resources=[incremental(version=0, resource_type=kind, resource_name=name, configs=[change])],
                        validate_only=False,
                    ),
                    AlterConfigsRequest(
                        version=0,
                        resources=[full(version=0, resource_type=kind, resource_name=name, configs=[])],
                        validate_only=False,
                    ),
                )
            ]
            for answer in answers:
                (result,) = answer.responses
                assert (result.error_code, said in result.error_message) == (code, True), result
        resource = described(version=1, resource_type=2, resource_name="t", configuration_keys=None)
        (result,) = (await ask(address, DescribeConfigsRequest(version=1, resources=[resource]), 1)).results
        assert result.error_code == INVALID_CONFIG
    assert (await zk.get(znode_paths.config_topic("t")))[0] == GARBAGE
    assert (await zk.get(znode_paths.config_broker("<default>")))[0] == GARBAGE
    no_defect(caplog)
