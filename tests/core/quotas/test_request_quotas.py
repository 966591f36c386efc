"""Request quotas: whose quota holds, who shares it, and how long a client has to wait.

The figures are those of ClientRequestQuotaManagerTest and ClientQuotaManagerTest of Kafka 3.9.
"""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_reassign_rpc.core.quotas.client_quotas import CLIENT_ID, USER, QuotaEntity, QuotaTable
from kafka_reassign_rpc.core.quotas.connection_quotas import MOST_RATES, PERCENTAGE, RequestQuotas
from kafka_reassign_rpc.core.quotas.windowed_rate import QuotaUsage, QuotaWindows, WindowedRate

WINDOWS = QuotaWindows()
NS_OF_A_PERCENT = 10_000_000


class Quotas:
    """Request quotas, a clock, and short words for both."""

    def __init__(self) -> None:
        self.table = QuotaTable()
        self.quotas = RequestQuotas(self.table, WINDOWS)
        self.now_ms = 0

    def set(self, percent: float | None, user: str | None = "", client: str | None = "") -> None:
        """None for a name is the default of all others; "" is none."""
        entity: QuotaEntity = tuple((kind, name) for kind, name in ((USER, user), (CLIENT_ID, client)) if name != "")
        self.table.put(entity, {} if percent is None else {PERCENTAGE: str(percent)})

    def takes_ms(self, ms: float, user: str = "ANONYMOUS", client: str = "test-client") -> int:
        return self.counts(user, client, round(ms * 1_000_000))

    def counts(self, user: str, client: str, busy_ns: int) -> int:
        """Counts a request; how long its client has to wait."""
        use = self.quotas.use(user, client)
        return 0 if use is None else use.throttle_ms(busy_ns, self.now_ms)

    def waits(self, user: str, client: str, percent: float) -> bool:
        """Whether a client that takes this much of every second has to wait, as ClientQuotaManagerTest.checkQuota."""
        taken = round(percent * NS_OF_A_PERCENT * WINDOWS.number)
        return self.counts(user, client, taken) > 0


def test_sv_5_a_client_beyond_its_share_of_time_waits_until_the_rate_is_down() -> None:
    quotas = Quotas()
    quotas.set(1, "ANONYMOUS", "test-client")
    for _ in range(10):
        assert quotas.takes_ms(4) == 0
        quotas.now_ms += 1000
    quotas.now_ms += 500
    # (4 * 10 + 67.1) / 10.5 s = 10.2 ms per second; (10.2 - 10) / 10 * 10.5 s = 210 ms
    assert quotas.takes_ms(67.1) == 210
    quotas.now_ms += 210
    for _ in range(11):
        quotas.takes_ms(4)
        quotas.now_ms += 1000
    assert quotas.takes_ms(0) == 0, "the burst is too old to count"

    assert quotas.takes_ms(500) == 1000, "nobody waits longer than a window"
    for _ in range(10):
        quotas.now_ms += 1000
        assert quotas.takes_ms(0) == 1000
    quotas.now_ms += 1000
    assert quotas.takes_ms(0) == 0


def test_sv_5_the_first_second_is_no_eleventh_of_a_rate() -> None:
    rate = WindowedRate(WINDOWS)
    rate.record(5000, 0)
    assert rate.throttle_ms(500, 0) == 0, "5000 within ten seconds"
    rate.record(1, 0)
    assert rate.throttle_ms(500, 0) == 2  # (500.1 - 500) / 500 * 10,000 ms
    rate.record(-1, 0)
    assert rate.throttle_ms(500, 0) == 0, "it was taken back"
    assert rate.throttle_ms(0, 0) == 1000
    assert rate.throttle_ms(-1, 0) == 0


def test_sv_5_other_windows_keep_a_burst_for_another_time() -> None:
    rate = WindowedRate(QuotaWindows(number=3, size_ms=2000))
    rate.record(100, 0)
    assert rate.throttle_ms(25, 0) == 0, "100 within four seconds"
    assert rate.throttle_ms(20, 0) == 1000  # (25 - 20) / 20 * 4 s
    assert rate.throttle_ms(1, 0) == 2000, "at most a window"
    assert rate.throttle_ms(1, 5999) == 2000
    assert rate.throttle_ms(1, 6000) == 0


