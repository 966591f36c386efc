"""Controller mutation quotas (KIP-599): how many partitions a user or client may create and delete per second.

A token bucket holds at most `BURST_S` seconds of the rate and begins full. It may fall below zero once; then nothing
more is accepted until it is back at zero. Source: ControllerMutationQuotaManager, TokenBucket,
ClientQuotaManager.DefaultQuotaCallback (Kafka 3.9).
"""

from collections import OrderedDict
from collections.abc import Mapping

from kafka_reassign_rpc.core.config_values import INT32
from kafka_reassign_rpc.core.kafka_errors import ThrottlingQuotaExceeded
from kafka_reassign_rpc.core.quotas.client_quotas import CLIENT_ID, USER, QuotaEntity, can_be_a_name, quotas_of

RATE = "controller_mutation_rate"
BURST_S = 11.0
"""Kafka's defaults: controller.quota.window.num times controller.quota.window.size.seconds."""
MOST_BUCKETS = 10_000
"""Buckets in memory. The one that was used least recently goes first; it comes back full."""

BucketKey = tuple[str | None, str | None]
"""(user, client id): who shares a bucket. None: all."""


def entities(user: str, client_id: str) -> list[tuple[QuotaEntity, BucketKey]]:
    """The entities whose quota may hold for a client, with the key of the bucket; the first takes precedence.

    No entity has a name that no znode can have.
    """
    pair: BucketKey = (user, client_id)
    found: list[tuple[QuotaEntity, BucketKey]] = [
        (((USER, user), (CLIENT_ID, client_id)), pair),
        (((USER, user), (CLIENT_ID, None)), pair),
        (((USER, user),), (user, None)),
        (((USER, None), (CLIENT_ID, client_id)), pair),
        (((USER, None), (CLIENT_ID, None)), pair),
        (((USER, None),), (user, None)),
        (((CLIENT_ID, client_id),), (None, client_id)),
        (((CLIENT_ID, None),), (None, client_id)),
    ]
    return [(entity, key) for entity, key in found if all(name is None or can_be_a_name(name) for _, name in entity)]


class TokenBucket:
    """Tokens for mutations. Times in seconds, of any clock that never goes back."""

    def __init__(self, now: float) -> None:
        self._tokens = float("inf")
        self._updated = now

    def fill(self, rate: float, now: float) -> None:
        """Add what has come since the last time, at `rate` tokens per second."""
        self._tokens = min(rate * BURST_S, self._tokens + rate * (now - self._updated))
        self._updated = now

    def take(self, tokens: int) -> None:
        self._tokens -= tokens

    def missing(self) -> float:
        """How many tokens must come before the next is given."""
        return max(0.0, -self._tokens)


class MutationQuota:
    """The quota of one request. Without a bucket there is none.

    strict  whether a mutation beyond the quota is refused; otherwise it is counted, and the client is asked to wait
    """

    def __init__(self, bucket: TokenBucket | None, rate: float, *, strict: bool) -> None:
        self._bucket = bucket
        self._rate = rate
        self._strict = strict

    def record(self, partitions: int) -> None:
        """Partitions are about to be created or deleted. Raises ThrottlingQuotaExceeded."""
        if self._bucket is None:
            return
        if self._strict and self._bucket.missing():
            raise ThrottlingQuotaExceeded
        self._bucket.take(partitions)

    def give_back(self, partitions: int) -> None:
        """They were not, for another reason."""
        if self._bucket is not None:
            self._bucket.take(-partitions)

    def throttle_time_ms(self, *, refused: bool) -> int:
        """How long the client should wait: where a mutation was refused, and where this quota is not strict."""
        if self._bucket is None or (self._strict and not refused):
            return 0
        missing = self._bucket.missing()
        return min(round(missing / self._rate * 1000), INT32) if self._rate > 0 else INT32 if missing else 0


UNLIMITED = MutationQuota(None, 0.0, strict=False)


class MutationQuotas:
    """The buckets of all clients."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[BucketKey, TokenBucket] = OrderedDict()

    def of_request(
        self, found: Mapping[QuotaEntity, Mapping[str, str]], user: str, client_id: str, now: float, *, strict: bool
    ) -> MutationQuota:
        """The quota of a request of this client. `found`: the configs of `entities`, as far as they exist."""
        for entity, key in entities(user, client_id):
            rate = quotas_of(entity, found.get(entity, {})).get(RATE)
            if rate is not None:
                bucket = self._buckets.setdefault(key, TokenBucket(now))
                self._buckets.move_to_end(key)
                if len(self._buckets) > MOST_BUCKETS:
                    self._buckets.popitem(last=False)
                bucket.fill(rate, now)
                return MutationQuota(bucket, rate, strict=strict)
        return UNLIMITED
