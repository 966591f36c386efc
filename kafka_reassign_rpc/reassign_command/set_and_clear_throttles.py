"""Sets and clears the throttles of moves, and prints what it does in the stock tool's words."""

from collections.abc import Iterable, Mapping

from kafka_reassign_rpc.client import KafkaError, PartitionReassignment, TopicPartition, throttle_configs
from kafka_reassign_rpc.client.config_calls import TOPIC
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import CommandFailed, from_server
from kafka_reassign_rpc.reassign_command.java_set_order import joined, set_order
from kafka_reassign_rpc.support.counted import plural

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


def throttle_replication(context: ActionContext, moves: throttle_configs.Moves, bytes_per_second: int) -> None:
    context.configure(throttle_configs.topic_lists(moves))
    context.configure(throttle_configs.rates(throttle_configs.brokers(moves), bytes_per_second))
    context.output.line(f"The inter-broker throttle limit was set to {bytes_per_second} B/s")


def throttle_log_dirs(context: ActionContext, brokers: Iterable[int], bytes_per_second: int) -> None:
    context.configure(throttle_configs.log_dir_rates(dict.fromkeys(brokers), bytes_per_second))
    context.output.line(f"The replica-alter-dir throttle limit was set to {bytes_per_second} B/s")


def clear(
    context: ActionContext,
    target_brokers: Iterable[int],
    topics: Iterable[str],
    others: Mapping[TopicPartition, PartitionReassignment] | None = None,
) -> None:
    """Delete all throttles of these topics, of all brokers of the cluster, and of the target's brokers.

    A failure for one broker does not stop the rest: all changes are tried, then the first failure is raised.

    others   other moves in flight: the throttles that hold them back stay (the stock tool deletes those, too)
    """
    in_use = throttle_configs.throttles_in_use(others or {}, _configs(context, {topic for topic, _ in others or {}}))
    known = set_order([*context.brokers(), *target_brokers])
    brokers = [broker for broker in known if broker not in in_use.brokers]
    kept = [broker for broker in known if broker in in_use.brokers]
    if brokers:
        context.output.line(f"Clearing broker-level throttles on broker{plural(len(brokers))} {joined(brokers)}")
    if kept:
        context.output.line(
            f"Keeping broker-level throttles on broker{plural(len(kept))} {joined(kept)}: other reassignments need them"
        )
    failed: CommandFailed | None = None
    try:
        context.configure(throttle_configs.no_broker_throttles(brokers))
    except CommandFailed as error:
        failed = error
    names = set_order(topics)
    context.output.line(f"Clearing topic-level throttles on topic{plural(len(names))} {joined(names)}")
    context.configure(throttle_configs.no_topic_throttles(names, in_use))
    if failed is not None:
        raise failed
    context.output.note(throttles_cleared={"brokers": brokers, "topics": names})
    if kept:
        context.output.note(throttles_kept={"brokers": kept})


def _configs(context: ActionContext, topics: Iterable[str]) -> dict[str, dict[str, str]]:
    """The configs that are set for topics. Raises CommandFailed."""
    found = {}
    for (_, topic), configs in context.client.describe_configs([(TOPIC, topic) for topic in topics]).items():
        if isinstance(configs, KafkaError):
            raise from_server(configs)
        found[topic] = {config.name: config.value for config in configs if config.value is not None}
    return found
