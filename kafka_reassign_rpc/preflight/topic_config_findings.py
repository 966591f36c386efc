"""Configs of topics that stand already and at which brokers end when they start. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from kafka_reassign_rpc.core.config_values import flag
from kafka_reassign_rpc.core.configs.live_brokers import TIERED_STORAGE
from kafka_reassign_rpc.core.configs.topic_config_rules import REMOTE_STORAGE, why_brokers_end
from kafka_reassign_rpc.preflight.ask_brokers import BrokerAnswer
from kafka_reassign_rpc.preflight.findings import Finding, fine, some, warning
from kafka_reassign_rpc.support.counted import agreeing, counted

SUBJECT = "topic-configs"
CORRECT = "kafka-configs --entity-type topics --entity-name TOPIC --alter"


def findings(of_topics: Mapping[str, Mapping[str, str]], answers: Sequence[BrokerAnswer]) -> Iterator[Finding]:
    """A broker reads the configs of all topics when it starts, whether it has a replica or not."""
    tiered = _tiered_storage(answers)
    ending = {
        topic: reason
        for topic, configs in sorted(of_topics.items())
        if (reason := why_brokers_end(configs, tiered)) is not None
    }
    if ending:
        yield warning(
            SUBJECT,
            f"{counted(len(ending), 'topic', 'have')} configs at which every broker of 3.9 ends when it starts: "
            + some(f"{topic} ({reason})" for topic, reason in ending.items()),
            f"correct them before a broker restarts ({CORRECT}), or delete these topics",
        )
    elif tiered is not None:
        that_have = f"{counted(len(of_topics), 'topic')} that {agreeing(len(of_topics), 'have')}"
        yield fine(SUBJECT, f"brokers can start with the configs of {that_have} some")
    remote = [topic for topic, configs in of_topics.items() if flag(configs.get(REMOTE_STORAGE, ""))]
    if tiered is None and remote:
        yield warning(
            SUBJECT,
            f"it is not known whether every broker has tiered storage, which topics need: {some(sorted(remote))}",
            "let all brokers answer, and look again: a broker without it does not start while there are such topics",
        )


def _tiered_storage(answers: Sequence[BrokerAnswer]) -> bool | None:
    """None while it is not known of every broker."""
    told = [one.configs.get(TIERED_STORAGE, "false") == "true" for one in answers if not one.problem]
    if False in told:
        return False
    return True if told and len(told) == len(answers) else None
