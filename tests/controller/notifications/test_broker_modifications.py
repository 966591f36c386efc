"""A broker whose registration changes while it lives (KafkaController.processBrokerModification)."""

from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.protocol.messages import LeaderAndIsrRequest, MetadataRequest, UpdateMetadataRequest
from kafka_reassign_rpc.zookeeper import znode_contents, znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from tests.faults.cluster import ask
from tests.waiting import eventually

from .scripted_cluster import JbodBroker, scripted_cluster


def port_told(broker: JbodBroker) -> int | None:
    """The port of broker 3 in the last UpdateMetadata that the broker has received."""
    told = [body for body in broker.received if isinstance(body, UpdateMetadataRequest)]
    ports = {one.id: one.endpoints[0].port for one in told[-1].live_brokers} if told else {}
    return ports.get(3)


async def test_sv_4_all_brokers_and_clients_learn_new_endpoints_and_the_broker_keeps_what_it_has(
    zk: ZooKeeper, zk_connect: str
) -> None:
    elsewhere = JbodBroker(3)
    await elsewhere.start()
    async with scripted_cluster(zk, zk_connect, {0: (3, 1)}) as cluster, cluster.serving():
        await eventually(lambda: None not in cluster.shown(0))
        state, before = await cluster.state(0), [len(cluster.brokers[id_].received) for id_ in (1, 2)]

        endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", elsewhere.port)
        await zk.set(znode_paths.broker(3), znode_contents.encode_broker([endpoint], 0))

        def ports_told() -> set[int | None]:
            return {port_told(broker) for broker in (cluster.brokers[1], cluster.brokers[2], elsewhere)}

        await eventually(lambda: ports_told() == {elsewhere.port})
        await eventually(lambda: LeaderAndIsrRequest in elsewhere.kinds())
        answer = await ask(cluster.server, MetadataRequest(version=7, topics=[]), 7)
        assert {one.node_id: one.port for one in answer.brokers}[3] == elsewhere.port
        assert await cluster.state(0) == state, "the broker was never away"
        for id_, known in zip((1, 2), before, strict=True):
            assert LeaderAndIsrRequest not in cluster.brokers[id_].kinds()[known:]
    await elsewhere.stop()
