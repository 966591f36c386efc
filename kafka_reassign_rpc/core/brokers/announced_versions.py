"""Which API versions a server announces to clients (ApiVersions).

A client may use the versions of one node at any other: kafka-python asks only its bootstrap node, and a stock broker
closes the connection on a version that it does not know. So a server announces no more than the brokers do.
"""

from collections.abc import Container, Iterable, Mapping

Versions = Mapping[int, tuple[int, int]]
"""API key -> lowest and highest version."""


def announced_versions(own: Versions, brokers: Iterable[Versions], sent_to_us: Container[int]) -> Versions:
    """The versions of `own` that each broker knows too, without APIs that have none in common.

    sent_to_us   APIs that clients send only to servers of this product: they stay as they are
    """
    found = dict(own)
    for broker in brokers:
        for key, (low, high) in list(found.items()):
            if key in sent_to_us:
                continue
            of_broker = broker.get(key)
            if of_broker is None or max(low, of_broker[0]) > min(high, of_broker[1]):
                del found[key]
            else:
                found[key] = max(low, of_broker[0]), min(high, of_broker[1])
    return found
