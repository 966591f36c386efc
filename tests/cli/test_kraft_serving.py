"""kr-9: what a server in front of KRaft says of its settings before it starts."""

import pytest

from kafka_reassign_rpc.cli.kraft_serving import lost_secrecy
from kafka_reassign_rpc.core.state.broker import Endpoint


@pytest.mark.parametrize(
    ("own", "brokers", "said"),
    [
        ("SASL_PLAINTEXT", "SASL_SSL", "passwords of PLAIN logins among it, and act as they. SASL_SSL prevents that"),
        ("PLAINTEXT", "SSL", "what clients send to this server, and act as they. SSL prevents that"),
        ("SASL_SSL", "SASL_SSL", None),
        ("SASL_PLAINTEXT", "SASL_PLAINTEXT", None),
        ("SASL_SSL", "SASL_PLAINTEXT", None),
    ],
)
def test_kr_9_a_listener_that_shows_what_the_brokers_hide_is_said_with_its_consequence(
    own: str, brokers: str, said: str | None
) -> None:
    found = lost_secrecy(Endpoint("FRONT", own, "0.0.0.0", 9192), brokers)
    assert (found is None) == (said is None)
    assert said is None or (found is not None and found.endswith(said) and f"FRONT speaks {own}" in found)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_kr_9_what_does_not_leave_the_machine_needs_no_tls(host: str) -> None:
    assert lost_secrecy(Endpoint("FRONT", "SASL_PLAINTEXT", host, 9192), "SASL_SSL") is None
