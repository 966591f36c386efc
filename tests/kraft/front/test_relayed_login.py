"""kr-9: the name in a login that is handed on."""

from kafka_reassign_rpc.kraft.front.relayed_login import name_shown
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
