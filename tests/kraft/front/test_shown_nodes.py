"""kr-9: how clients of the front see the brokers, and which one they mean."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.kraft.front.answer_patches import Beside, EachHere, FrontNodes, named_broker, shown
from kafka_reassign_rpc.support.host_port import Address
from tests.tables import for_each

FRONT = Address("kafka.example.com", 9_192)


def test_kr_9_each_broker_has_a_place_of_the_server_that_shows_it() -> None:
    assert shown(FrontNodes.BESIDE, 1_000, FRONT, [1]) == Beside(1_000, FRONT)
    assert shown(FrontNodes.PORTS, 1_000, FRONT, [0, 7]) == EachHere(
        {0: Address("kafka.example.com", 9_193), 7: Address("kafka.example.com", 9_200)}
    )
    assert shown(FrontNodes.NAMES, 1_000, FRONT, [0, 7]) == EachHere(
        {0: Address("broker-0.kafka.example.com", 9_192), 7: Address("broker-7.kafka.example.com", 9_192)}
    )


@given(st.integers(0, 2**31 - 1))
def test_kr_9_a_client_means_the_broker_whose_name_it_asks_for(broker: int) -> None:
    found = shown(FrontNodes.NAMES, 1_000, FRONT, [broker])
    assert isinstance(found, EachHere)
    assert named_broker(found.places[broker].host, FRONT.host) == broker
    assert named_broker(found.places[broker].host.upper(), FRONT.host) == broker


@for_each(
    "name",
    [
        *(None, "", FRONT.host, "broker-.kafka.example.com", "broker--1.kafka.example.com"),
        *("broker-1.kafkaxexample.com", "a.broker-1.kafka.example.com", "broker-1.kafka.example.com."),
        *("broker-1.kafka.example.com\n", "broker-\u0661.kafka.example.com", f"broker-{10**10}.kafka.example.com"),
    ],
)
def test_kr_9_any_other_name_means_the_front_as_a_whole(name: str | None) -> None:
    assert named_broker(name, FRONT.host) is None
