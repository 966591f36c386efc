"""Controller mutation quotas: whose quota holds, and what a token bucket gives."""

from contextlib import suppress

import pytest

from kafka_reassign_rpc.core.kafka_errors import ThrottlingQuotaExceeded
from kafka_reassign_rpc.core.quotas.client_quotas import CLIENT_ID, USER, QuotaEntity, QuotaTable, entities
from kafka_reassign_rpc.core.quotas.mutation_quotas import MOST_BUCKETS, RATE, MutationQuota, MutationQuotas
from kafka_reassign_rpc.core.quotas.windowed_rate import QuotaWindows

ORDER: list[QuotaEntity] = [
    ((USER, "u"), (CLIENT_ID, "c")),
    ((USER, "u"), (CLIENT_ID, None)),
    ((USER, "u"),),
    ((USER, None), (CLIENT_ID, "c")),
    ((USER, None), (CLIENT_ID, None)),
    ((USER, None),),
    ((CLIENT_ID, "c"),),
    ((CLIENT_ID, None),),
]
"""As Kafka's documentation of quotas lists them, the one that takes precedence first."""


WINDOWS = QuotaWindows()


class Quotas:
    """Quotas, and the table that sets them."""

    def __init__(self, windows: QuotaWindows = WINDOWS) -> None:
        self.table = QuotaTable()
        self.now = 0.0
        self.used = MutationQuotas(self.table, windows, lambda: self.now)

    def of_request(self, user: str = "u", client: str = "c", *, strict: bool = True) -> MutationQuota:
        return self.used.of_request(user, client, strict=strict)

    def waits(self, user: str = "u", client: str = "c") -> int:
        """How long a strict request waits that changes one more partition, in ms."""
        one = self.of_request(user, client)
        with suppress(ThrottlingQuotaExceeded):
            one.record(1)
        return one.throttle_time_ms()


def quota(
    quotas: Quotas,
    entity: QuotaEntity,
    rate: str,
    now: float,
    *,
    client: str = "c",
    user: str = "u",
    strict: bool = True,
) -> MutationQuota:
    """That of a request, where this entity alone has a quota."""
    quotas.now = now
    quotas.table.keep_only([entity])
    quotas.table.put(entity, {RATE: rate})
    return quotas.of_request(user, client, strict=strict)


def test_sv_5_the_quota_of_the_most_specific_entity_holds() -> None:
    for index in range(len(ORDER)):
        quotas = Quotas()
        for at, entity in enumerate(ORDER[index:], index):
            quotas.table.put(entity, {RATE: str(at + 1)})
        quotas.of_request().record(11 * (index + 1) + 1)  # one more than the bucket holds
        assert quotas.waits() == round(1000 / (index + 1)), ORDER[index]
    assert Quotas().waits() == 0


@pytest.mark.parametrize(
    ("entity", "shared_by_clients", "shared_by_users"),
    [(ORDER[0], False, False), (ORDER[2], True, False), (ORDER[5], True, False), (ORDER[7], False, True)],
)
def test_sv_5_the_entity_says_which_clients_share_a_bucket(
    entity: QuotaEntity, shared_by_clients: bool, shared_by_users: bool
) -> None:
    quotas = Quotas()

    def left(user: str, client: str) -> MutationQuota:
        names = {USER: user, CLIENT_ID: client}
        theirs = tuple((kind, None if name is None else names[kind]) for kind, name in entity)
        return quota(quotas, theirs, "1", 0.0, user=user, client=client)

    left("u", "c").record(100)
    left("u", "other")
    assert bool(quotas.waits("u", "other")) == shared_by_clients
    left("other", "c")
    assert bool(quotas.waits("other", "c")) == shared_by_users


def test_sv_6_names_that_no_znode_can_have_are_looked_for_nowhere() -> None:
    for client in ("", ".", "..", "x" * 1025):
        names = {name for entity, _ in entities("u", client) for _, name in entity}
        assert names == {"u", None}


def test_sv_5_a_strict_quota_gives_a_burst_of_eleven_seconds_once_and_then_the_rate() -> None:
    quotas = Quotas()
    quota(quotas, ORDER[7], "2", 100.0).record(22)
    last = quota(quotas, ORDER[7], "2", 100.0)
    last.record(6)  # at zero nothing is missing yet
    assert last.throttle_time_ms() == 0, "nothing was refused"
    spent = quota(quotas, ORDER[7], "2", 101.0)
    with pytest.raises(ThrottlingQuotaExceeded):
        spent.record(1)
    assert spent.throttle_time_ms() == 2000
    quotas.now = 102.5
    assert spent.throttle_time_ms() == 500, "the request has taken a time of its own"
    quota(quotas, ORDER[7], "2", 103.0).record(1)
    quota(quotas, ORDER[7], "2", 1000.0).record(23)
    assert quotas.waits() == 500, "no more than a burst is kept"


def test_sv_5_a_request_that_takes_time_has_the_tokens_that_come_meanwhile() -> None:
    quotas = Quotas()
    one = quota(quotas, ORDER[7], "1", 0.0)
    one.record(13)
    with pytest.raises(ThrottlingQuotaExceeded):
        one.record(1)
    quotas.now = 2.0
    one.record(1)


def test_sv_5_a_burst_is_that_of_all_windows_as_they_are_set() -> None:
    quotas = Quotas(QuotaWindows(number=3, size_ms=2000))
    quota(quotas, ORDER[7], "5", 0.0).record(30 + 5)
    assert quotas.waits() == 1000
    quota(quotas, ORDER[7], "5", 1000.0).record(30 + 10)
    assert quotas.waits() == 2000


def test_sv_5_a_quota_that_is_removed_no_longer_holds() -> None:
    quotas = Quotas()
    quota(quotas, ORDER[7], "1", 0.0).record(100)
    assert quotas.waits() > 0
    quotas.table.put(ORDER[7], {})
    assert quotas.waits() == 0


def test_sv_5_a_quota_that_is_not_strict_accepts_all_and_asks_to_wait() -> None:
    quotas = Quotas()
    first, second = (quota(quotas, ORDER[7], "1", 0.0, strict=False) for _ in range(2))
    first.record(11)
    assert first.throttle_time_ms() == 0
    second.record(11)
    assert second.throttle_time_ms() == 11_000


def test_sv_5_a_quota_of_zero_stops_its_clients_for_as_long_as_can_be_said() -> None:
    quotas = Quotas()
    quota(quotas, ORDER[7], "0", 0.0).record(1)
    quotas.now = 1e9
    assert quotas.waits() == 2**31 - 1


@pytest.mark.long
def test_sv_6_clients_with_ever_new_names_fill_no_memory() -> None:
    quotas = Quotas()
    for index in range(MOST_BUCKETS + 10):
        quota(quotas, ORDER[7], "1", 0.0, client=f"c{index}").record(100)
    assert len(quotas.used._buckets) == MOST_BUCKETS
    for client, waits in ((f"c{MOST_BUCKETS}", True), ("c5", False)):
        quota(quotas, ORDER[7], "1", 0.0, client=client)
        assert bool(quotas.waits(client=client)) == waits
