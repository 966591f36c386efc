"""Sets and clears the throttles of moves, and prints what it does in the stock tool's words."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from kafka_reassign_rpc.client import (
    KafkaError,
    PartitionReassignment,
    ReassignmentClient,
    TopicPartition,
    Unreachable,
    throttle_configs,
)
from kafka_reassign_rpc.client.config_calls import BROKER, TOPIC
from kafka_reassign_rpc.client.standing_rates import leased_rates, rates_after
from kafka_reassign_rpc.core.config_values import INT64
from kafka_reassign_rpc.core.throttling.standing_rates import limit_texts
from kafka_reassign_rpc.reassign_command.action_context import ActionContext
from kafka_reassign_rpc.reassign_command.command_errors import TerseFailure, from_server
from kafka_reassign_rpc.reassign_command.reassignment_json import joined, set_order
from kafka_reassign_rpc.support.counted import plural

VERIFY_LATER = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed."
)

LEASE_NEEDS_THROTTLE = "--lease is about the throttle of --throttle: give both"


LIFT_NEEDS_LEASE = "--lift-stricter is about the throttle of --throttle and --lease: give all three"
LEASE_ENDED = "The reassignments have no inter-broker throttle of their own any more"


def throttle_replication(context: ActionContext, moves: throttle_configs.Moves, bytes_per_second: int) -> None:
    context.configure(throttle_configs.topic_lists(moves))
    context.configure(throttle_configs.rates(throttle_configs.brokers(moves), bytes_per_second))
    context.output.line(f"The inter-broker throttle limit was set to {bytes_per_second} B/s")


def throttle_log_dirs(context: ActionContext, brokers: Iterable[int], bytes_per_second: int) -> None:
    context.configure(throttle_configs.log_dir_rates(dict.fromkeys(brokers), bytes_per_second))
    context.output.line(f"The replica-alter-dir throttle limit was set to {bytes_per_second} B/s")


def former_leases(client: ReassignmentClient) -> Mapping[int, int]:
    """Bytes/s by broker, before a lease changes. A client that may not see them may change them all the same."""
    try:
        return leased_rates(client)
    except KafkaError:
        return {}


def limits_that_go_on(
    client: ReassignmentClient, brokers: Collection[int], former: Mapping[int, int], lease: int
) -> list[str]:
    """Limits of others below a lease that has just changed stay; where it has ended (0), all of them, but only lists of
    others still name replicas."""
    standing = rates_after(client, brokers, former, lease or INT64)
    held = {
        broker: {name: rate for name, rate in sides.items() if rate.by != "lease"}
        for broker, sides in standing.held(lease or INT64).items()
    }
    what = "A stricter limit goes on" if lease else "A rate stays, for replicas that throttled.replicas name"
    lines = [f"{what}: {text}." for text in limit_texts({b: s for b, s in held.items() if s})]
    unknown = sorted(standing.unknown)
    if unknown:
        numbers = ",".join(map(str, unknown))
        lines.append(f"Which limit holds on broker{plural(len(unknown))} {numbers} is not known.")
    return lines


class NotCleared(NamedTuple):
    brokers: Mapping[int, KafkaError]
    topics: Mapping[str, KafkaError]

    def __bool__(self) -> bool:
        return bool(self.brokers or self.topics)

    def raise_first(self) -> None:
        """Serves commands that are done only when the throttles are gone. Of topics it raises one error, as the stock
        tool.
        """
        if self.brokers:
            raise TerseFailure("\n".join(self.lines()))
        for error in self.topics.values():
            raise from_server(error)

    def lines(self) -> Iterator[str]:
        for broker, error in self.brokers.items():
            yield (
                f"Could not clear the throttles of broker {broker}: {error.message} Where it has a rate, it keeps it: "
                f"once it is back, delete its configs {', '.join(throttle_configs.BROKER_THROTTLES)}."
            )
        for topic, error in self.topics.items():
            yield f"Could not clear the throttles of topic {topic}: {error.message}"


def clear(
    context: ActionContext,
    target_brokers: Iterable[int],
    topics: Iterable[str],
    others: Mapping[TopicPartition, PartitionReassignment] | None = None,
) -> NotCleared:
    """Deletes all throttles of these topics, of all brokers of the cluster (not our servers), and of the target's
    brokers. A failure does not stop the rest.

    others   moves in flight: they keep the throttles that hold them back (the stock tool deletes those, too)
    """
    in_use = throttle_configs.throttles_in_use(others or {}, _configs(context, {topic for topic, _ in others or {}}))
    nodes = context.brokers()
    servers = context.client.servers_among(nodes)
    known = [broker for broker in set_order([*nodes, *target_brokers]) if broker not in servers]
    brokers = [broker for broker in known if broker not in in_use.brokers]
    kept = [broker for broker in known if broker in in_use.brokers]
    if brokers:
        context.output.line(f"Clearing broker-level throttles on broker{plural(len(brokers))} {joined(brokers)}")
    if kept:
        context.output.line(
            f"Keeping broker-level throttles on broker{plural(len(kept))} {joined(kept)}: other reassignments need them"
        )
    absent = [] if context.asks_controllers else [broker for broker in brokers if broker not in nodes]
    reachable = [broker for broker in brokers if broker not in absent]
    results = context.client.change_configs(throttle_configs.no_broker_throttles(reachable))
    gone: dict[int, KafkaError] = {broker: Unreachable("It is not registered.") for broker in absent}
    names = set_order(topics)
    context.output.line(f"Clearing topic-level throttles on topic{plural(len(names))} {joined(names)}")
    results |= context.client.change_configs(throttle_configs.no_topic_throttles(names, in_use))
    failed = {resource: error for resource, error in results.items() if error is not None}
    left = NotCleared(
        gone | {int(name): error for (kind, name), error in failed.items() if kind == BROKER},
        {name: error for (kind, name), error in failed.items() if kind == TOPIC},
    )
    context.output.collect(
        throttles_cleared={
            "brokers": [broker for broker in brokers if broker not in left.brokers],
            "topics": [name for name in names if name not in left.topics],
        }
    )
    if kept:
        context.output.collect(throttles_kept={"brokers": kept})
    if left:
        context.output.collect(
            throttles_not_cleared={
                "brokers": {str(broker): error.message for broker, error in left.brokers.items()},
                "topics": {topic: error.message for topic, error in left.topics.items()},
            }
        )
    return left


def _configs(context: ActionContext, topics: Iterable[str]) -> dict[str, dict[str, str]]:
    """Raises CommandFailed."""
    found = {}
    for (_, topic), configs in context.client.describe_configs([(TOPIC, topic) for topic in topics]).items():
        if isinstance(configs, KafkaError):
            raise from_server(configs)
        found[topic] = {config.name: config.value for config in configs if config.value is not None}
    return found
