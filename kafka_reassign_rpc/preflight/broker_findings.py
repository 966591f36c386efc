"""What follows from the answers of the brokers. Pure."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from kafka_reassign_rpc.core.state.broker import Endpoint
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.findings import Finding, fine, some, some_brokers, unsafe, warning
from kafka_reassign_rpc.protocol.messages import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
    valid_versions,
)
from kafka_reassign_rpc.support.bounded_text import whole_number
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.support.host_port import Address, is_only_here
from kafka_reassign_rpc.transport.broker_links import listener_of_controller

SENT = (LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest)
"""What a controller sends to brokers."""
OLDEST, NEWEST = (2, 8), (3, 9)
"""Versions of the inter-broker protocol that a server speaks."""

_VERSION = re.compile(r"(\d+)\.(\d+)")

Configs = Mapping[str, str]


def findings(
    answers: Sequence[BrokerAnswer],
    advertised: Sequence[Endpoint],
    listener: str | None,
    marks: Sequence[str],
    *,
    balances: bool,
    deletes: bool,
    refuses: bool,
) -> Iterator[Finding]:
    """What the answers say. `marks`: topics marked for deletion. All but that and `answers` are settings of the server.

    refuses     it refuses what a policy of the brokers would have to check (broker.policies)
    """
    yield from _reached(answers, listener)
    heard = [one for one in answers if not one.problem]
    if heard:
        yield _versions(heard)
        yield _protocol(heard)
        yield _listeners(heard, advertised)
        yield from _other_listeners(heard, advertised)
        yield from _cluster_action(heard)
        yield from _what_they_hold(heard)
        yield _policies(heard, refuses=refuses)
        yield from _configs(heard, marks, balances=balances, deletes=deletes)


def _reached(answers: Sequence[BrokerAnswer], listener: str | None) -> Iterator[Finding]:
    silent = [one for one in answers if one.problem]
    if silent:
        yield unsafe(
            "brokers",
            f"{len(silent)} of {counted(len(answers), 'broker')} cannot be controlled from here: "
            + some(
                f"broker {one.broker.id} at {Address(one.endpoint.host, one.endpoint.port)} ({one.problem})"
                for one in silent
            ),
            "start them, open the way to them, or give the login and the TLS of brokers (docs/security-outward.md)",
        )
    without = [one.broker.id for one in answers if listener is not None and one.endpoint.listener != listener]
    if without:
        yield unsafe(
            "brokers",
            f"{some_brokers(without, 'have')} no listener {listener}",
            "correct --inter-broker-listener-name",
        )
    if answers and not silent and not without:
        yield fine("brokers", f"{some(f'broker {one.broker.id}' for one in answers)} can be reached and answer")


def _versions(heard: Sequence[BrokerAnswer]) -> Finding:
    wrong = []
    for one in heard:
        for request in SENT:
            lowest, highest = one.versions.get(request.API_KEY, (0, -1))
            oldest, newest = valid_versions(request)
            if min(highest, newest) < max(lowest, oldest):
                wrong.append(f"broker {one.broker.id} ({request.name.removesuffix('Request')})")
    if wrong:
        return unsafe(
            "versions",
            f"no common version of a controller's requests: {some(wrong)}",
            "a server controls brokers of Kafka 2.8 to 3.9 in ZooKeeper mode",
        )
    return fine("versions", "every broker takes LeaderAndIsr, StopReplica and UpdateMetadata as a server sends them")


def _protocol(heard: Sequence[BrokerAnswer]) -> Finding:
    """inter.broker.protocol.version decides what brokers send to their controller."""
    found = by_value(heard, lambda configs: configs.get("inter.broker.protocol.version"))
    for value, brokers in found.items():
        version = release(value)
        if version is None or not OLDEST <= version <= NEWEST:
            return unsafe(
                "protocol",
                f"{some_brokers(brokers, 'have')} inter.broker.protocol.version {value}",
                "a server speaks 2.8 to 3.9",
            )
    if len(found) > 1:
        return warning(
            "protocol",
            f"the brokers have several values of inter.broker.protocol.version: {some(sorted(found))}",
            "finish their upgrade first",
        )
    if any(not value.startswith(f"{NEWEST[0]}.{NEWEST[1]}") for value in found):
        return warning(
            "protocol",
            f"inter.broker.protocol.version is {some(found)}: a server speaks it, but most tests run with 3.9 brokers",
            "try it on a test cluster of that version first",
        )
    return fine("protocol", f"inter.broker.protocol.version is {some(found) or 'as the brokers were made'}")


def _listeners(heard: Sequence[BrokerAnswer], advertised: Sequence[Endpoint]) -> Finding:
    """Brokers look for their controller under the name of their own listener for it, at its advertised address."""
    offered = {one.listener: one for one in advertised}
    wanted = by_value(heard, name_for_controller)
    missing = {name: brokers for name, brokers in wanted.items() if name not in offered}
    if missing:
        return unsafe(
            "listeners",
            "; ".join(f"{some_brokers(those, 'look')} for a controller on {name}" for name, those in missing.items())
            + f", and the server has {some(offered)}",
            "give the server a listener of that name (--listeners)",
        )
    far = [one.broker.id for one in heard if not is_only_here(one.endpoint.host)]
    local = [str(Address(one.host, one.port)) for one in advertised if is_only_here(one.host)]
    if far and local:
        return unsafe(
            "listeners",
            f"{some_brokers(far, 'are')} not on this host and would look for the controller at {some(local)}",
            "give --listeners or --advertised-listeners with an address that brokers reach",
        )
    places = some(f"{one.listener}://{Address(one.host, one.port)}" for one in advertised)
    return fine("listeners", f"brokers would find the server at {places}")


def _other_listeners(heard: Sequence[BrokerAnswer], advertised: Sequence[Endpoint]) -> Iterator[Finding]:
    """Brokers show a client the nodes that have the listener by which it comes in, the controller included
    (ZkMetadataCache.getAliveBrokerNodes)."""
    having: defaultdict[str, set[int]] = defaultdict(set)
    for one in heard:
        for endpoint in one.broker.endpoints:
            having[endpoint.listener].add(one.broker.id)
    served = {one.listener for one in advertised} | {name_for_controller(one.configs) for one in heard}
    unknown = sorted(having.keys() - served)
    if unknown:
        yield warning(
            "client-listeners",
            f"clients that come to the brokers on {some(unknown)} find no controller there",
            "give the server listeners of these names too (--listeners), if such clients create topics, move partitions"
            " or ask the controller for anything else",
        )
    ids = {one.broker.id for one in heard}
    lacking = {name: sorted(ids - brokers) for name, brokers in sorted(having.items()) if brokers != ids}
    if lacking:
        yield warning(
            "unlike-listeners",
            "; ".join(f"{some_brokers(brokers, 'have')} no listener {name}" for name, brokers in lacking.items()),
            "give all brokers listeners of the same names: they show a client only those brokers that have the listener"
            " by which it comes in",
        )


def _cluster_action(heard: Sequence[BrokerAnswer]) -> Iterator[Finding]:
    refusing = [one.broker.id for one in heard if one.obeys is False]
    if refusing:
        yield unsafe(
            "cluster-action",
            f"{some_brokers(refusing, 'do')} not take the principal of this server's login as a controller",
            "allow it CLUSTER_ACTION on the cluster (kafka-acls.sh --cluster --operation ClusterAction), or name it in"
            " super.users",
        )
    elif all(one.obeys for one in heard):
        yield fine("cluster-action", "the brokers take this server's principal as a controller")


def name_for_controller(configs: Configs) -> str:
    return listener_of_controller(configs) or "PLAINTEXT"


def _what_they_hold(heard: Sequence[BrokerAnswer]) -> Iterator[Finding]:
    silent = [one.broker.id for one in heard if one.log_dirs is None]
    if silent:
        yield warning(
            "log-dirs",
            f"{some_brokers(silent, 'do')} not say what they hold: one that missed the loss of a replica may go on"
            " leading it, and take records that nobody reads. Sizes of moves are not known either",
            "allow the server's login DESCRIBE on the cluster",
        )


def _policies(heard: Sequence[BrokerAnswer], *, refuses: bool) -> Finding:
    policies = {
        f"{name}={value}"
        for name in ("create.topic.policy.class.name", "alter.config.policy.class.name")
        for value in by_value(heard, lambda configs, name=name: configs.get(name) or None)  # type: ignore[misc]
    }
    if not policies:
        return fine("policies", "no broker has a policy for topics or configs")
    has = f"the brokers have {some(sorted(policies))}: a server cannot run Java"
    if refuses:
        return warning(
            "policies",
            f"{has}, so it refuses to create topics or to change configs",
            "start it with --broker-policies ignore if only clients who keep to the policy can reach it",
        )
    return warning(
        "policies",
        f"{has}, and --broker-policies is ignore: nothing checks the topics and configs that it creates and changes",
        "see that only clients who keep to the policy can reach it",
    )


def _configs(
    heard: Sequence[BrokerAnswer], marks: Sequence[str], *, balances: bool, deletes: bool
) -> Iterator[Finding]:
    migrating = with_value(heard, "zookeeper.metadata.migration.enable", "true")
    if migrating:
        yield warning(
            "migration",
            f"{some_brokers(migrating, 'have')} zookeeper.metadata.migration.enable=true",
            "do not start KRaft controllers while a server controls the cluster",
        )
    keeping = with_value(heard, "delete.topic.enable", "false")
    if keeping and marks and deletes:
        yield unsafe(
            "deletions",
            f"{some_brokers(keeping, 'have')} delete.topic.enable=false: a server would delete {some(sorted(marks))}",
            "start the server without --delete-topic-enable: it removes the marks, and the topics stay",
        )
    unbalanced = with_value(heard, "auto.leader.rebalance.enable", "false")
    if unbalanced and balances:
        yield warning(
            "leader-balance",
            f"{some_brokers(unbalanced, 'have')} auto.leader.rebalance.enable=false: the server would elect preferred"
            " leaders from time to time",
            "start the server with --auto-leader-rebalance-enable false",
        )


def release(version: str) -> tuple[int, int] | None:
    """`3.9-IV0` -> (3, 9); None: it names no release."""
    match = _VERSION.match(version)
    return None if match is None else (whole_number(match[1], 0, 99) or 0, whole_number(match[2], 0, 99) or 0)


def with_value(heard: Sequence[BrokerAnswer], name: str, value: str) -> list[int]:
    return [one.broker.id for one in heard if one.configs.get(name, "").lower() == value]


def by_value(heard: Sequence[BrokerAnswer], value_of: Callable[[Configs], str | None]) -> dict[str, list[int]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for one in heard:
        value = value_of(one.configs)
        if value is not None:
            found[value].append(one.broker.id)
    return dict(found)
