"""What a server announces in ApiVersions, from its own versions and those of the live brokers."""

from kafka_reassign_rpc.core.brokers.announced_versions import Versions, announced_versions
from tests.tables import for_each

OWN: Versions = {1: (0, 13), 2: (2, 5), 3: (0, 1), 9: (0, 4)}


@for_each(
    ("brokers", "announced"),
    [
        ([], OWN),
        ([OWN, OWN], OWN),
        ([{1: (0, 12), 2: (2, 5), 3: (0, 1)}], {1: (0, 12), 2: (2, 5), 3: (0, 1), 9: (0, 4)}),
        ([{1: (0, 99), 2: (0, 99), 3: (0, 99), 4: (0, 7)}], OWN),
        ([{1: (0, 12), 2: (3, 9)}, {1: (1, 11), 2: (0, 4), 3: (0, 1)}], {1: (1, 11), 2: (3, 4), 9: (0, 4)}),
        ([{1: (0, 12), 2: (6, 9)}], {1: (0, 12), 9: (0, 4)}),
        ([{1: (0, 4), 3: (0, 1)}, {1: (5, 13), 3: (0, 1)}], {3: (0, 1), 9: (0, 4)}),
        ([{}], {9: (0, 4)}),
    ],
    ids=[
        "no brokers",
        "brokers like us",
        "one highest version is lower",
        "brokers that know more",
        "the least of several, and the highest minimum",
        "no common version, and an API that it lacks",
        "two brokers without a common version",
        "a broker that knows nothing",
    ],
)  # fmt: skip
def test_sv_9_clients_are_promised_what_every_broker_knows_and_in_full_what_only_servers_get(
    brokers: list[Versions], announced: Versions
) -> None:
    assert announced_versions(OWN, brokers, {9}) == announced
    assert list(announced_versions(OWN, brokers, {9})) == list(announced), "in the order of the keys"
