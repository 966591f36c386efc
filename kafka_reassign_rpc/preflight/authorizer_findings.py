"""Whether the authorizers of server and brokers fit together, and let the brokers do what they do as such. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from ipaddress import ip_address

from kafka_reassign_rpc.core.acls.acl_authorizer import CLASS_NAME, AclAuthorizer
from kafka_reassign_rpc.core.acls.acl_binding import ANONYMOUS, CLUSTER_NAME, AclOperation, ResourceType
from kafka_reassign_rpc.core.acls.java_host import java_host
from kafka_reassign_rpc.core.broker_settings import AUTHORIZER
from kafka_reassign_rpc.core.state.cluster import Endpoint
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.broker_findings import name_for_controller
from kafka_reassign_rpc.preflight.findings import Finding, fine, some, unsafe, warning

_NEEDED = "CLUSTER_ACTION on the cluster (ControlledShutdown, AlterPartition, AllocateProducerIds)"


def findings(
    answers: Sequence[BrokerAnswer], advertised: Sequence[Endpoint], authorizer: AclAuthorizer | None
) -> Iterator[Finding]:
    """`authorizer`: the one that the server would have."""
    heard = [one for one in answers if not one.problem]
    classes: defaultdict[str, list[int]] = defaultdict(list)
    for one in heard:
        classes[one.configs.get(AUTHORIZER, "")].append(one.broker.id)
    if authorizer is None:
        classes.pop("", None)
        for name, brokers in classes.items():
            yield unsafe(
                "authorizer",
                f"brokers {some(brokers)} have {AUTHORIZER}={name}, and the server has none: whoever reaches it may do"
                " everything",
                f"give the server --authorizer-class-name {CLASS_NAME} and the brokers' --super-users",
            )
        return
    if not authorizer.loaded:
        yield unsafe("authorizer", "the ACLs in ZooKeeper cannot be read in time", "give a longer --timeout-ms")
        return
    for name, brokers in classes.items():
        if name != CLASS_NAME:
            shown = name or "no authorizer"
            yield warning(
                "authorizer",
                f"brokers {some(brokers)} have {shown}, and the server has {CLASS_NAME}",
                "give server and brokers the same settings: a client may do on the one what the other refuses",
            )
    yield from _brokers_rights(heard, advertised, authorizer)


def _brokers_rights(
    heard: Sequence[BrokerAnswer], advertised: Sequence[Endpoint], authorizer: AclAuthorizer
) -> Iterator[Finding]:
    protocols = {one.listener: one.security_protocol for one in advertised}
    refused, unknown, admitted = [], [], []
    for one in heard:
        if protocols.get(name_for_controller(one.configs)) != "PLAINTEXT":
            unknown.append(one.broker.id)
        elif _may_act(authorizer, one.endpoint.host):
            admitted.append(one.broker.id)
        else:
            refused.append(one.broker.id)
    if refused:
        yield unsafe(
            "authorizer",
            f"brokers {some(refused)} would come as {ANONYMOUS}, who lacks {_NEEDED}",
            "add their principal to --super-users, or give it that right with kafka-acls.sh",
        )
    if unknown:
        yield warning(
            "authorizer",
            f"as whom brokers {some(unknown)} would come is known to them alone; they need {_NEEDED}",
            "see that their principals are in --super-users, as on the brokers, or have that right",
        )
    if admitted and not refused and not unknown:
        yield fine("authorizer", f"brokers {some(admitted)} may do as {ANONYMOUS} what brokers do")


def _may_act(authorizer: AclAuthorizer, host: str) -> bool:
    """A host that is a name has no ACL of its own: Kafka compares addresses."""
    try:
        ip_address(host)
    except ValueError:
        host = ""
    action, cluster = AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER
    return authorizer.authorize(ANONYMOUS, java_host(host), action, cluster, CLUSTER_NAME)
