"""How long the check of a secret takes says nothing about the secret, nor whether there is such a user."""

import ast
import hashlib
import hmac
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import kafka_reassign_rpc
from kafka_reassign_rpc.security.sasl.hashed_users import HashedUsers
from tests.security.sasl_steps import CREDENTIALS, Exchange

PACKAGE = Path(kafka_reassign_rpc.__file__).parent
SECRET = re.compile(r"password|digest|secret|proof|stored_key|signature")

Compared = list[tuple[int, int]]
"""The lengths of what was compared in constant time."""


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Compared:
    found: Compared = []
    really = hmac.compare_digest

    def compare_digest(one: bytes, other: bytes) -> bool:
        found.append((len(one), len(other)))
        return really(one, other)

    monkeypatch.setattr(hmac, "compare_digest", compare_digest)
    return found


@pytest.mark.parametrize(
    ("user", "password"), [("alice", "alice-secret"), ("alice", "a"), ("alice", "x" * 1000), ("nobody", "alice-secret")]
)
def test_sv_5_plain_compares_digests_of_one_length_for_every_user(user: str, password: str, compared: Compared) -> None:
    Exchange().log_in("PLAIN", user, password)
    assert compared == [(32, 32)]


@pytest.mark.parametrize(("mechanism", "length"), [("SCRAM-SHA-256", 32), ("SCRAM-SHA-512", 64)])
@pytest.mark.parametrize("password", ["alice-secret", "alice-wrong"])
def test_sv_5_scram_compares_the_key_in_constant_time(
    mechanism: str, length: int, password: str, compared: Compared
) -> None:
    Exchange().log_in(mechanism, "alice", password)
    assert (length, length) in compared


Hashed = list[tuple[str, int]]
"""The hash and the iterations of each password that was checked."""


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> Hashed:
    found: Hashed = []
    really = hashlib.pbkdf2_hmac

    def pbkdf2_hmac(name: str, password: bytes, salt: bytes, iterations: int) -> bytes:
        found.append((name, iterations))
        return really(name, password, salt, iterations)

    monkeypatch.setattr(hashlib, "pbkdf2_hmac", pbkdf2_hmac)
    return found


async def test_sv_5_a_hashed_password_costs_the_same_for_an_unknown_user(compared: Compared, hashed: Hashed) -> None:
    known = {user: one for user, one in CREDENTIALS["SCRAM-SHA-512"].items() if user == "alice"}
    with closing(HashedUsers(known)) as users:
        for user, password in (("alice", "wrong"), ("nobody", "wrong"), ("alice", "alice-secret")):
            assert await users.verify(user, password, "127.0.0.1") is (password == "alice-secret")
    assert hashed == [("sha512", 4096)] * 3
    assert compared == [(64, 64)] * 3


async def test_sv_5_an_unknown_user_costs_what_some_user_does_where_users_cost_differently(hashed: Hashed) -> None:
    """Each name always costs the same: asking twice shows nothing."""
    bob = CREDENTIALS["SCRAM-SHA-256"]["bob"]._replace(iterations=5000)
    with closing(HashedUsers({"alice": CREDENTIALS["SCRAM-SHA-512"]["alice"], "bob": bob})) as users:
        for number in range(40):
            assert not await users.verify(f"nobody {number // 2}", "wrong", "127.0.0.1")
    assert set(hashed) == {("sha512", 4096), ("sha256", 5000)}
    assert hashed[::2] == hashed[1::2]


def test_sv_5_no_secret_is_compared_in_another_way() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{compare.lineno} {ast.unparse(compare)}"
        for folder in ("security", "server")
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        for compare in _comparisons(ast.parse(path.read_text()))
        if SECRET.search(ast.unparse(compare))
    ]
    assert not found


def _comparisons(tree: ast.Module) -> Iterator[ast.Compare]:
    """Those by == and != with anything but a constant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(isinstance(how, ast.Eq | ast.NotEq) for how in node.ops):
            sides = [node.left, *node.comparators]
            if not any(isinstance(side, ast.Constant) for side in sides):
                yield node