def test_sv_5_precedence_and_sharing_are_those_of_kafka() -> None:
    """ClientQuotaManagerTest.testQuotaConfigPrecedence, with a percent for each hundred bytes per second."""
    quotas = Quotas()
    quotas.set(10, None)
    quotas.set(20, "", None)
    quotas.set(30, None, None)
    quotas.set(40, "userA")
    quotas.set(50, "userA", "client1")
    quotas.set(60, "userB")
    quotas.set(70, "userB", "client1")
    quotas.set(80, "userB", None)
    quotas.set(100, "userC")
    quotas.set(90, "", "client1")

    assert not quotas.waits("userA", "client1", 45), "user and client come before the user"
    assert quotas.waits("userA", "client2", 45), "the user comes before the client and defaults"
    assert quotas.waits("userA", "client3", 0), "all clients of the user share"
    assert not quotas.waits("userA", "client1", 0), "that of user and client is for nobody else"

    assert quotas.waits("userB", "client1", 80)
    assert not quotas.waits("userB", "client2", 70)
    assert not quotas.waits("userB", "client3", 70), "the default of a user's clients is for each of them"

    assert quotas.waits("userD", "client1", 35)
    assert not quotas.waits("userD", "client2", 25)
    assert not quotas.waits("userE", "client1", 25)

    quotas.set(None, None, None)
    assert not quotas.waits("userD", "client1", 0), "others share now: the count begins anew"
    assert quotas.waits("userE", "client4", 15)
    assert not quotas.waits("userF", "client4", 8)
    assert quotas.waits("userF", "client5", 8), "the default of users is shared by each user's clients"

    quotas.set(None, None)
    assert not quotas.waits("userF", "client4", 0)
    assert not quotas.waits("userF", "client5", 0)
    assert quotas.waits("userF", "client5", 25)
    assert quotas.waits("userG", "client5", 0), "the default of clients is shared by all users of a client id"

    quotas.set(80, "userA")
    quotas.set(100, "userA", "client1")
    assert not quotas.waits("userA", "client2", 0)
    assert quotas.waits("userA", "client2", 45), "the sum of what it took before and now"
    assert not quotas.waits("userA", "client1", 0)
    assert quotas.waits("userA", "client1", 60)
    quotas.set(None, "userA", "client1")
    assert quotas.waits("userA", "client6", 0)
    quotas.set(110, "userA", "client6")
    assert not quotas.waits("userA", "client6", 85)
    quotas.set(120, "userA", None)
    quotas.set(None, "userA", "client6")
    assert quotas.waits("userA", "client6", 40)


def test_sv_5_a_changed_quota_holds_at_once_for_what_was_taken_before() -> None:
    quotas = Quotas()
    quotas.set(20, "", "p1")
    assert quotas.waits("u", "p1", 25)
    quotas.set(30, "", "p1")
    assert not quotas.waits("u", "p1", 0)
    quotas.set(5, "", "p1")
    assert quotas.waits("u", "p1", 0)
    quotas.set(None, "", "p1")
    assert not quotas.waits("u", "p1", 10_000)
    assert quotas.quotas.use("u", "p1") is None


def test_sv_5_time_after_the_answer_counts_at_the_next_request() -> None:
    quotas = Quotas()
    quotas.set(1, "u")
    use = quotas.quotas.use("u", "c")
    assert use is not None
    use.record(200_000_000, 0)
    assert quotas.takes_ms(0, "u", "c") == 1000
    assert quotas.takes_ms(0, "other", "c") == 0


def test_sv_6_memory_is_bounded_and_the_latest_client_is_kept() -> None:
    kept: QuotaUsage[list[str]] = QuotaUsage(2)
    for user in "abac":
        kept.of((user, None), list).append(user)
    assert len(kept) == 2
    assert kept.of(("a", None), list) == ["a", "a"]
    assert kept.of(("b", None), list) == []
    quotas = Quotas()
    quotas.set(1, "", None)
    for index in range(MOST_RATES + 10):
        quotas.takes_ms(1, "u", f"c{index}")
    assert len(quotas.quotas._rates) == MOST_RATES


def test_sv_6_a_user_with_ever_new_client_ids_makes_no_other_use_forgotten() -> None:
    quotas = Quotas()
    quotas.set(1, "u")
    quotas.set(1, "other", None)
    assert quotas.takes_ms(500, "u", "c") == 1000
    for index in range(MOST_RATES + 10):
        quotas.takes_ms(1, "other", f"c{index}")
    assert quotas.takes_ms(0, "u", "c") == 1000
    assert len(quotas.quotas._rates) == MOST_RATES


