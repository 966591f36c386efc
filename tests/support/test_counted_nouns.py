"""No text says 1 partitions."""

import re
from pathlib import Path

import kafka_reassign_rpc

NOUNS = "brokers|connections|moves|partitions|replicas|servers|topics|znodes"
MANY = re.compile(rf"[^{{}}\w](?:%d|\{{(?!counted|agreeing|some_brokers)[^{{}}]*\}}) (?:more )?(?:{NOUNS})\b")
"""A value and a noun in the plural, not of a constant."""
RIGHT = {
    "core/healing/self_healing_status.py": "one has its own text",
    "pipeline/submission/batch_changes.py": "one has its own text",
    "pipeline/submission/stop_conditions.py": "one has its own text",
    "preflight/znode_findings.py": "one has its own text",
    "pipeline/plans/why_not_better.py": "one has its own text, and `moves` is a verb",
    "core/status/problems.py": "not of one",
    "core/topics/topic_changes.py": "Kafka's words; a number that is too large",
    "core/healing/failed_brokers.py": "the noun is of all brokers, of which one lives and one does not",
    "preflight/znode_rights.py": "a server does more than one thing",
    "cli/kraft_serving.py": "a field of a line for programs",
    "pipeline/planning/plan_job.py": "whose, not how many",
}


def test_sv_11_a_number_with_a_noun_agrees_with_it() -> None:
    package = Path(kafka_reassign_rpc.__file__).parent
    found = {
        str(path.relative_to(package)): [
            one for one in MANY.findall(path.read_text()) if not re.search(r"[A-Z]{4}", one)
        ]
        for path in package.rglob("*.py")
    }
    wrong = {path: lines for path, lines in found.items() if lines and path not in RIGHT}
    assert not wrong, "`support.counted` says 1 partition and 2 partitions; or say in RIGHT why it is right"
    assert RIGHT.keys() == {path for path, lines in found.items() if lines} - wrong.keys()
