"""Whether brokers may go: asks ZooKeeper and the brokers, each within a time limit, and changes nothing."""

from collections.abc import Collection

from kafka_reassign_rpc.controller.duties.disk_survey import described_disks
from kafka_reassign_rpc.controller.duties.progress_sampling import sample_everything
from kafka_reassign_rpc.controller.lifecycle.server_config import ServerConfig
from kafka_reassign_rpc.core.brokers import departure
from kafka_reassign_rpc.core.brokers.departure import MOST_NAMED, Departure, Disks
from kafka_reassign_rpc.core.config_values import INT32, number
from kafka_reassign_rpc.core.reassignment_algebra import MIN_INSYNC_REPLICAS
from kafka_reassign_rpc.core.state.cluster import Cluster
from kafka_reassign_rpc.preflight import ask_brokers, departure_findings, read_state, under_kraft_findings
from kafka_reassign_rpc.preflight.check import reading, with_zookeeper
from kafka_reassign_rpc.preflight.findings import Finding
from kafka_reassign_rpc.support.turns import in_turns
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper


async def check_departure(
    config: ServerConfig, seconds: float, away: Collection[int]
) -> tuple[list[Finding], Departure | None]:
    """Returns what is found, and the answer; None: it could not be asked for. Arguments are those of `check`."""
    answered: list[Departure] = []

    async def look(zk: ZooKeeper, found: list[Finding]) -> None:
        async with reading(zk, seconds):
            state = await read_state.read(zk)
        cluster = state.cluster
        if state.is_krafts:
            found.append(under_kraft_findings.taken_over(state))
            return
        client_id = f"check-{config.server_id}"
        answers = await ask_brokers.ask_all(cluster.brokers.values(), config.links, client_id, seconds, {})
        departure = await _departure(cluster, config, seconds, away, answers)
        answered.append(departure)
        found += departure_findings.findings(cluster, departure, answers)

    findings = await with_zookeeper(config, seconds, look)
    return findings, answered[0] if answered else None


async def _departure(
    cluster: Cluster,
    config: ServerConfig,
    seconds: float,
    away: Collection[int],
    answers: Collection[ask_brokers.BrokerAnswer],
) -> Departure:
    sample = await sample_everything(cluster, f"check-{config.server_id}", config.links, seconds)
    brokers = departure.brokers_of(cluster, described_disks(sample, at=0))
    partitions = departure.partitions_of(cluster, default_min_isr(answers))
    losses = await in_turns(departure.count_losses(partitions, {"": away}, brokers, MOST_NAMED))
    return Departure(sorted(away), losses[""], Disks(brokers).room(away, losses[""].replicas))


def default_min_isr(answers: Collection[ask_brokers.BrokerAnswer]) -> int:
    """The highest of all brokers: a partition's leader decides, and any broker may lead it."""
    values = (number(one.configs.get(MIN_INSYNC_REPLICAS, ""), 1, INT32) for one in answers)
    return max((one for one in values if one is not None), default=1)
