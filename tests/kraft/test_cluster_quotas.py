"""The quotas of a cluster as a server in front of it knows them."""

from collections.abc import Mapping

from kafka_reassign_rpc.core.kafka_errors import RequestTimedOut
from kafka_reassign_rpc.core.quotas.client_quotas import CLIENT_ID, IP, USER, QuotaEntity
from kafka_reassign_rpc.kraft.kraft_node import ClusterQuotas

ALICE: QuotaEntity = ((USER, "alice"),)
BY_ID: QuotaEntity = ((USER, None), (CLIENT_ID, "tool"))


async def test_kr_9_and_sv_6_quotas_hold_as_the_cluster_tells_them_and_go_on_while_it_does_not() -> None:
    told: dict[QuotaEntity, Mapping[str, str]] = {ALICE: {"request_percentage": "5.0"}, BY_ID: {}}
    told[((IP, "localhost"),)] = {"connection_creation_rate": "7.0"}
    is_silent = False

    async def ask() -> Mapping[QuotaEntity, Mapping[str, str]]:
        if is_silent:
            raise RequestTimedOut
        return dict(told)

    quotas = ClusterQuotas(ask)
    await quotas.read()
    assert quotas.table.limit("request_percentage", "alice", "any") == (5.0, ("alice", None))
    assert quotas.table.limit("request_percentage", "bob", "tool") is None
    of_ip = [quotas.table.quota("connection_creation_rate", ((IP, one),)) for one in ("127.0.0.1", "::1")]
    assert sorted(map(str, of_ip)) == ["7.0", "None"], "the name of the host is resolved"
    revision = quotas.table.revision
    await quotas.read()
    assert quotas.table.revision == revision, "nothing has changed, so connections need not look again"
    is_silent = True
    await quotas.read()
    assert quotas.table.limit("request_percentage", "alice", "any") is not None
    is_silent = False
    del told[ALICE]
    told[BY_ID] = {"request_percentage": "3.0"}
    await quotas.read()
    assert quotas.table.limit("request_percentage", "alice", "any") is None
    assert quotas.table.limit("request_percentage", "alice", "tool") == (3.0, ("alice", "tool"))
