"""Throttles as the command sets them and takes them away."""

from collections.abc import Iterable, Mapping

from kafka_reassign_rpc.client import KafkaError, PartitionReassignment, TopicPartition, throttle_configs
from kafka_reassign_rpc.client.cluster_calls import TOPIC
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import Failed, from_server
from kafka_reassign_rpc.reassign_command.java_set_order import joined, set_order
from kafka_reassign_rpc.reassign_command.output import plural

VERIFY_LATER = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed."
)


LEASE_NEEDS_THROTTLE = "--lease is about the throttle of --throttle: give both"


def leased(bytes_per_second: int) -> str:
    if not bytes_per_second:
        return "The reassignments have no inter-broker throttle of their own any more"
    return (
        f"The inter-broker throttle limit is {bytes_per_second} B/s while the reassignments need it: the controller "
        "takes it away then"
    )


def throttle_replication(session: ActionContext, moves: throttle_configs.Moves, bytes_per_second: int) -> None:
    session.configure(throttle_configs.topic_lists(moves))
    session.configure(throttle_configs.rates(throttle_configs.brokers(moves), bytes_per_second))
    session.output.line(f"The inter-broker throttle limit was set to {bytes_per_second} B/s")


def throttle_log_dirs(session: ActionContext, brokers: Iterable[int], bytes_per_second: int) -> None:
    session.configure(throttle_configs.log_dir_rates(dict.fromkeys(brokers), bytes_per_second))
    session.output.line(f"The replica-alter-dir throttle limit was set to {bytes_per_second} B/s")


def clear(
    session: ActionContext,
    target_brokers: Iterable[int],
    topics: Iterable[str],
    others: Mapping[TopicPartition, PartitionReassignment] | None = None,
) -> None:
    """Take away all throttles of all brokers, those of the target included, and of these topics.

    What is left on one broker does not keep the rest: everything is tried, then the first failure is raised.

    others   moves in flight that are somebody else's: what throttles them stays (the stock tool takes that, too)
    """
    needed = throttle_configs.needed(others or {}, _configs(session, {topic for topic, _ in others or {}}))
    known = set_order([*session.brokers(), *target_brokers])
    brokers = [broker for broker in known if broker not in needed.brokers]
    kept = [broker for broker in known if broker in needed.brokers]
    if brokers:
        session.output.line(f"Clearing broker-level throttles on broker{plural(len(brokers))} {joined(brokers)}")
    if kept:
        session.output.line(
            f"Keeping broker-level throttles on broker{plural(len(kept))} {joined(kept)}: other reassignments need them"
        )
    failed: Failed | None = None
    try:
        session.configure(throttle_configs.no_broker_throttles(brokers))
    except Failed as error:
        failed = error
    names = set_order(topics)
    session.output.line(f"Clearing topic-level throttles on topic{plural(len(names))} {joined(names)}")
    session.configure(throttle_configs.no_topic_throttles(names, needed))
    if failed is not None:
        raise failed
    session.output.note(throttles_cleared={"brokers": brokers, "topics": names})
    if kept:
        session.output.note(throttles_kept={"brokers": kept})


def _configs(session: ActionContext, topics: Iterable[str]) -> dict[str, dict[str, str]]:
    """What is set for topics. Raises Failed."""
    found = {}
    for (_, topic), configs in session.client.describe_configs([(TOPIC, topic) for topic in topics]).items():
        if isinstance(configs, KafkaError):
            raise from_server(configs)
        found[topic] = {config.name: config.value for config in configs if config.value is not None}
    return found
