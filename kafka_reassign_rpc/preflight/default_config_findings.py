"""Cluster-wide broker configs that stand already and that brokers cannot live with. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from kafka_reassign_rpc.core.configs.broker_config_rules import NOT_APPLIED
from kafka_reassign_rpc.core.configs.config_definitions import ignored_default
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.findings import Finding, fine, some, some_brokers, warning
from kafka_reassign_rpc.support.counted import counted

SUBJECT = "default-configs"
REMOVE = "kafka-configs --entity-type brokers --entity-default --alter --delete-config"


def findings(standing: Mapping[str, str], answers: Sequence[BrokerAnswer]) -> Iterator[Finding]:
    heard = [one for one in answers if not one.problem]
    ignored = {name: why for name, value in standing.items() if (why := ignored_default(name, value)) is not None}
    if ignored:
        yield warning(
            SUBJECT,
            f"brokers leave out of the cluster-wide configs what they cannot use: {some(sorted(ignored))}"
            f" ({next(iter(ignored.values()))})",
            f"remove them ({REMOVE})",
        )
    refusing = [(one.broker.id, one.defaults) for one in heard if one.defaults is not None]
    for broker, refusal in refusing[:1]:
        named = some_brokers(id_ for id_, _ in refusing)
        blamed = some(refusal.culprits) if refusal.culprits else "those that do not fit together"
        effect = (
            f"{NOT_APPLIED}: {blamed}"
            if refusal.standing
            else "would have trouble with the cluster-wide configs at the next start"
        )
        yield warning(
            SUBJECT,
            f"{named} {effect} (broker {broker}: {refusal.error})",
            f"remove or correct them before a broker restarts ({REMOVE})",
        )
    unknown = [f"broker {one.broker.id} ({one.defaults_unknown})" for one in heard if one.defaults_unknown]
    if unknown:
        yield warning(
            SUBJECT,
            f"it is not known whether brokers can live with the cluster-wide configs: {some(unknown)}",
            "give the principal of the server's login ALTER_CONFIGS and DESCRIBE_CONFIGS on the cluster: without them"
            " it refuses to change cluster-wide configs",
        )
    if heard and not (ignored or refusing or unknown):
        yield fine(SUBJECT, f"every broker can live with the {counted(len(standing), 'cluster-wide config')}")
