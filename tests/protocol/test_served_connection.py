"""The stream: any split gives the same requests, answers keep their order, faults end the connection."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_reassign_rpc.protocol.client_connection import ClientConnection
from kafka_reassign_rpc.protocol.frame_codec import (
    DecodedRequest,
    decode_response,
    encode_body,
    encode_request,
    encode_response,
    response_prefix,
)
from kafka_reassign_rpc.protocol.frame_errors import (
    BadFrameSize,
    LocalProtocolError,
    RemoteProtocolError,
    UnexpectedAnswer,
    UnknownApi,
    UnsupportedApiVersions,
    UnsupportedVersion,
)
from kafka_reassign_rpc.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    MetadataRequest,
    MetadataResponse,
)
from kafka_reassign_rpc.protocol.served_connection import (
    MAX_REQUEST_BYTES,
    STREAM,
    Connection,
    FrameBuffer,
    Refusal,
    Stream,
    StreamEvent,
)
from kafka_reassign_rpc.protocol.versions import SUPPORTED
from tests.tables import for_each


def list_request(number: int) -> bytes:
    body = ListPartitionReassignmentsRequest(version=0, timeout_ms=number)
    return encode_request(body, version=0, correlation_id=number, client_id="test")


def answer() -> Any:
    return ListPartitionReassignmentsResponse(version=0)


def raw(*, size: int | None = None, key: int = 46, version: int = 0, body: bytes = b"") -> bytes:
    frame = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True) + bytes([0, 0, 0, 1]) + body
    return (len(frame) if size is None else size).to_bytes(4, "big", signed=True) + frame


def reply(number: int) -> bytes:
    return encode_response(answer(), version=0, correlation_id=number)


def take(connection: Connection) -> DecodedRequest | Refusal:
    """The next request; it is in work then."""
    return connection.parse(connection.next_frame())


def take_request(connection: Connection) -> DecodedRequest:
    event = take(connection)
    assert isinstance(event, DecodedRequest)
    return event


def serve(connection: Connection) -> tuple[list[Any], bytes]:
    """Answers all queued frames. Returns a description of each request or refusal, and the bytes that go out."""
    seen: list[Any] = []
    out = b""
    while connection.queued:
        event = take(connection)
        if isinstance(event, DecodedRequest):
            seen.append(event.header.correlation_id)
            out += connection.answer(event, answer())
        else:
            seen.append((type(event.error).__name__, str(event.error)))
            out += connection.refuse(event)
    return seen, out


TAILS = [
    b"",
    list_request(9)[:-1],
    raw(size=-1),
    raw(size=0),
    raw(size=7),
    raw(size=MAX_REQUEST_BYTES + 1),
    raw(size=2**31 - 1),
    raw(key=9999),
    raw(version=1),
    raw(key=18, version=99, body=b"whatever"),
    raw(body=b"\xff\xff\0\0\0\0\0\xff\xff\xff\xff\x7f"),
    b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
]


@given(
    count=st.integers(0, 6),
    tail=st.sampled_from(TAILS),
    more=st.sampled_from([b"", list_request(77), b"\0" * 50]),
    cuts=st.lists(st.integers(0, 500), max_size=12),
)
def test_sv_6_any_split_of_the_stream_gives_the_same_requests_and_answers(
    count: int, tail: bytes, more: bytes, cuts: list[int]
) -> None:
    stream = b"".join(map(list_request, range(count))) + tail + more
    whole = Connection(SUPPORTED)
    whole.receive(stream)
    expected = serve(whole)
    places = sorted({cut % (len(stream) + 1) for cut in cuts})
    pieces = [stream[start:end] for start, end in zip([0, *places], [*places, len(stream)], strict=True)]
    for split in (pieces, [stream[index : index + 1] for index in range(len(stream))]):
        connection = Connection(SUPPORTED)
        seen: list[Any] = []
        out = b""
        for piece in split:
            connection.receive(piece)
            seen_now, out_now = serve(connection)
            seen += seen_now
            out += out_now
        assert (seen, out) == expected
        assert connection.held_bytes == connection.partial_bytes == whole.held_bytes
        assert connection.over == whole.over == (whole.fault is not None)
        assert (connection.fault is None) == (whole.fault is None)


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_sv_6_any_garbage_is_held_until_one_fault_ends_the_connection(pieces: list[bytes]) -> None:
    connection = Connection(SUPPORTED)
    for piece in pieces:
        ended = connection.ended
        assert not (connection.receive(piece) and ended)
        serve(connection)
        assert connection.over == connection.ended == (connection.fault is not None)
        assert connection.held_bytes == (0 if connection.ended else connection.partial_bytes)


def test_sv_2_one_request_is_in_work_at_a_time_so_that_answers_leave_in_order() -> None:
    connection = Connection(SUPPORTED)
    assert connection.receive(b"".join(map(list_request, range(3)))) == 3
    out = b""
    for waiting in (2, 1, 0):
        request = take_request(connection)
        assert connection.queued == waiting
        with pytest.raises(LocalProtocolError):
            connection.next_frame()
        out += connection.answer(request, answer())
    assert out == b"".join(map(reply, range(3)))
    with pytest.raises(LocalProtocolError):
        connection.next_frame()


def test_sv_2_a_request_is_answered_once() -> None:
    connection = Connection(SUPPORTED)
    connection.receive(list_request(1))
    request = take_request(connection)
    connection.answer(request, answer())
    with pytest.raises(LocalProtocolError):
        connection.answer(request, answer())
    with pytest.raises(LocalProtocolError):
        connection.refuse(Refusal(UnknownApi("by mistake"), request.header))


def test_sv_2_an_answer_may_be_encoded_already() -> None:
    connection = Connection(SUPPORTED)
    connection.receive(list_request(1))
    assert connection.answer(take_request(connection), encode_body(answer(), version=0)) == reply(1)


def test_sv_2_a_request_whose_answer_cannot_be_encoded_is_still_owed_one() -> None:
    connection = Connection(SUPPORTED)
    connection.receive(list_request(1))
    request = take_request(connection)
    with pytest.raises(LocalProtocolError):
        connection.answer(request, ListPartitionReassignmentsResponse(version=0, error_code=1 << 20))
    assert connection.answer(request, answer()) == reply(1)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (raw(size=-1), BadFrameSize),
        (raw(size=0), BadFrameSize),
        (raw(size=2**31 - 1), BadFrameSize),
        (raw(key=9999), UnknownApi),
        (raw(version=1), UnsupportedVersion),
        (b"GET / HTTP/1.1\r\n\r\n", BadFrameSize),
    ],
)
def test_sv_6_a_fault_closes_the_connection_after_what_came_before_is_answered(
    data: bytes, error: type[Exception]
) -> None:
    connection = Connection(SUPPORTED)
    connection.receive(list_request(1) + data + list_request(2))
    assert connection.answer(take_request(connection), answer()) == reply(1)
    if connection.queued:
        assert not connection.over
        refusal = take(connection)
        assert isinstance(refusal, Refusal)
        assert refusal.closes
        assert connection.refuse(refusal) == b""
    assert type(connection.fault) is error
    assert connection.over
    assert connection.receive(list_request(3)) == 0
    assert connection.held_bytes == 0


def test_sv_6_the_first_fault_is_the_one_that_is_reported() -> None:
    connection = Connection(SUPPORTED)
    connection.receive(raw(key=9999) + raw(size=-1))
    refusal = take(connection)
    assert isinstance(refusal, Refusal)
    connection.refuse(refusal)
    assert isinstance(connection.fault, BadFrameSize), "it was seen before the request was read"
    assert "a frame of -1 bytes" in str(connection.fault)


def test_sv_2_api_versions_of_the_future_is_answered_in_version_0_and_the_connection_goes_on() -> None:
    connection = Connection(SUPPORTED)
    connection.receive(raw(key=18, version=99, body=b"\xff whatever a future header holds") + list_request(2))
    refusal = take(connection)
    assert isinstance(refusal, Refusal)
    assert isinstance(refusal.error, UnsupportedApiVersions)
    assert not refusal.closes
    data = connection.refuse(refusal)
    correlation_id, body = decode_response(ApiVersionsResponse, data[4:], version=4)
    assert (correlation_id, body.error_code, body.version) == (1, 35, 0)
    assert [(api.api_key, api.min_version, api.max_version) for api in body.api_keys] == [(18, *SUPPORTED[18])]
    assert connection.answer(take_request(connection), answer()) == reply(2)
    assert not connection.ended


def test_sv_6_a_frame_of_the_largest_size_is_served_and_a_larger_one_is_a_fault() -> None:
    frame = list_request(1)
    exact = Connection(SUPPORTED, max_frame_bytes=len(frame) - 4)
    assert exact.receive(frame) == 1
    assert exact.fault is None
    small = Connection(SUPPORTED, max_frame_bytes=len(frame) - 5)
    assert small.receive(frame) == 0
    assert isinstance(small.fault, BadFrameSize)
    assert small.over


def test_sv_6_held_bytes_are_counted_until_their_requests_are_answered() -> None:
    connection = Connection(SUPPORTED)
    frame = list_request(1)
    connection.receive(frame * 2 + frame[:7])
    size = len(frame) - 4
    assert connection.held_bytes == 2 * size + 7
    assert connection.partial_bytes == 7
    request = take_request(connection)
    assert connection.held_bytes == 2 * size + 7, "in work is held too"
    connection.answer(request, answer())
    assert connection.held_bytes == size + 7


def test_sv_6_an_ended_connection_answers_what_has_come_and_takes_nothing_more() -> None:
    connection = Connection(SUPPORTED)
    connection.receive(list_request(1) + list_request(2)[:-1])
    connection.end()
    assert connection.partial_bytes == 0
    assert connection.receive(list_request(2)[-1:] + list_request(3)) == 0
    request = take_request(connection)
    over_before = connection.over
    assert connection.answer(request, answer()) == reply(1)
    assert (over_before, connection.over) == (False, True)
    assert connection.fault is None


def test_sv_6_a_connection_is_empty_while_it_is_open_and_owes_no_answer_and_holds_no_bytes() -> None:
    connection = Connection(SUPPORTED)
    seen = {"at first": connection.empty}
    connection.receive(list_request(1)[:5])
    seen["a part of a request has come"] = connection.empty
    connection.receive(list_request(1)[5:])
    seen["a request waits"] = connection.empty
    request = take_request(connection)
    seen["it is in work"] = connection.empty
    connection.answer(request, answer())
    seen["it is answered"] = connection.empty
    connection.end()
    seen["nothing more is taken"] = connection.empty
    assert [when for when, empty in seen.items() if empty] == ["at first", "it is answered"]


def test_sv_6_an_abandoned_connection_forgets_what_waits_and_finishes_what_is_in_work() -> None:
    connection = Connection(SUPPORTED)
    connection.receive(list_request(1) + list_request(2))
    request = take_request(connection)
    connection.abandon()
    assert connection.queued == 0
    connection.answer(request, answer())
    assert connection.over
    assert connection.held_bytes == 0


def test_sv_6_a_large_announcement_allocates_nothing_until_the_bytes_come() -> None:
    frames = FrameBuffer(8, 200 * 1024 * 1024)
    tracemalloc.start()
    try:
        assert frames.receive((100 * 1024 * 1024).to_bytes(4, "big") + bytes(1000)) == ([], None)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 * 1024
    assert len(frames) == 1004


def test_sv_2_a_body_that_is_encoded_already_gets_the_same_frame() -> None:
    for cls, version in ((ListPartitionReassignmentsResponse, 0), (ApiVersionsResponse, 0), (ApiVersionsResponse, 4)):
        body = encode_body(cls(version=version), version=version)
        frame = response_prefix(cls.API_KEY, version, 7, len(body)) + body
        assert frame == encode_response(cls(version=version), version=version, correlation_id=7)


def test_sv_2_a_message_that_does_not_fit_its_schema_is_our_own_fault() -> None:
    with pytest.raises(LocalProtocolError):
        encode_response(ListPartitionReassignmentsResponse(version=0, error_code=1 << 20), version=0, correlation_id=1)
    with pytest.raises(LocalProtocolError):
        encode_request(MetadataRequest(version=0), version=99, correlation_id=1, client_id=None)
    with pytest.raises(LocalProtocolError):
        decode_response(ApiVersionsResponse, b"\0" * 20, version=99)
    # and the next message is encoded as if nothing had been
    assert encode_response(answer(), version=0, correlation_id=1)


# -------------------------------------------------------------------------------------------------- the client's side


def test_sv_2_a_client_numbers_its_requests_and_gets_their_answers() -> None:
    client, server = ClientConnection("test"), Connection(SUPPORTED)
    data = client.send(ListPartitionReassignmentsRequest, ListPartitionReassignmentsRequest(version=0), 0)
    data += client.send(MetadataRequest, encode_body(MetadataRequest(version=12), version=12), 12)
    assert client.pending == 2
    server.receive(data)
    first = take_request(server)
    assert (first.header.client_id, first.header.correlation_id) == ("test", 0)
    out = server.answer(first, ListPartitionReassignmentsResponse(version=0, error_code=41))
    found = [body for index in range(len(out)) for body in client.receive(out[index : index + 1])]
    assert [body.error_code for body in found] == [41]
    assert client.pending == 1
    second = take_request(server)
    assert (second.header.api_version, second.header.correlation_id) == (12, 1)
    (metadata,) = client.receive(server.answer(second, MetadataResponse(version=12, controller_id=7)))
    assert metadata.controller_id == 7


def test_sv_2_a_client_understands_that_its_api_versions_is_too_new() -> None:
    client, server = ClientConnection("test"), Connection({18: (0, 2)})
    server.receive(client.send(ApiVersionsRequest, ApiVersionsRequest(version=4), 4))
    refusal = take(server)
    assert isinstance(refusal, Refusal)
    (found,) = client.receive(server.refuse(refusal))
    assert (found.error_code, found.api_keys[0].max_version) == (35, 2)


@pytest.mark.parametrize(
    "data",
    [
        reply(1),
        reply(0) * 2,
        b"\xff\xff\xff\xff",
        b"\0\0\0\3abc",
        b"\0\0\0\6\0\0\0\0\0\0",
        reply(0)[:4] + b"\0\0\0\0\xff\xff\xff\xff\xff\xff" + bytes(20),
    ],
)
def test_sv_2_a_client_gives_up_a_connection_whose_answers_make_no_sense(data: bytes) -> None:
    client = ClientConnection("test")
    client.send(ListPartitionReassignmentsRequest, ListPartitionReassignmentsRequest(version=0), 0)
    with pytest.raises(RemoteProtocolError):
        client.receive(data)
    with pytest.raises(LocalProtocolError):
        client.receive(b"")
    with pytest.raises(LocalProtocolError):
        client.send(ListPartitionReassignmentsRequest, ListPartitionReassignmentsRequest(version=0), 0)


def test_sv_2_an_answer_that_no_call_waits_for_is_refused() -> None:
    with pytest.raises(UnexpectedAnswer):
        ClientConnection("test").receive(reply(0))


# -------------------------------------------------------------------------------------------------- the table of states


def in_state(state: Stream) -> tuple[Connection, DecodedRequest | None]:
    """A connection in that state, with one more frame in its queue, and the request in work."""
    connection = Connection(SUPPORTED)
    connection.receive(list_request(1) + list_request(2))
    request = take_request(connection) if state in (Stream.OPEN_IN_WORK, Stream.ENDED_IN_WORK) else None
    if state in (Stream.ENDED, Stream.ENDED_IN_WORK):
        connection.end()
    assert connection.state is state
    return connection, request


@for_each("state", Stream)
@for_each("event", StreamEvent)
def test_sv_6_each_event_of_a_stream_does_what_its_row_says_and_without_a_row_nothing(
    state: Stream, event: StreamEvent
) -> None:
    connection, request = in_state(state)
    rows = [row for row in STREAM if state in row.states and row.event is event]
    queued = connection.queued
    happens = {
        StreamEvent.NEXT_FRAME: connection.next_frame,
        StreamEvent.ANSWER: connection.answered if request is None else lambda: connection.answer(request, answer()),
        StreamEvent.END: connection.end,
        StreamEvent.BAD_SIZE: lambda: connection.receive(raw(size=-1)),
        StreamEvent.CLOSE: connection.close,
        StreamEvent.ABANDON: connection.abandon,
    }[event]
    if rows:
        happens()
        assert [row.after for row in rows] == [connection.state]
    elif event is StreamEvent.BAD_SIZE:
        assert happens() == 0, "nothing is taken in"
        assert (connection.state, connection.fault) == (state, None)
    else:
        with pytest.raises(LocalProtocolError):
            happens()
        assert (connection.state, connection.queued) == (state, queued)
    drops = rows and event in (StreamEvent.CLOSE, StreamEvent.ABANDON)
    assert connection.queued == (0 if drops else queued - 1 if rows and event is StreamEvent.NEXT_FRAME else queued)
    assert connection.over == (connection.state is Stream.ENDED and not connection.queued)


# ------------------------------------------------------------------------------------------------------ one by one


def framed(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


def test_sv_5_frames_of_a_login_are_cut_off_one_by_one_however_they_arrive() -> None:
    """What follows the frame in work may be no frame of a login, but a request: nobody looks at it before."""
    connection = Connection(SUPPORTED)
    connection.one_by_one(20)
    stream = framed(b"") + framed(b"second") + list_request(7)
    assert connection.receive(stream[:3]) == 0
    assert connection.receive(stream[3:12]) == 1
    assert connection.next_frame() == b""
    assert connection.waiting, "a part of the second has come"
    assert connection.receive(stream[12:]) == 0, "the first is in work"
    assert connection.waiting
    connection.answered()
    assert (connection.receive(b""), connection.next_frame()) == (1, b"second")
    assert connection.held_bytes == len(b"second") + len(list_request(7))
    connection.requests()
    connection.answered()
    assert connection.receive(b"") == 1
    assert take_request(connection).header.correlation_id == 7


def test_sv_5_after_a_login_as_many_requests_are_cut_off_as_have_come() -> None:
    connection = Connection(SUPPORTED)
    connection.one_by_one(20)
    connection.requests()
    assert connection.receive(list_request(7) + list_request(8)) == 2


@for_each("size, over", [(10 * 2**20, False), (10 * 2**20 + 1, True)])
def test_sv_6_a_request_has_ten_mebibytes_at_most(size: int, *, over: bool) -> None:
    connection = Connection(SUPPORTED)
    connection.receive(size.to_bytes(4, "big"))
    assert (connection.fault is not None) is over


def test_sv_5_a_frame_of_a_login_beyond_its_bound_ends_the_connection_before_it_is_there() -> None:
    connection = Connection(SUPPORTED)
    connection.one_by_one(20)
    assert connection.receive(framed(bytes(20))) == 1
    connection.next_frame()
    assert not connection.waiting, "nothing has come behind it"
    connection.answered()
    assert connection.receive((21).to_bytes(4, "big")) == 0
    assert "20" in str(connection.fault)
    assert connection.over


def test_sv_6_a_large_frame_is_parsed_in_slices_to_the_same_request_or_refusal() -> None:
    connection = Connection(SUPPORTED)
    for sent in (list_request(3), raw(key=9999), raw(body=b"\xff\xff\0\0\0\0\0\xff\xff\xff\xff\x7f")):
        steps = connection.parse_in_slices(sent[4:])
        found = None
        while found is None:
            try:
                next(steps)
            except StopIteration as end:
                found = end.value
        expected = connection.parse(sent[4:])
        assert type(found) is type(expected)
        if isinstance(expected, Refusal):
            assert isinstance(found, Refusal)
            assert (type(found.error), str(found.error)) == (type(expected.error), str(expected.error))
        else:
            assert isinstance(found, DecodedRequest)
            assert found.header == expected.header


def test_sv_2_an_answer_in_pieces_begins_with_the_size_of_all_and_a_refused_request_may_have_a_body() -> None:
    connection = Connection(SUPPORTED)
    connection.receive(list_request(5) + list_request(6))
    pieces = [b"some", b" pieces"]
    whole = connection.answer(take_request(connection), b"".join(pieces))
    connection.receive(list_request(5))
    request = take_request(connection)
    refusal = Refusal(RemoteProtocolError("too large"), request.header)
    assert connection.refuse(refusal, answer()) == reply(6)
    assert connection.answer(take_request(connection), pieces) + b"".join(pieces) == whole
    assert not connection.ended, "it has its answer"
    with pytest.raises(LocalProtocolError, match="no request waits"):
        connection.next_frame()
