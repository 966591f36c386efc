"""hm-7: what a message may repeat."""

import pytest

from kafka_reassign_rpc.support.secrecy import (
    HIDDEN,
    NAMELESS,
    told,
    told_class,
    told_name,
    told_option,
    told_path,
    told_words,
)


@pytest.mark.parametrize("value", [5, -1, True, None, "", " ", "0", "-12", "50MB", "20s", "1.5", "1k", "100%"])
def test_hm_7_numbers_sizes_and_blanks_are_repeated(value: object) -> None:
    assert told(value) == repr(value)


@pytest.mark.parametrize(
    "value", ["hunter2", "12345678", "true", ["a"], {"a": 1}, b"x", "1234a", 10**40, "\uff11\uff12"]
)
def test_hm_7_any_other_value_is_hidden(value: object) -> None:
    assert told(value) == HIDDEN


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("listener.name.mtls.ssl.client.aut", "listener.name.mtls.ssl.client.aut"),
        (
            "listener.name.INTERNAL.scram-sha-256.sasl.jaas.config",
            "listener.name.INTERNAL.scram-sha-256.sasl.jaas.config",
        ),
        ("ssl.keystore.password", "ssl.keystore.password"),
        ("zookeeper.clientCnxnSocket", "zookeeper.clientCnxnSocket"),
        ("ssl.keystore.passwordhunter", "ssl.keystore.password…"),
        ("ssl.keystore.password.hunter", "ssl.keystore.password…"),
        ("sasl.jaas.hunter", "sasl.jaas…"),
        ("ssl.hunter2.auth", "ssl.….auth"),
        ("hunter", NAMELESS),
        ("correct.horse.battery", NAMELESS),
        ("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj", NAMELESS),
        ("abc/def.ssl", NAMELESS),
        ("ssl.\uff4bey", NAMELESS),
        ("ssl.a\nb", NAMELESS),
        ("ssl." * 60, NAMELESS),
    ],
)
def test_hm_7_a_name_is_repeated_where_it_looks_like_one(name: str, shown: str) -> None:
    assert told_name(name) == shown


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("--password=hunter", "--password"),
        ("--ssl-key-password-hunter", "--ssl-key-password…"),
        ("--passwordhunter", "--password…"),
        ("-p", "-p"),
        ("-----BEGIN PRIVATE KEY-----", HIDDEN),
        ("--hunter2", HIDDEN),
        ("--a\nb", HIDDEN),
    ],
)
def test_hm_7_an_option_is_repeated_without_its_value(word: str, shown: str) -> None:
    assert told_option(word) == shown


def test_hm_7_what_follows_an_option_that_speaks_of_a_secret_is_hidden_whatever_it_is() -> None:
    assert told_words(["--password", "1234", "--throttle", "5", "x"]) == f"--password {HIDDEN} --throttle 5 {HIDDEN}"


def test_hm_7_paths_and_classes_are_repeated(tmp_path: object) -> None:
    for path in (f"{tmp_path}/none", "/etc/kafka/no such", "/etc/nowhere/secret", "s3://bucket/plans/1"):
        assert told_path(path) == (path if path != "/etc/kafka/no such" else HIDDEN)
    for word in ("hunter2", "abc/hunter2", "/hunter2;", "a\0b", "x" * 5000, "s3://key:secret@bucket/x"):
        assert told_path(word) == HIDDEN
    assert told_class("org.acme.Login") == "org.acme.Login"
    assert told_class("hunter2") == HIDDEN
