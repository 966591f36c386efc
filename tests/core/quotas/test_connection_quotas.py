"""Connection quotas: who waits, who is turned away, and for whom a connection counts.

Figures by hand after SocketServer.ConnectionQuotas and Rate of Kafka 3.9: eleven windows of a second, of which ten are
taken for full at the beginning.
"""

import pytest

from kafka_reassign_rpc.core.quotas.client_quotas import IP, QuotaTable
from kafka_reassign_rpc.core.quotas.connection_quotas import MOST_RATES, RATE, UNLIMITED, ConnectionQuotas
from kafka_reassign_rpc.core.quotas.windowed_rate import QuotaWindows

WINDOWS = QuotaWindows()


def quotas(rate: int = UNLIMITED, protected: str = "", table: QuotaTable | None = None, **of: int) -> ConnectionQuotas:
    return ConnectionQuotas(table or QuotaTable(), WINDOWS, rate, of, protected)


def ips(**rates: str) -> QuotaTable:
    """Quotas by address, in which _ stands for a point; `default` is that of all others."""
    table = QuotaTable()
    for name, rate in rates.items():
        table.put(((IP, None if name == "default" else name.strip("_").replace("_", ".")),), {RATE: rate})
    return table


def test_sv_6_connections_beyond_the_rate_wait_longer_and_longer_but_never_more_than_a_second() -> None:
    server = quotas(20)
    assert [server.accept_delay_ms("A", 0) for _ in range(202)] == [0] * 200 + [50, 100]
    assert [server.accept_delay_ms("A", 0) for _ in range(100)][-1] == 1000
    assert server.accept_delay_ms("A", 20_000) == 0


def test_sv_6_the_longer_of_the_waits_for_server_and_listener_counts() -> None:
    server = quotas(20, A=10)
    assert [server.accept_delay_ms("A", 0) for _ in range(101)][-1] == 100  # 10.1 of 10 per second
    assert [server.accept_delay_ms("B", 0) for _ in range(100)][-1] == 50, "those of A count for the server"
    assert quotas(UNLIMITED, A=1).accept_delay_ms("B", 0) == 0


def test_sv_6_the_rate_of_the_server_does_not_hold_for_the_listener_of_brokers() -> None:
    server = quotas(1, protected="INTERNAL")
    assert [server.accept_delay_ms("INTERNAL", 0) for _ in range(50)] == [0] * 50
    assert [server.accept_delay_ms("EXTERNAL", 0) for _ in range(11)][-1] == 1000
    own = quotas(UNLIMITED, protected="INTERNAL", INTERNAL=1)
    assert [own.accept_delay_ms("INTERNAL", 0) for _ in range(11)][-1] == 1000


def test_sv_6_an_address_beyond_its_rate_is_held_and_does_not_count() -> None:
    server = quotas(20, table=ips(_10_0_0_1="1"), A=20)
    for _ in range(10):
        server.accept_delay_ms("A", 0)
        assert server.address_throttle_ms("A", "10.0.0.1", 0) == 0
    for _ in range(1000):
        assert server.accept_delay_ms("A", 0) == 0
        assert server.address_throttle_ms("A", "10.0.0.1", 0) == 1000, "it waits no longer than before"
    assert server.address_throttle_ms("A", "10.0.0.2", 0) == 0
    assert [server.accept_delay_ms("A", 0) for _ in range(191)] == [0] * 190 + [50]


def test_sv_6_an_address_of_its_own_comes_before_the_default_of_addresses() -> None:
    server = quotas(table=ips(default="0", _10_0_0_1="100"))
    assert server.address_throttle_ms("A", "10.0.0.1", 0) == 0
    assert server.address_throttle_ms("A", "10.0.0.2", 0) == 1000
    assert quotas(table=ips(_10_0_0_9="1")).address_throttle_ms("A", "10.0.0.2", 0) == 0


def test_sv_6_the_addresses_in_memory_are_bounded() -> None:
    server = quotas(table=ips(default="5"))
    for index in range(MOST_RATES + 10):
        server.address_throttle_ms("A", f"h{index}", 0)
    assert len(server._of_addresses) == MOST_RATES


@pytest.mark.parametrize("rate", ["", "many", "nan"])
def test_sv_6_an_addresss_quota_that_is_no_number_is_none(rate: str) -> None:
    assert quotas(table=ips(_10_0_0_1=rate)).address_throttle_ms("A", "10.0.0.1", 0) == 0
