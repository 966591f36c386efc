"""docs/restarts.md: what ends brokers when they start, from the table of it."""

from docs.markdown import NOTE, table
from kafka_reassign_rpc.core.restarts.table import ENDINGS, Ending, Victim

_TITLES = {
    Victim.BROKERS: "ends brokers at their next start",
    Victim.PART: "ends or stops a part of running brokers",
    Victim.ELECTION: "keeps stock brokers from becoming controller",
    Victim.MIGRATION: "stops a migration to KRaft",
}
_NEVER = "no client can ask for it"


def restarts_page() -> str:
    """Every row of the table."""
    rows = [
        [f"`{one.name}`", one.source, one.bad, one.read_by, _hits(one), one.dies, one.refused or _NEVER,
         f"`{one.subject}`", one.cure]
        for one in ENDINGS
    ]  # fmt: skip
    head = ["what", "where", "bad value", "read by", "it", "as a finding says", "refused", "finding", "cure"]
    parts = [
        NOTE.format(source="kafka_reassign_rpc/core/restarts/table.py"),
        "# What ends brokers when they start",
        "A Kafka 3.9 broker in ZooKeeper mode reads much of ZooKeeper when it starts, and takes some of it as it"
        " is: one bad value there, and no broker of the cluster starts again. Some values it even accepts while it"
        " runs. This server refuses them when it is asked for them, and `kafka-reassign-rpc check` and"
        " `check --for-kraft` name them where they are. All rows were tried on stock brokers of 3.9.1.",
        "`check` warns: a server can control such a cluster. In `check --for-kraft` they are UNSAFE, since brokers"
        " restart before and in a migration. It names besides what a KRaft controller stops at, and leaves out what"
        " concerns stock controllers alone.",
        "Whether cluster-wide configs, and those of one broker, fit that broker only it knows: both checks ask each"
        " ([why](decisions/0007-brokers-judge-their-defaults.md)). One that is down or does not answer is judged by"
        " what ZooKeeper has.",
        "Where a finding depends on what only brokers know (hosts that they find, feature levels that they support), it"
        " is a warning in both.",
        table(head, rows),
    ]
    return "\n\n".join(parts) + "\n"


def _hits(one: Ending) -> str:
    return ", ".join(_TITLES[victim] for victim in Victim if victim in one.victims)
