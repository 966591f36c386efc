"""The same random ACLs and requests, decided by Kafka's own class AclAuthorizer in a JVM."""

import subprocess
from pathlib import Path

import pytest

from kafka_reassign_rpc.core.acls.acl_authorizer import AclAuthorizer
from tests.core.acls.random_acls import Case, authorizer_of, random_case
from tests.effort import in_all
from tests.jvm import QUICK
from tests.stock.jars import classpath

pytestmark = pytest.mark.gate
CASES = in_all(3000, elsewhere=1000)


def asked(case: Case) -> list[str]:
    """The lines that make Kafka's authorizer, and ask it."""
    lines = [f"new\t{';'.join(case.supers)}\t{str(case.everyone).lower()}"]
    for (kind, name, pattern), (principal, host, operation, permission) in case.acls:
        named = kind.name, name, pattern.name, principal, host, operation.name, permission.name
        lines.append("\t".join(("acl", *named)))
    for principal, host, operation, kind, name in case.requests:
        lines.append("\t".join(("ask", principal, host, operation.name, kind.name, name)))
        lines.append("\t".join(("any", principal, host, operation.name, kind.name)))
    return lines


def ours(case: Case, authorizer: AclAuthorizer) -> str:
    answers = []
    for principal, host, operation, kind, name in case.requests:
        answers.append(authorizer.authorize(principal, host, operation, kind, name))
        answers.append(authorizer.authorize_by_resource_type(principal, host, operation, kind))
    return "".join("01"[one] for one in answers)


def test_sv_5_random_acls_are_decided_as_kafkas_own_class_decides(tmp_path: Path) -> None:
    source = Path(__file__).with_name("Authorize.java")
    path = classpath("3.9.1")
    subprocess.run(["javac", "--release", "17", "-cp", path, "-d", str(tmp_path), str(source)], check=True)
    cases = [random_case(1_000_000 + seed) for seed in range(CASES)]
    lines = [line for case in cases for line in asked(case)]
    answer = subprocess.run(
        ["java", *QUICK, "-Dlog4j.configuration=none", "-cp", f"{tmp_path}:{path}", "Authorize"],
        input="\n".join(lines).encode(),
        capture_output=True,
        check=True,
    ).stdout.decode()
    assert len(answer) == 2 * sum(len(case.requests) for case in cases)
    at = 0
    for case in cases:
        mine = ours(case, authorizer_of(case))
        assert mine == answer[at : at + len(mine)], case
        at += len(mine)
    assert 0.05 < answer.count("1") / len(answer) < 0.95
