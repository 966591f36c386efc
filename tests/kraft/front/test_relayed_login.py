"""kr-9: the name in a login that is handed on."""

from kafka_reassign_rpc.kraft.front.caller_link import RelayedLogin, name_shown
from kafka_reassign_rpc.security.authenticator import Step
from tests.tables import for_each

LOGINS = [
    ("PLAIN", b"\0alice\0secret", "alice"),
    ("PLAIN", b"alice\0alice\0secret", "alice"),
    ("PLAIN", b"alice", ""),
    ("PLAIN", b"\0\xff\0secret", ""),
    ("SCRAM-SHA-256", b"n,,n=a=2Cb,r=abc", "a,b"),
    ("SCRAM-SHA-512", b"n,,n=token,r=abc,tokenauth=true", ""),
    ("SCRAM-SHA-512", b"garbage", ""),
    ("OAUTHBEARER", b"n,,\x01auth=Bearer x\x01\x01", ""),
    ("", b"", ""),
]


@for_each("login", LOGINS)
def test_kr_9_a_login_shows_the_name_of_its_user_where_it_has_one(login: tuple[str, bytes, str]) -> None:
    mechanism, token, name = login
    assert name_shown(mechanism, token) == name


async def test_kr_9_a_login_may_begin_with_api_versions_of_a_version_that_is_not_read_here() -> None:
    answer = b"\0\0\0\4\0\0\0\1"

    async def relay(_frame: bytes) -> list[bytes]:
        return [answer]

    newest = b"\0\x12\0\x63\0\0\0\1\xff\xff\0"
    assert await RelayedLogin(relay).receive(newest) == Step(answer)
