"""The properties of clients: what is taken, what is refused, and that no secret shows."""

import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from kafka_reassign_rpc.client import client_configs, load_properties
from kafka_reassign_rpc.security.login.sasl_login import TokenSource, client_security
from kafka_reassign_rpc.security.login.sasl_mechanisms import LoginFailed, next_token
from kafka_reassign_rpc.security.properties import BadSetting
from tests.certificates import Authority
from tests.tables import for_each

SECRET = "h,u=sh"
JAAS = f'org.apache.kafka.common.security.scram.ScramLoginModule required username="a,b=c" password="{SECRET}";'
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "


def properties(mechanism: str, jaas: str = JAAS, **more: str) -> dict[str, str]:
    found = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
    return {**found, **{name.replace("_", "."): value for name, value in more.items()}}


def token(expires: float) -> str:
    claims = urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode().rstrip("=")
    return f"e30.{claims}.c2lnbmF0dXJl"


def test_sv_5_names_are_escaped_for_scram_and_not_for_plain() -> None:
    of_scram, of_plain = (client_security(properties(name)).login for name in ("SCRAM-SHA-256", "PLAIN"))
    assert of_scram is not None
    assert of_plain is not None
    assert (next_token(of_scram.exchange("broker")) or b"").startswith(b"n,,n=a=2Cb=3Dc,r=")
    assert next_token(of_plain.exchange("broker")) == b"a,b=c\0a,b=c\0" + SECRET.encode()
    assert client_configs("a:1", properties("SCRAM-SHA-256"))["sasl_plain_username"] == "a,b=c"
    assert client_configs("a:1", properties("PLAIN"))["sasl_plain_password"] == SECRET


def test_sv_5_stores_of_every_kind_are_taken(tmp_path: Path) -> None:
    ca = Authority("CN=ca")
    values = {
        "security.protocol": "SSL",
        **ca.issue().pkcs12_keystore(tmp_path / "own.p12"),
        **ca.pem_truststore(tmp_path / "ca"),
    }
    path = tmp_path / "client.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
    found = client_configs("a:1", load_properties(str(path)))
    assert found["ssl_check_hostname"] is True
    assert [one["subject"] for one in found["ssl_context"].get_ca_certs()] == [((("commonName", "ca"),),)]


@for_each(
    ("values", "text"),
    [
        (properties("GSSAPI", sasl_kerberos_service_name="kafka"), "sasl.jaas.config: GSSAPI needs a Krb5LoginModule"),
        (properties("MD5"), "the SASL mechanism [hidden] is not one of PLAIN"),
        (properties("PLAIN", JAAS[:-10]), "sasl.jaas.config is no login configuration"),
        (properties("PLAIN", ""), "sasl.jaas.config is no login configuration: it lacks the class of a login module"),
        (properties("SCRAM-SHA-256", JAAS.replace(";", " tokenauth=true;")), "sasl.jaas.config: tokenauth: "),
        (properties("OAUTHBEARER", f"{OAUTH};"), "sasl.oauthbearer.token.endpoint.url: OAUTHBEARER needs the URL"),
        (
            properties("OAUTHBEARER", f"{OAUTH};", sasl_oauthbearer_token_endpoint_url=f"https://a:{SECRET}@b/"),
            "sasl.oauthbearer.token.endpoint.url: expected a URL",
        ),
        (
            properties("OAUTHBEARER", f"{OAUTH};", sasl_oauthbearer_token_endpoint_url="https://b/"),
            "sasl.oauthbearer.token.endpoint.url: a token endpoint needs clientId and clientSecret",
        ),
    ],
)
def test_sv_5_a_property_that_cannot_be_used_is_named_without_secrets(values: dict[str, str], text: str) -> None:
    with pytest.raises(BadSetting) as refused:
        client_configs("a:1", values)
    assert str(refused.value).startswith(text)
    assert SECRET not in str(refused.value)


def test_sv_5_a_login_shows_no_secret() -> None:
    found = client_security(properties("PLAIN"))
    assert SECRET not in repr(found) + str(found) + repr(found.login)


class Endpoint(BaseHTTPRequestHandler):
    """A token endpoint. `asked`: the requests; `answers`: status and body of each, the last one again and again."""

    asked: list[tuple[str, str, str]]
    answers: list[tuple[int, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.asked.append((self.path, self.headers["Authorization"], body))
        status, answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.send_response(status)
        self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def endpoint() -> Iterator[HTTPServer]:
    Endpoint.asked, Endpoint.answers = [], []
    with HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def provider(endpoint: HTTPServer) -> Any:
    url = f"http://127.0.0.1:{endpoint.server_port}/token?a=b"
    jaas = f'{OAUTH} clientId="me" clientSecret="{SECRET}" scope="s t" extension_x="y";'
    found = client_configs("a:1", properties("OAUTHBEARER", jaas, sasl_oauthbearer_token_endpoint_url=url))
    return found["sasl_oauth_token_provider"]


def test_sv_5_a_token_comes_from_an_endpoint_and_is_kept_until_most_of_its_life_is_over(endpoint: HTTPServer) -> None:
    first, second = token(time.time() - 1), token(time.time() + 3600)
    Endpoint.answers = [(200, json.dumps({"access_token": text}).encode()) for text in (first, second)]
    found = provider(endpoint)
    assert [found.token() for _ in range(4)] == [first, second, second, second]
    assert Endpoint.asked == [("/token?a=b", "Basic bWU6aCx1PXNo", "grant_type=client_credentials&scope=s+t")] * 2
    assert found.extensions() == {"x": "y"}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((302, b""), "status 302"), ((401, b"no h,u=sh"), "status 401"), ((200, b"{}"), "has no access_token"),
        ((200, b"["), "has no access_token"), ((200, b'{"access_token": 5}'), "has no access_token"),
        ((200, b'{"access_token": "a b"}'), "there is no token at"),
        ((200, b'{"access_token": "abc"}'), "no JWT with the claim exp"),
        ((200, b'{"access_token": "a.e30.c"}'), "no JWT with the claim exp"),
    ],
)  # fmt: skip
def test_sv_5_an_endpoint_without_a_token_is_said_without_secrets(
    endpoint: HTTPServer, answer: tuple[int, bytes], why: str
) -> None:
    Endpoint.answers = [answer]
    with pytest.raises(LoginFailed, match=why) as refused:
        provider(endpoint).token()
    assert SECRET not in str(refused.value)
    assert "a=b" not in str(refused.value)
    assert len(Endpoint.asked) == 1


def test_sv_5_a_token_may_be_in_a_file_and_is_read_again_in_time(tmp_path: Path) -> None:
    path = tmp_path / "the token"
    values = properties("OAUTHBEARER", f"{OAUTH};", sasl_oauthbearer_token_endpoint_url=path.as_uri())
    found = client_configs("a:1", values)["sasl_oauth_token_provider"]
    with pytest.raises(LoginFailed, match=f"cannot read {path}"):
        found.token()
    old, new = token(time.time() - 1), token(time.time() + 100)
    for text in (old, new):
        path.write_text(text + "\n")
        assert found.token() == text
    path.write_text(old)
    assert found.token() == new


def test_sv_5_a_new_token_is_fetched_after_four_fifths_of_a_life() -> None:
    now = [1000.0]
    source = TokenSource(lambda: token(now[0] + 100), {}, lambda: now[0])
    seen = []
    for now[0] in (1000.0, 1079.0, 1081.0):
        seen.append(source.token())
    assert seen == [token(1100.0), token(1100.0), token(1181.0)]