def test_sv_6_of_client_ids_that_no_quota_can_name_only_the_beginning_is_kept() -> None:
    """A client id can have 32 KiB. Those that begin alike share one use."""
    quotas = Quotas()
    quotas.set(1, "", None)
    assert quotas.takes_ms(500, "u", "x" * 32_000 + "1") == 1000
    assert quotas.takes_ms(0, "u", "x" * 32_000 + "2") == 1000
    assert quotas.takes_ms(0, "u", "x" * 1024) == 0
    assert max(len(name or "") for key in quotas.quotas._rates._values for name in key) <= 1025


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([None, "1", "2", "3"])), max_size=60))
def test_sv_6_a_user_with_one_entry_loses_it_to_no_user_with_more(keys: list[tuple[str, str | None]]) -> None:
    kept: QuotaUsage[list[int]] = QuotaUsage(4)
    for number, key in enumerate(keys):
        before = dict(kept._values)
        kept.of(key, list).append(number)
        gone = before.keys() - kept._values.keys()
        assert len(kept) <= 4
        assert len(gone) <= 1
        assert all(one[0] == key[0] for one in gone) or key[0] not in {one[0] for one in before}
        assert {one for of_user in kept._of_users.values() for one in of_user} == kept._values.keys()


@given(
    st.lists(st.tuples(st.integers(0, 700), st.integers(-50, 400), st.integers(0, 2)), min_size=1, max_size=80),
    st.integers(1, 3),
    st.sampled_from([-1, 0, 7, 100]),
)
@example(steps=[(0, 0, 1), (0, 0, 0), (200, 0, 0), (0, 1, 2)], number=1, bound=7)  # the only window begins again
def test_sv_5_a_rate_is_that_of_all_windows_added_up_each_time(
    steps: list[tuple[int, int, int]], number: int, bound: float
) -> None:
    """Of random histories, with some requests that ask for no rate: the sums that are kept are those of Kafka's
    SampledStat, which adds up all samples at each request."""
    windows = QuotaWindows(number, 200)
    rate, slow, now_ms = WindowedRate(windows), AddedUp(windows), 0
    for passed_ms, value, kind in steps:
        now_ms += passed_ms
        if kind != 0:
            rate.record(value, now_ms)
            slow.record(value, now_ms)
        if kind != 1:
            assert rate.throttle_ms(bound, now_ms) == slow.throttle_ms(bound, now_ms)


class AddedUp:
    """Rate and SampledStat of Kafka 3.9, with whole numbers: [start, last event, sum] of each sample."""

    def __init__(self, windows: QuotaWindows) -> None:
        self.number, self.size_ms = windows
        self.samples: list[list[int]] = []
        self.current = 0

    def record(self, value: int, now_ms: int) -> None:
        if not self.samples:
            self.samples.append([now_ms, now_ms, 0])
        if now_ms - self.samples[self.current][0] >= self.size_ms:
            self.current = (self.current + 1) % (self.number + 1)
            self.samples[self.current : self.current + 1] = [[now_ms, now_ms, 0]]
        self.samples[self.current][1] = now_ms
        self.samples[self.current][2] += value

    def throttle_ms(self, bound: float, now_ms: int) -> int:
        for sample in self.samples:
            if now_ms - sample[1] >= self.number * self.size_ms:
                sample[:] = [now_ms, now_ms, 0]
        elapsed_ms = now_ms - min((sample[0] for sample in self.samples), default=now_ms)
        elapsed_ms += max(0, self.number - 1 - elapsed_ms // self.size_ms) * self.size_ms
        elapsed_ms = max(elapsed_ms, 1)
        rate = sum(sample[2] for sample in self.samples) * 1000 / elapsed_ms
        if bound < 0 or rate <= bound:
            return 0
        if bound == 0:
            return self.size_ms
        return math.floor(min((rate - bound) / bound * elapsed_ms, self.size_ms) + 0.5)


@pytest.mark.parametrize("value", ["", "none", "nan", "inf", "-inf"])
def test_sv_6_a_quota_that_is_no_number_is_none(value: str) -> None:
    table = QuotaTable()
    table.put(((USER, "u"),), {PERCENTAGE: value})
    assert not table.sets(PERCENTAGE)
    assert table.limit(PERCENTAGE, "u", "c") is None


def test_sv_5_entities_that_are_gone_have_no_quota() -> None:
    table = QuotaTable()
    for name in ("a", "b"):
        table.put(((USER, name),), {PERCENTAGE: "5", "producer_byte_rate": "7"})
    table.keep_only([((USER, "b"),)])
    assert table.limit(PERCENTAGE, "a", "c") is None
    assert table.limit(PERCENTAGE, "b", "c") == (5.0, ("b", None))
    table.put(((USER, "b"),), {"producer_byte_rate": "7"})
    assert not table.sets(PERCENTAGE)
    assert table.sets("producer_byte_rate")
