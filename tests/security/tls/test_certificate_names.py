"""kr-9: the names for which clients take a certificate."""

from kafka_reassign_rpc.security.tls.certificate_names import dns_names, has_name
from tests.certificates import Authority
from tests.tables import for_each

CA = Authority("CN=ca")


@for_each(
    "hosts, name, wanted",
    [
        (("kafka.example.com", "*.kafka.example.com"), "broker-1.kafka.example.com", True),
        (("*.kafka.example.com",), "BROKER-1.Kafka.example.com", True),
        (("*.Kafka.example.com",), "broker-1.kafka.example.com", True),
        (("broker-1.kafka.example.com",), "broker-1.kafka.example.com", True),
        (("broker-1.kafka.example.com",), "broker-2.kafka.example.com", False),
        (("kafka.example.com",), "broker-1.kafka.example.com", False),
        (("*.example.com",), "broker-1.kafka.example.com", False),
        (("broker-*.kafka.example.com",), "broker-1.kafka.example.com", False),
        (("127.0.0.1", "front"), "broker-1.front", False),
    ],
)
def test_kr_9_a_certificate_is_taken_for_its_names_and_for_one_label_in_place_of_a_wildcard(
    hosts: tuple[str, ...], name: str, *, wanted: bool
) -> None:
    assert has_name(dns_names(CA.issue("CN=*.other.com", hosts=hosts).der), name) is wanted


def test_kr_9_the_common_name_counts_where_there_is_no_dns_name() -> None:
    assert dns_names(CA.issue("CN=*.front", hosts=("127.0.0.1",)).der) == {"*.front"}
