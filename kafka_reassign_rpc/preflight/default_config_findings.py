"""Present dynamic configs of brokers that brokers cannot live with: cluster-wide ones, and those of
single brokers. Pure.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from kafka_reassign_rpc.core.configs.broker_config_rules import NOT_APPLIED, applied
from kafka_reassign_rpc.core.configs.config_definitions import ignored_default
from kafka_reassign_rpc.core.configs.config_layers import ConfigLayers, Configs
from kafka_reassign_rpc.core.restarts.broker_values import BrokerTrouble, later_trouble
from kafka_reassign_rpc.core.restarts.table import UNJUDGED_AT_START
from kafka_reassign_rpc.core.state.config_entities import DEFAULT
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.findings import Finding, fine, some, some_brokers, warning
from kafka_reassign_rpc.support.counted import counted

SUBJECT = "default-configs"
REMOVE = "kafka-configs --entity-type brokers --entity-default --alter --delete-config"
_BEFORE = f"correct or remove them before a broker restarts ({REMOVE}; of one broker: --entity-name)"


def findings(
    of_brokers: Mapping[str, Configs],
    answers: Sequence[BrokerAnswer],
    harm: Callable[[str, str, str], Finding],
) -> Iterator[Finding]:
    """`of_brokers`: all dynamic configs in ZooKeeper, by the name of the znode. `harm` makes the finding where a broker
    ends, or loses a part of itself.
    """
    standing = of_brokers.get(DEFAULT, {})
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
            f"{NOT_APPLIED}: {blamed}; {UNJUDGED_AT_START.dies}"
            if refusal.standing
            else "would have trouble with the dynamic configs of brokers at the next start"
        )
        yield harm(SUBJECT, f"{named} {effect} (broker {broker}: {refusal.error})", _BEFORE)
    unheard = [*_unheard(of_brokers, answers)]
    if unheard:
        named = some(f"{'all brokers' if name == DEFAULT else f'broker {name}'} ({one})" for name, one in unheard)
        yield harm(SUBJECT, f"brokers that do not answer could not live with their configs: {named}", _BEFORE)
    unknown = [f"broker {one.broker.id} ({one.defaults_unknown})" for one in heard if one.defaults_unknown]
    if unknown:
        yield warning(
            SUBJECT,
            f"it is not known whether brokers can live with the cluster-wide configs: {some(unknown)}",
            "give the principal of the server's login ALTER_CONFIGS and DESCRIBE_CONFIGS on the cluster: without them"
            " it refuses to change cluster-wide configs",
        )
    if heard and not (ignored or refusing or unheard or unknown):
        yield fine(SUBJECT, f"every broker can live with the {counted(len(standing), 'cluster-wide config')}")


def _unheard(of_brokers: Mapping[str, Configs], answers: Sequence[BrokerAnswer]) -> Iterator[tuple[str, BrokerTrouble]]:
    """Brokers that are down or do not say, judged by what ZooKeeper has alone: what they are started with may add
    to it.
    """
    told = {str(one.broker.id) for one in answers if not one.problem and not one.defaults_unknown}
    defaults = applied(of_brokers.get(DEFAULT, {}))
    silent = {name for name in of_brokers if name != DEFAULT} | {str(one.broker.id) for one in answers}
    if not told:
        silent.add(DEFAULT)
    for name in sorted(silent - told):
        own = {} if name == DEFAULT else of_brokers.get(name, {})
        configs = ConfigLayers(own, defaults).effective()
        trouble = later_trouble(configs, configs)
        if trouble is not None:
            yield name, trouble
