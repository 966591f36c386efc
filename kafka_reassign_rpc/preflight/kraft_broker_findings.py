"""What the brokers' answers say of a migration to KRaft: their releases, log dirs, and what an operator prepares. Pure.

Source: KafkaConfig.validateValues.
"""

from collections.abc import Iterator, Sequence

from kafka_reassign_rpc.core.acls.acl_authorizer import CLASS_NAME
from kafka_reassign_rpc.core.config_values import INT32, flag, items, number
from kafka_reassign_rpc.core.configs.config_layers import NEW_IN_3_9
from kafka_reassign_rpc.core.settings.broker_settings import AUTHORIZER, PROTOCOL_VERSION
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.broker_findings import by_value, release, with_value
from kafka_reassign_rpc.preflight.findings import (
    Commands,
    Finding,
    every,
    fine,
    some,
    some_brokers,
    unsafe,
    warning,
    with_line,
    without_lines,
)
from kafka_reassign_rpc.support.counted import counted
from kafka_reassign_rpc.transport.broker_links import CONTROL_PLANE

MIGRATES, WITH_LOG_DIRS, IN_TRANSACTIONS, LAST = (3, 4), (3, 7), (3, 6), (3, 9)
"""Releases of the inter-broker protocol: the first that can migrate, the first that can with several log dirs, the
first whose controller migrates in one transaction (KIP-868), and the last with ZooKeeper."""
CONTROLLER_LISTENERS = "controller.listener.names"
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
USUAL_LISTENER = "CONTROLLER"
"""The name of the controllers' listener in Kafka's documentation."""
RESERVED_IDS = 1000
"""Default of reserved.broker.max.id: a broker with a higher id has had it from ZooKeeper."""


def findings(answers: Sequence[BrokerAnswer]) -> Iterator[Finding]:
    silent = [one for one in answers if one.problem]
    heard = [one for one in answers if not one.problem]
    if not answers:
        yield unsafe("brokers", "no broker is registered: the migration waits for one", "start the brokers")
    if silent:
        yield unsafe(
            "brokers",
            f"{len(silent)} of {counted(len(answers), 'broker')} did not answer, so it is not known whether they can"
            f" migrate: {some(f'broker {one.broker.id} ({one.problem})' for one in silent)}",
            "start them, or give the login and the TLS of brokers (docs/security-outward.md)",
        )
    if heard:
        yield from _versions(heard)
        yield from _log_dirs(heard)
        yield from _prepare(heard)


def _versions(heard: Sequence[BrokerAnswer]) -> Iterator[Finding]:
    found = by_value(heard, lambda configs: configs.get(PROTOCOL_VERSION))
    releases = {value: release(value) for value in found}
    early = [value for value, number in releases.items() if number is None or number < MIGRATES]
    older = _older(heard)
    advice, commands = _to_3_9(heard)
    if len(found) > 1 or early:
        yield unsafe(
            "versions",
            f"{PROTOCOL_VERSION} is {some(sorted(found))}: brokers that migrate need the same one, 3.4 or more",
            advice,
            commands,
        )
    elif any(number is not None and number < LAST for number in releases.values()):
        halves = any(number is not None and number < IN_TRANSACTIONS for number in releases.values())
        more = " Below 3.6 a controller that fails in the middle leaves half of the metadata." if halves else ""
        yield warning(
            "versions",
            f"{PROTOCOL_VERSION} is {some(found)}. Kafka's bridge release is 3.9.{more}",
            advice,
            commands,
        )
    if older:
        yield warning(
            "releases",
            f"{some_brokers(older, 'are')} older than 3.9, the bridge release from which Kafka upgrades to 4.x",
            "upgrade them to 3.9 before the migration",
        )
    if len(found) == 1 and not early and not older and LAST in releases.values():
        yield fine("versions", f"all brokers are of 3.9, with {PROTOCOL_VERSION} {some(found)}")


def _older(heard: Sequence[BrokerAnswer]) -> list[int]:
    return [one.broker.id for one in heard if one.configs and NEW_IN_3_9 not in one.configs]


def _to_3_9(heard: Sequence[BrokerAnswer]) -> tuple[str, Commands]:
    if _older(heard):
        return f"upgrade the brokers to 3.9, then set {PROTOCOL_VERSION} to 3.9 on all of them", ()
    text = f"take {PROTOCOL_VERSION} out of the properties of all brokers, and restart them one after the other"
    return text, without_lines([PROTOCOL_VERSION])


