"""What the brokers' answers say of a migration to KRaft: their releases, log dirs, and what an operator prepares. Pure.

Source: KafkaConfig.validateValues.
"""

from collections.abc import Iterator, Sequence

from kafka_reassign_rpc.core.acls.acl_authorizer import CLASS_NAME
from kafka_reassign_rpc.core.broker_settings import AUTHORIZER, PROTOCOL_VERSION
from kafka_reassign_rpc.core.config_values import INT32, flag, number
from kafka_reassign_rpc.core.configs.java_values import items
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.broker_findings import by_value, release, with_value
from kafka_reassign_rpc.preflight.findings import Finding, every, fine, some, unsafe, warning
from kafka_reassign_rpc.support.counted import counted

MIGRATES, WITH_LOG_DIRS, IN_TRANSACTIONS, LAST = (3, 4), (3, 7), (3, 6), (3, 9)
"""Releases of the inter-broker protocol: the first that can migrate, the first that can with several log dirs, the
first whose controller migrates in one transaction (KIP-868), and the last with ZooKeeper."""
NEW_IN_3_9 = "controller.quorum.bootstrap.servers"
"""A broker with this config is of 3.9."""
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
    if len(found) > 1 or early:
        yield unsafe(
            "versions",
            f"{PROTOCOL_VERSION} is {some(sorted(found))}: brokers that migrate need the same one, 3.4 or more",
            "upgrade the brokers to 3.9, then set it to 3.9 on all of them",
        )
    elif any(number is not None and number < LAST for number in releases.values()):
        halves = any(number is not None and number < IN_TRANSACTIONS for number in releases.values())
        more = " Below 3.6 a controller that fails in the middle leaves half of the metadata." if halves else ""
        yield warning(
            "versions",
            f"{PROTOCOL_VERSION} is {some(found)}. Kafka's bridge release is 3.9.{more}",
            "upgrade the brokers to 3.9, then set it to 3.9 on all of them",
        )
    older = [one.broker.id for one in heard if one.configs and NEW_IN_3_9 not in one.configs]
    if older:
        yield warning(
            "releases",
            f"brokers {some(older)} are older than 3.9, the bridge release from which Kafka upgrades to 4.x",
            "upgrade them to 3.9 before the migration",
        )
    if len(found) == 1 and not early and not older and LAST in releases.values():
        yield fine("versions", f"all brokers are of 3.9, with {PROTOCOL_VERSION} {some(found)}")


def _log_dirs(heard: Sequence[BrokerAnswer]) -> Iterator[Finding]:
    unknown = [one.broker.id for one in heard if one.log_dirs is None]
    if unknown:
        yield unsafe(
            "log-dirs",
            f"brokers {some(unknown)} do not tell their log dirs, so it is not known whether one has failed",
            "allow the login DESCRIBE on the cluster",
        )
    failed = [f"{path} of broker {one.broker.id}" for one in heard for path, error in (one.log_dirs or ()) if error]
    if failed:
        yield unsafe(
            "log-dirs",
            f"log dirs have failed: {every(failed)}. A broker with a failed log dir ends itself in a migration"
            " (KAFKA-16431)",
            "replace these disks, and restart the brokers",
        )
    several = [one for one in heard if len(one.log_dirs or ()) > 1 or len(items(one.configs.get("log.dirs", ""))) > 1]
    ids = [one.broker.id for one in several]
    early = [one for one in several if (release(one.configs.get(PROTOCOL_VERSION, "")) or LAST) < WITH_LOG_DIRS]
    if early:
        yield unsafe(
            "log-dirs",
            f"brokers {some(ids)} have several log dirs, and do not start in a migration below {PROTOCOL_VERSION} 3.7",
            "upgrade the brokers to 3.9, then set it to 3.9 on all of them",
        )
    elif several:
        yield warning(
            "log-dirs",
            f"brokers {some(ids)} have several log dirs: during the migration a broker ends itself when one of them"
            " fails (KAFKA-16431)",
            "look at the disks before, and migrate when a lost broker can be borne",
        )
    elif not unknown and not failed:
        yield fine("log-dirs", "each broker has one log dir, and none has failed")


def _prepare(heard: Sequence[BrokerAnswer]) -> Iterator[Finding]:
    """What the operator changes with the restarts of the migration."""
    for name, brokers in by_value(heard, lambda configs: configs.get(AUTHORIZER) or None).items():
        yield warning(
            "authorizer",
            f"brokers {some(brokers)} have {AUTHORIZER}={name}",
            "give the controllers, and brokers when they restart in KRaft mode, "
            + (
                "org.apache.kafka.metadata.authorizer.StandardAuthorizer; the ACLs are taken over"
                if name == CLASS_NAME
                else "an authorizer that works without ZooKeeper"
            ),
        )
    for name, brokers in by_value(heard, lambda configs: configs.get("control.plane.listener.name") or None).items():
        yield warning(
            "control-plane",
            f"brokers {some(brokers)} have control.plane.listener.name={name}: no broker starts in KRaft mode with it",
            "take it out when they restart in KRaft mode",
        )
    generated = [
        one.broker.id
        for one in heard
        if one.broker.id > _reserved_ids(one) and flag(one.configs.get("broker.id.generation.enable", "")) is True
    ]
    if generated:
        yield warning(
            "broker-ids",
            f"ZooKeeper may have given the ids of brokers {some(generated)}: a broker without broker.id does not start"
            " in a migration",
            "write broker.id into their properties",
        )
    begun = with_value(heard, "zookeeper.metadata.migration.enable", "true")
    if begun:
        yield fine("migrating-brokers", f"brokers {some(begun)} have been restarted for the migration")
    else:
        yield warning(
            "controllers",
            "no broker has been restarted for the migration yet",
            "when this check finds nothing else: start the KRaft controllers with"
            " zookeeper.metadata.migration.enable=true, then restart the brokers with that,"
            " controller.quorum.bootstrap.servers and controller.listener.names",
        )


def _reserved_ids(answer: BrokerAnswer) -> int:
    found = number(answer.configs.get("reserved.broker.max.id", ""), 0, INT32)
    return RESERVED_IDS if found is None else found
