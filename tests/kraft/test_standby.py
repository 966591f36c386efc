"""Who leads, and where its page is, as a server that follows the state log knows it."""

import msgspec

from kafka_reassign_rpc.kraft import round_records
from kafka_reassign_rpc.kraft.round_records import Intents, RoundRecord
from kafka_reassign_rpc.kraft.standby import NO_LEADER, Leader, after, claimant
from kafka_reassign_rpc.kraft.state_log.log_format import Claim, Kind
from kafka_reassign_rpc.kraft.state_log.log_reading import LogRecord, Term
from kafka_reassign_rpc.support.host_port import page_of_server
from tests.tables import for_each

PAGE = "http://reassign1:9404/"


def _record(kind: Kind, payload: bytes) -> LogRecord:
    return LogRecord(7, 8, Term(1, 0, 7), 1, kind, (payload,))


async def test_kr_5_and_sv_7_who_leads_and_its_page_are_in_its_claim_and_in_its_snapshots() -> None:
    claim = msgspec.json.encode(Claim("1000@reassign1:9092", 3, PAGE))
    assert claimant(_record(Kind.CLAIM, claim)) == Leader("1000@reassign1:9092", PAGE)
    assert claimant(_record(Kind.CLAIM, b'{"server":"1000@a:1","previous":-1}')) == Leader("1000@a:1"), "before"
    assert claimant(_record(Kind.CLAIM, b"[]")) == NO_LEADER
    head = round_records.encode(RoundRecord(at=1, server="1000@reassign1:9092", page=PAGE))
    assert (await after(Intents(), _record(Kind.SNAPSHOT, head)))[1] == Leader("1000@reassign1:9092", PAGE)
    other = round_records.encode(RoundRecord(at=1, recorded=1))
    assert (await after(Intents(), _record(Kind.COMMIT, other)))[1] is None


@for_each("text", ["", "javascript:alert(1)", "http://a:1/evil", "http://a:1/ ", "http://[::1]/", "ftp://a:1/"])
def test_kr_5_and_sv_7_what_is_no_address_of_a_page_is_no_link(text: str) -> None:
    assert page_of_server(text) is None
    assert page_of_server(PAGE) == PAGE