def _log_dirs(heard: Sequence[BrokerAnswer]) -> Iterator[Finding]:
    unknown = [one.broker.id for one in heard if one.log_dirs is None]
    if unknown:
        yield unsafe(
            "log-dirs",
            f"{some_brokers(unknown, 'do')} not report the log dirs, so it is not known whether one has failed",
            "allow the login DESCRIBE on the cluster",
        )
    failed = [f"{path} of broker {one.broker.id}" for one in heard for path, error in (one.log_dirs or ()) if error]
    if failed:
        yield unsafe(
            "log-dirs",
            f"log dirs have failed: {every(failed)}. A broker with a failed log dir ends itself in a migration"
            " (KAFKA-16431)",
            "replace these disks, or take them out of log.dirs, and restart the brokers; `kafka-reassign-rpc plan"
            " drain` moves away first what such a broker holds",
        )
    several = [one for one in heard if len(one.log_dirs or ()) > 1 or len(items(one.configs.get("log.dirs", ""))) > 1]
    ids = [one.broker.id for one in several]
    early = [one for one in several if (release(one.configs.get(PROTOCOL_VERSION, "")) or LAST) < WITH_LOG_DIRS]
    if early:
        yield unsafe(
            "log-dirs",
            f"{some_brokers(ids, 'have')} several log dirs: none starts in a migration below {PROTOCOL_VERSION} 3.7",
            *_to_3_9(heard),
        )
    elif several:
        yield warning(
            "log-dirs",
            f"{some_brokers(ids, 'have')} several log dirs: during the migration a broker ends itself when one of them"
            " fails (KAFKA-16431)",
            "look at the disks before, and migrate when a lost broker can be borne",
        )
    elif not unknown and not failed:
        yield fine("log-dirs", "each broker has one log dir, and none has failed")


def _prepare(heard: Sequence[BrokerAnswer]) -> Iterator[Finding]:
    """What the operator changes with the restarts of the migration."""
    for name, brokers in by_value(heard, lambda configs: configs.get(AUTHORIZER) or None).items():
        is_kafkas = name == CLASS_NAME
        yield warning(
            "authorizer",
            f"{some_brokers(brokers, 'have')} {AUTHORIZER}={name}",
            "give the controllers, and brokers when they restart in KRaft mode, "
            + (f"{STANDARD}; the ACLs are taken over" if is_kafkas else "an authorizer that works without ZooKeeper"),
            with_line(AUTHORIZER, STANDARD) if is_kafkas else (),
        )
    for name, brokers in by_value(heard, lambda configs: configs.get(CONTROL_PLANE) or None).items():
        yield warning(
            "control-plane",
            f"{some_brokers(brokers, 'have')} {CONTROL_PLANE}={name}: no broker starts in KRaft mode with it",
            "take it out when they restart in KRaft mode",
            without_lines([CONTROL_PLANE]),
        )
    yield from _controller_listeners(heard)
    generated = [one.broker.id for one in heard if is_generated(one)]
    if generated:
        yield warning(
            "broker-ids",
            f"ZooKeeper may have given the ids of {some_brokers(generated)}: a broker without broker.id does not start"
            " in a migration",
            "write broker.id into their properties",
        )
    begun = with_value(heard, "zookeeper.metadata.migration.enable", "true")
    if begun:
        yield fine("migrating-brokers", f"{some_brokers(begun, 'have')} been restarted for the migration")
    else:
        yield warning(
            "controllers",
            "no broker has been restarted for the migration yet",
            "when this check finds nothing else: start the KRaft controllers with"
            " zookeeper.metadata.migration.enable=true, then restart the brokers with that,"
            f" controller.quorum.bootstrap.servers, {CONTROLLER_LISTENERS}, and that listener in"
            " listener.security.protocol.map",
        )


def _controller_listeners(heard: Sequence[BrokerAnswer]) -> Iterator[Finding]:
    """A broker in KRaft mode does not start with a listener of a name in controller.listener.names."""
    clash, taken = [], []
    for one in heard:
        own = {text.partition(":")[0].strip().upper() for text in items(one.configs.get("listeners", ""))}
        theirs = {name.upper() for name in items(one.configs.get(CONTROLLER_LISTENERS, ""))}
        if own & theirs:
            clash.append(f"broker {one.broker.id} ({some(sorted(own & theirs))})")
        elif not theirs and USUAL_LISTENER in own:
            taken.append(one.broker.id)
    if clash:
        yield unsafe(
            "controller-listeners",
            f"listeners of brokers have the name of the controllers' listener: {some(clash)}. No broker starts in KRaft"
            " mode so",
            f"give the controllers' listener another name, in {CONTROLLER_LISTENERS} of brokers and controllers",
        )
    if taken:
        yield warning(
            "controller-listeners",
            f"{some_brokers(taken, 'have')} a listener {USUAL_LISTENER}, the usual name of the controllers' listener",
            f"give the controllers' listener another name, in {CONTROLLER_LISTENERS} of brokers and controllers",
        )


def is_generated(answer: BrokerAnswer) -> bool:
    """Whether ZooKeeper may have given the broker its id."""
    generates = flag(answer.configs.get("broker.id.generation.enable", "")) is True
    return generates and answer.broker.id > _reserved_ids(answer)


def _reserved_ids(answer: BrokerAnswer) -> int:
    found = number(answer.configs.get("reserved.broker.max.id", ""), 0, INT32)
    return RESERVED_IDS if found is None else found
