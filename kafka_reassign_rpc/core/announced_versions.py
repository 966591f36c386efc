"""Which API versions a server announces to clients (ApiVersions).

A client that learns versions from one node may use them at any other: kafka-python asks the node that it bootstraps
from, and a stock broker closes the connection on a version that it does not know. So a server that is newer than the
brokers announces no more than they do. What clients send to the controller alone is the controller's own affair.
"""

from collections.abc import Container, Iterable, Mapping

Versions = Mapping[int, tuple[int, int]]
"""The lowest and the highest version by API key."""


def announced_versions(own: Versions, brokers: Iterable[Versions], sent_to_us: Container[int]) -> Versions:
    """The versions of `own` that each of `brokers` knows too, in the order of `own`.

    An API that some broker lacks is left out, and so is one without a version that all know. The keys in `sent_to_us`
    stay as they are: clients send these requests to servers like this one only.
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
