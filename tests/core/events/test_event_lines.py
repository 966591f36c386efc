"""The line of an event: what is not known is null, and lines of earlier releases are read as if they said so."""

import json

import msgspec
import pytest

from kafka_reassign_rpc.core.events.event_lines import line_of, place_of, read_line
from kafka_reassign_rpc.core.events.notifications import notice
from kafka_reassign_rpc.pipeline.event_logs import event_files

OF_WATCH = (
    b'{"seq":41,"at":1790000000000,"server":-1,"epoch":-1,"event":"move.completed","topic":"orders","partition":3}'
)
OF_A_STANDBY = (
    b'{"seq":7,"at":1790000000001,"server":1000,"epoch":-1,"event":"access.denied","reason":"Metadata: DESCRIBE"}'
)
"""As release 0.3.0 writes them: `watch`, and a server that was not the controller."""


def test_sv_7_what_is_not_known_of_an_event_is_null_in_its_line() -> None:
    line = line_of((5, 1000), None, None, b'{"event":"broker.lost","broker":-1}')
    assert json.loads(line) == {
        "seq": 5, "at": 1000, "server": None, "epoch": None, "event": "broker.lost", "broker": -1,
    }  # fmt: skip
    assert read_line(line) == json.loads(line), "only of the server and the epoch -1 was unknown"


def test_sv_7_lines_of_release_0_3_0_are_read_with_null_for_what_they_do_not_know() -> None:
    assert read_line(OF_WATCH) == {**json.loads(OF_WATCH), "server": None, "epoch": None}
    assert read_line(OF_A_STANDBY.decode()) == {**json.loads(OF_A_STANDBY), "epoch": None}
    with pytest.raises(msgspec.DecodeError):
        read_line(OF_WATCH[:-1])


@pytest.mark.parametrize("line", [OF_WATCH, OF_A_STANDBY, line_of((3, 9), None, None, b'{"event":"move.started"}')])
def test_dh_8_a_webhook_takes_up_lines_of_both_kinds(line: bytes) -> None:
    place, fields = place_of(line), json.loads(line)
    assert (place.seq, place.at, place.event) == (fields["seq"], fields["at"], fields["event"])
    assert notice(line, "text", "1000").id == f"1000-{fields['at']}-{fields['seq']}"


@pytest.mark.parametrize("line", [OF_WATCH, OF_A_STANDBY])
def test_dp_1_files_of_events_have_one_number_for_what_is_not_known(line: bytes) -> None:
    row = dict(zip(event_files.EVENTS.names, event_files.to_row(read_line(line)), strict=True))
    fields = json.loads(line)
    assert (row["server"], row["epoch"], row["seq"]) == (fields["server"], fields["epoch"], fields["seq"])
