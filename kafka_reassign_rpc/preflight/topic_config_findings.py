"""Present configs of topics at which brokers end when they start. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from kafka_reassign_rpc.core.config_values import flag
from kafka_reassign_rpc.core.configs.live_brokers import tiered_storage
from kafka_reassign_rpc.core.configs.topic_config_rules import REMOTE_STORAGE
from kafka_reassign_rpc.core.restarts.table import Ending
from kafka_reassign_rpc.core.restarts.topic_values import TopicTrouble, topic_trouble
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.findings import Finding, fine, some, warning
from kafka_reassign_rpc.support.counted import agreeing, counted

SUBJECT = "topic-configs"


def findings(
    of_topics: Mapping[str, Mapping[str, str]],
    answers: Sequence[BrokerAnswer],
    harm: Callable[[str, str, str], Finding],
) -> Iterator[Finding]:
    """A broker reads the configs of all topics when it starts, whether it has a replica or not. `harm` makes the
    finding of those at which it ends.
    """
    tiered = tiered_storage(None if one.problem else one.configs for one in answers)
    ending: defaultdict[Ending, list[tuple[str, TopicTrouble]]] = defaultdict(list)
    for topic, configs in sorted(of_topics.items()):
        trouble = topic_trouble(configs, tiered)
        if trouble is not None:
            ending[trouble.ending].append((topic, trouble))
    for row, met in ending.items():
        named = [f"{topic} ({trouble.why})" for topic, trouble in met]
        yield harm(
            SUBJECT,
            f"{counted(len(named), 'topic', 'have')} configs that brokers of 3.9 cannot live with: {row.dies}:"
            f" {some(named)}",
            f"correct them before a broker restarts ({row.cure}): one that is taken away leaves the topic with the"
            " brokers' own, which may delete what it was to keep",
        )
    if not ending and tiered is not None:
        that_have = f"{counted(len(of_topics), 'topic')} that {agreeing(len(of_topics), 'have')}"
        yield fine(SUBJECT, f"brokers can start with the configs of {that_have} some")
    remote = [topic for topic, configs in of_topics.items() if flag(configs.get(REMOTE_STORAGE, ""))]
    if tiered is None and remote:
        yield warning(
            SUBJECT,
            f"it is not known whether every broker has tiered storage, which topics need: {some(sorted(remote))}",
            "let all brokers answer, and look again: a broker without it does not start while there are such topics",
        )
