"""kr-5: the state log on stock brokers: who leads is alone, and what was acknowledged is there once, in order.

One cluster of three brokers for all tests, each of which has a topic of its own.
"""

import asyncio
import contextlib
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from kafka.admin import ACLOperation, ResourceType

from kafka_reassign_rpc.cli.main import main
from kafka_reassign_rpc.client import KafkaError
from kafka_reassign_rpc.client.client_settings import client_settings
from kafka_reassign_rpc.client.config_calls import TOPIC
from kafka_reassign_rpc.kraft.state_log import leader_calls
from kafka_reassign_rpc.kraft.state_log import state_log as state_log_module
from kafka_reassign_rpc.kraft.state_log.leader_calls import LeaderCalls, fetch
from kafka_reassign_rpc.kraft.state_log.log_errors import Fenced, LogError, LogLost, LogRefused
from kafka_reassign_rpc.kraft.state_log.log_format import Claim, Key, Kind, encode_key
from kafka_reassign_rpc.kraft.state_log.log_reading import LeftOut, LogRecord, TermReading
from kafka_reassign_rpc.kraft.state_log.log_topic import settings_for
from kafka_reassign_rpc.kraft.state_log.record_batches import Record, encode_batch
from kafka_reassign_rpc.kraft.state_log.state_log import StateLog
from kafka_reassign_rpc.protocol.messages import AlterClientQuotasRequest
from tests.kraft.state_log.proxies import Proxies, add_listener
from tests.kraft.state_log.world import (
    LEAD_S,
    Committer,
    World,
    commits_during,
    committed,
    described,
    records_of,
    takes_over,
)
from tests.kraft.stock_cluster import RELEASE
from tests.stock.jars import require
from tests.stock.kraft import KRaftNode, kraft_cluster, start_all
from tests.stock.ports import kept_ports
from tests.stock.process import LoggedProcess
from tests.waiting import eventually
from tests.watch.kraft_world import CONFIGS, GUEST

pytestmark = [pytest.mark.stock, pytest.mark.gate, pytest.mark.timeout(300)]

IDS = (1, 2, 3)
SETTINGS = {
    "transaction.state.log.num.partitions": "1",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    **{name: value for name, value in CONFIGS.items() if "broker." not in name},
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    require(RELEASE)
    nodes = kraft_cluster(tmp_path_factory.mktemp("kraft"), IDS, dict.fromkeys(IDS, SETTINGS), version=RELEASE)
    proxied = add_listener(nodes)
    guests = kept_ports(len(nodes))
    for node, port in zip(nodes, guests, strict=True):
        node.properties["listeners"] += f",GUESTS://127.0.0.1:{port}"
        node.properties["advertised.listeners"] += f",GUESTS://127.0.0.1:{port}"
        node.properties["listener.security.protocol.map"] += ",GUESTS:SASL_PLAINTEXT"
    asyncio.run(start_all(nodes))
    try:
        yield World(nodes, proxied, guests)
    finally:
        asyncio.run(_killed(nodes))


async def _killed(nodes: Sequence[KRaftNode]) -> None:
    for node in nodes:
        await node.kill()


async def test_kr_5_the_topic_is_created_so_that_it_loses_nothing_and_a_second_server_finds_it(world: World) -> None:
    async with world.log("made") as first, world.client() as client:
        await first.claim()
        async with world.log("made", "b") as second:
            assert await second.end() == 1
        assert len((await described(client, "made")).replicas) == 3
        (configs,) = (await client.describe_configs([(TOPIC, "made")])).values()
        assert not isinstance(configs, KafkaError)
        found = {one.name: one.value for one in configs}
        wanted = settings_for(3)
        assert {name: found.get(name, wanted[name]) for name in wanted} == wanted


async def test_kr_5_a_topic_that_could_lose_decisions_is_mended_or_refused(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    await world.create("odd", [[1, 2, 3]], retention_ms="1000", unclean_leader_election_enable="true")
    async with world.log("odd"):
        pass
    (line,) = [one for one in caplog.messages if one.startswith("changed settings of the topic odd")]
    assert "retention.ms=-1 (it was 1000)" in line
    assert "unclean.leader.election.enable=false (it was true)" in line

    async def stays_as_it_is() -> bool:
        """As soon as all brokers know of it."""
        caplog.clear()
        async with world.log("odd"):
            return not [one for one in caplog.messages if "changed settings" in one]

    await eventually(stays_as_it_is)
    await world.create("compacted", [[1, 2, 3]], cleanup_policy="compact")
    await world.create("narrow", [[1, 2, 3]], max_message_bytes="1000")
    for topic, why in (
        ("compacted", "compacted"),
        ("narrow", "max.message.bytes=1000"),
        ("no name", "no name of a topic"),
    ):
        with pytest.raises(LogRefused, match=why) as refused:
            await world.log(topic).open()
        assert "\n" not in str(refused.value)


async def test_kr_5_of_servers_that_claim_at_once_one_leads_and_all_readers_agree(world: World) -> None:
    logs = [world.log("race", f"s{number}") for number in range(5)]
    await asyncio.gather(*(one.open() for one in logs))

    async def claim_and_commit(log: StateLog) -> list[bytes]:
        acknowledged = []
        with contextlib.suppress(Fenced):
            for number in range(5):
                term = await log.claim()
                payload = f"{term.claim_offset}.{number}".encode()
                await log.commit([payload])
                acknowledged.append(payload)
        return acknowledged

    acknowledged = [one for some in await asyncio.gather(*map(claim_and_commit, logs)) for one in some]
    assert len(acknowledged) >= 5
    found = await records_of(logs[0])
    payloads = [one for record in found if record.kind is Kind.COMMIT for one in record.payloads]
    assert len(payloads) == len({*payloads})
    assert {*acknowledged} <= {*payloads}
    assert all(
        int(record.payloads[0].split(b".")[0]) == record.term.claim_offset
        for record in found
        if record.kind == "commit"
    )
    winner = found[-1].term
    await logs[0].claim()
    for log in logs[1:]:
        with pytest.raises(Fenced):
            await log.commit([b"late"])
    assert (await records_of(logs[1]))[-1].term > winner
    await asyncio.gather(*(one.close() for one in logs))


async def test_kr_5_of_two_writers_the_former_is_fenced_and_knows_it(world: World) -> None:
    async with world.log("fenced") as a, world.log("fenced", "b") as b:
        await a.claim()
        await a.commit([b"1"])
        sent = asyncio.get_running_loop().time()
        await a.commit([b"2"])
        assert sent <= a.acknowledged_at <= asyncio.get_running_loop().time()
        await b.claim()
        with pytest.raises(Fenced, match="another server"):
            await a.commit([b"3"])
        assert a.acknowledged_at == float("-inf")
        with pytest.raises(Fenced, match="does not lead"):
            await a.commit([b"3"])
        await b.commit([b"4"])
        assert await committed(a) == [b"1", b"2", b"4"]


async def test_kr_5_a_leader_that_no_broker_fences_finds_out_by_offsets(world: World) -> None:
    """A claim with another producer id, as after the transactional id was forgotten."""
    async with world.log("unfenced") as a, world.log("unfenced", "b") as b:
        term = await a.claim()
        await a.commit([b"1"])
        claim = Record(
            encode_key(Key(Kind.CLAIM, 0, 1, goes_on=False)), msgspec.json.encode(Claim("z", term.claim_offset))
        )
        calls = a._opened.writes  # type: ignore[union-attr]
        assert (await calls.produce(encode_batch([claim], 777_777, 0, 0, 0))).error == 0
        before = a.acknowledged_at
        writer = a._writer
        with pytest.raises(Fenced, match="another server"):
            await a.commit([b"2"])
        assert writer is not None
        assert writer.acknowledged_at == before
        assert await committed(b) == [b"1"]
        assert (await b.claim()).claim_offset > term.claim_offset
        await b.commit([b"3"])
        assert await committed(a) == [b"1", b"3"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_kr_5_a_leader_that_is_killed_or_frozen_is_replaced_and_a_woken_one_is_fenced(
    world: World, tmp_path: Path, number: signal.Signals
) -> None:
    topic = f"silent-{number.name}"
    async with world.log(topic, "b") as log:
        leader = Committer(world, tmp_path, topic)
        await leader.wait_for_line(re.compile(rb"acked 20 "))
        waiting = asyncio.create_task(takes_over(log))
        await leader.wait_for_line(re.compile(rb"acked 60 "))
        assert not waiting.done(), "a leader that writes is not replaced"
        leader.send(number)
        began = asyncio.get_running_loop().time()
        await waiting
        took = asyncio.get_running_loop().time() - began
        assert took > LEAD_S / 2, "the last record may have come a while before"
        await log.commit([b"new"])
        if number == signal.SIGSTOP:
            leader.thaw()
            await leader.wait_for_line(re.compile(rb"Fenced another server"))
        await leader.kill()
        found = await committed(log)
        before = found[: found.index(b"new")]
        assert before == [str(one).encode() for one in range(len(before))]
        assert leader.acknowledged() == before[: len(leader.acknowledged())]
        assert found[found.index(b"new") :] == [b"new"]


async def test_kr_5_lost_answers_make_no_commit_twice(world: World) -> None:
    async with Proxies(world.proxied) as proxies, world.log("lost", bootstrap=proxies.bootstrap) as log:
        await log.claim()

        async def lose() -> None:
            for _ in range(5):
                proxies.lose = 2
                await eventually(lambda: not proxies.lose)

        acknowledged = await commits_during(log, lose())
        assert proxies.lost == 10
        assert await committed(log) == acknowledged
        proxies.lose = 1
        await log.claim()
        assert await committed(log) == acknowledged


async def test_kr_5_the_topics_leader_is_killed_and_every_acknowledged_commit_is_there_once_in_order(
    world: World,
) -> None:
    await world.create("killed", [[2, 3, 1]], **{name.replace(".", "_"): one for name, one in settings_for(3).items()})
    victim = world.nodes[1]
    async with world.log("killed") as log:
        await log.claim()

        async def kill() -> None:
            await log.commit([b"0"])
            await victim.kill()
            async with world.client() as client:

                async def is_led_by_another() -> bool:
                    return (await described(client, "killed")).leader not in (-1, 2)

                await eventually(is_led_by_another)

        acknowledged = await commits_during(log, kill())
        await victim.start()
        assert [one for one in await committed(log) if one != b"0"] == [one for one in acknowledged if one != b"0"]
        assert len(await committed(log)) == len(acknowledged) + 1


async def test_kr_5_the_topic_moves_to_other_brokers_under_commits(world: World) -> None:
    await world.create("moves", [[1, 2, 3]], **{name.replace(".", "_"): one for name, one in settings_for(3).items()})
    async with world.log("moves") as log, world.client() as client:
        await log.claim()

        async def move() -> None:
            for target in ([3, 1, 2], [2, 3], [1, 2, 3]):
                await client.alter_partition_reassignments({("moves", 0): target})

                async def is_there(target: Sequence[int] = target) -> bool:
                    found = await described(client, "moves")
                    return list(found.replicas) == target and len(found.isr) == len(target)

                await eventually(is_there)
                await client.elect_preferred_leaders([("moves", 0)])

        acknowledged = await commits_during(log, move())
        assert await committed(log) == acknowledged


async def test_kr_5_a_snapshot_replaces_what_precedes_it_for_readers_old_and_new(world: World) -> None:
    async with world.log("snap") as a, world.log("snap", "b") as b:
        seen: list[LogRecord] = []

        async def follow() -> None:
            async for some in b.read():
                seen.extend(one for one in some if isinstance(one, LogRecord))

        await a.claim()
        await a.commit([b"1", b"2"])
        following = asyncio.create_task(follow())
        await eventually(lambda: seen)
        await a.snapshot([b"1", b"2", b"x" * 3_000_000])
        await a.commit([b"3"])
        await eventually(lambda: seen[-1].payloads == (b"3",))
        assert [one.kind for one in seen] == ["claim", "commit", "snapshot", "commit"]
        assert await committed(b) == [b"1", b"2", b"x" * 3_000_000, b"3"]
        assert (await records_of(b))[0].kind is Kind.SNAPSHOT, "what precedes it was deleted"
        term = await b.claim()
        assert await b.commit([b"4"]) > term.claim_offset
        assert (await committed(a))[-2:] == [b"3", b"4"]
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following


async def test_kr_5_a_reader_whose_records_are_deleted_goes_on_at_the_snapshot(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a crash between a snapshot and the deletion."""
    async with world.log("middle") as a, world.log("middle", "b") as b:
        await a.claim()
        await a.commit([b"1"])
        with monkeypatch.context() as patched:

            async def crash(*_: object) -> None:
                raise OSError("it dies here")

            patched.setattr(LeaderCalls, "delete_before", crash)
            with pytest.raises(OSError, match="dies here"):
                await a.snapshot([b"1"])
        assert await committed(b) == [b"1"]
        reads = b.read()
        first = await anext(reads)
        assert isinstance(first[0], LogRecord)
        for number in range(2, 40):
            await a.commit([str(number).encode() * 50_000])
        await a.snapshot([b"all"])
        await a.commit([b"last"])
        state: list[bytes] = []
        async for some in reads:
            for one in some:
                if isinstance(one, LogRecord) and one.kind in (Kind.SNAPSHOT, Kind.COMMIT):
                    state = [*([] if one.kind is Kind.SNAPSHOT else state), *one.payloads]
            if state[-1:] == [b"last"]:
                break
        assert state == [b"all", b"last"]


async def test_kr_5_a_topic_that_is_deleted_or_created_anew_is_a_lost_log(world: World) -> None:
    async with world.log("gone") as a, world.log("gone", "b") as b:
        await a.claim()
        await a.commit([b"1"])
        following = asyncio.create_task(_next_error(b))
        await world.delete("gone")
        with pytest.raises(LogLost, match="was deleted"):
            await a.commit([b"2"])
        assert "was deleted" in str(await following)
    async with world.log("anew") as a, world.log("anew", "b") as b:
        await a.claim()
        for number in range(3):
            await a.commit([str(number).encode()])
        following = asyncio.create_task(_next_error(b))
        await world.delete("anew")
        await world.create("anew", [[1, 2, 3]])
        with pytest.raises(LogLost):
            await a.commit([b"into another topic"])
        assert "another one has its name" in str(await following)


async def test_kr_5_records_that_are_missing_at_either_end_or_are_others_are_a_lost_log(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader_calls, "LOOK_AGAIN_S", 0.05)
    async with world.log("short") as a, world.log("short", "b") as b:
        await a.claim()
        for number in range(3):
            await a.commit([str(number).encode()])
        calls = a._opened.writes  # type: ignore[union-attr]
        end = await a.end()
        for leader_epoch in (-1, 0):
            reading = TermReading(end + 1)
            reading.leader_epoch = leader_epoch
            with pytest.raises(LogLost, match=f"does not have the records before offset {end + 1} that"):
                await fetch(calls, reading, 0)
        leader = await calls.leader()
        calls._leader = leader._replace(epoch=leader.epoch + 1)
        assert (await calls.fetch(end, -1, 0)).error == 75
        assert (await fetch(calls, TermReading(end), 0)).end == end
        await calls.delete_before(2)
        for act in (b.claim, lambda: records_of(b)):
            with pytest.raises(LogLost, match="begins at offset 2 without a snapshot"):
                await act()
        arguments = ["log", "--bootstrap-server", world.bootstrap, "--topic", "short"]
        assert await asyncio.to_thread(main, arguments) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert "without a snapshot" in line
        assert "stop the servers, keep a copy of the topic" in line


async def _next_error(log: StateLog) -> LogError:
    try:
        async for _ in log.follow():
            pass
    except LogError as error:
        return error
    raise AssertionError


async def test_kr_5_records_of_strangers_hurt_nobody(world: World) -> None:
    async with world.log("foreign") as log, world.log("foreign", "b") as other:
        await log.claim()
        await log.commit([b"1"])
        calls = log._opened.writes  # type: ignore[union-attr]
        for producer, key in (((-1, -1), b"any"), ((424_242, 0), b"1:commit:0/1"), ((424_243, 0), b"")):
            batch = encode_batch([Record(key, b"garbage")] * 3, *producer, 0 if producer[0] >= 0 else -1, 0)
            assert (await calls.produce(batch)).error == 0
        await log.commit([b"2"])
        assert await committed(other) == [b"1", b"2"]
        left = [one async for some in other.read(to_end=True) for one in some if isinstance(one, LeftOut)]
        assert [one.next_offset - one.offset for one in left] == [3, 3, 3]
        await other.claim()
        await other.commit([b"3"])
        assert await committed(log) == [b"1", b"2", b"3"]


async def test_kr_5_a_leader_whose_epoch_was_forgotten_or_renewed_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.log("renewed") as log, world.log("renewed", "b") as other:
        term = await log.claim()
        await log.commit([b"1"])
        log._writer._sequence += 7  # type: ignore[union-attr]  # OUT_OF_ORDER_SEQUENCE_NUMBER, as after a lost state
        await log.commit([b"2", b"x" * 2_000_000, b"3"])
        monkeypatch.setattr(state_log_module, "RENEW_S", -1.0)
        keeping = asyncio.create_task(log.keep())

        async def is_renewed() -> bool:
            return (await records_of(other))[-1].term.epoch >= term.epoch + 3

        await eventually(is_renewed)
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeping
        await log.claim()
        await log.commit([b"4"])
        assert await committed(other) == [b"1", b"2", b"x" * 2_000_000, b"3", b"4"]


async def test_kr_5_a_commit_that_is_cancelled_is_in_doubt_until_the_next_claim(world: World) -> None:
    async with world.log("doubt") as log:
        await log.claim()
        await log.commit([b"1"])
        committing = asyncio.create_task(log.commit([b"2" * 3_000_000]))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        committing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await committing
        with pytest.raises(Fenced, match="in doubt"):
            await log.commit([b"3"])
        await log.claim()
        await log.commit([b"3"])
        found = await committed(log)
        assert found in ([b"1", b"3"], [b"1", b"2" * 3_000_000, b"3"])


async def test_kr_5_a_quota_delays_commits_and_loses_none(world: World) -> None:
    entry = AlterClientQuotasRequest.EntryData
    request = AlterClientQuotasRequest(
        entries=[
            entry(
                entity=[entry.EntityData(entity_type="client-id", entity_name="slow")],
                ops=[entry.OpData(key="producer_byte_rate", value=400_000.0, remove=False)],
            )
        ],
        validate_only=False,
    )
    async with world.router() as router, world.log("quota", "slow") as log:
        await router.ask_any(lambda _: request, AlterClientQuotasRequest)
        await log.claim()
        began = asyncio.get_running_loop().time()
        payloads = [str(number).encode() * 900_000 for number in range(8)]
        for one in payloads:
            await log.commit([one])
        assert asyncio.get_running_loop().time() - began > 1
        assert await committed(log) == payloads


async def test_kr_5_each_right_that_is_missing_is_named_and_those_of_the_page_suffice(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    settings = client_settings({"bootstrap_servers": [f"127.0.0.1:{port}" for port in world.guests], **GUEST})
    topic, transactional = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID

    async def trouble() -> str:
        try:
            async with StateLog(settings, topic="rights") as log:
                await log.claim()
                await log.commit([b"1"])
                caplog.clear()
                await log.snapshot([b"1"])
                return caplog.text
        except LogRefused as error:
            return str(error)

    for why, kind, operation in (
        ("may not see the topic rights", topic, ACLOperation.DESCRIBE),
        ("allow it WRITE and DESCRIBE there", transactional, ACLOperation.DESCRIBE),
        ("cannot be created", topic, ACLOperation.CREATE),
        ("allow this server DESCRIBE_CONFIGS", topic, ACLOperation.DESCRIBE_CONFIGS),
        ("allow it READ, WRITE and DELETE on the topic rights", topic, ACLOperation.READ),
        ("allow it WRITE and DESCRIBE on the transactional id rights", transactional, ACLOperation.WRITE),
        ("allow it READ, WRITE and DELETE on the topic rights", topic, ACLOperation.WRITE),
        ("stay until the next one", topic, ACLOperation.DELETE),
    ):

        async def is_named(why: str = why) -> bool:
            return why in await trouble()

        await eventually(is_named)
        await asyncio.to_thread(world.allow, kind, "rights", operation)

    async def is_quiet() -> bool:
        return await trouble() == ""

    await eventually(is_quiet)
    async with world.log("rights") as log:
        assert (await records_of(log))[0].kind is Kind.SNAPSHOT


async def test_kr_5_the_log_command_prints_what_counts_and_what_does_not(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    async with world.log("shown", "server-1") as log:
        await log.claim()
        await log.commit([b'{"move":1}', b"\xff\x00garbage" * 100])
        keeping = asyncio.create_task(log.keep())

        async def has_beaten() -> bool:
            return (await records_of(log))[-1].kind is Kind.HEARTBEAT

        await eventually(has_beaten)
        keeping.cancel()
        calls = log._opened.writes  # type: ignore[union-attr]
        await calls.produce(encode_batch([Record(b"", b"hello")], -1, -1, -1, 0))

    async def printed(*more: str, code: int = 0) -> str:
        arguments = ["log", "--bootstrap-server", world.bootstrap, "--topic", "shown", *more]
        assert await asyncio.to_thread(main, arguments) == code
        return capsys.readouterr().out

    lines = (await printed()).splitlines()
    assert lines[0].split() == ["OFFSET", "TERM", "TIME", "KIND", "PAYLOAD"]
    assert [line.split()[0] for line in lines[1:4]] == ["0", "1", "1"]
    assert 'claim       {"server":"server-1","previous":-1,"page":""}' in lines[1]
    assert 'commit 1/2  {"move":1}' in lines[2]
    assert lines[3].endswith("… (900 bytes)")
    assert lines[-1].endswith("left out    no record of this log")
    documents = [msgspec.json.decode(line) for line in (await printed("--json", "--heartbeats")).splitlines()]
    assert [one["kind"] for one in documents][:3] == ["claim", "commit", "heartbeat"]
    assert documents[1]["payloads"][0] == {"move": 1}
    assert documents[1]["payloads"][1].keys() == {"base64"}
    assert documents[1]["term"]["claim_offset"] == 0
    later = await printed("--from", "3", "--json", "--heartbeats")
    assert msgspec.json.decode(later.splitlines()[0])["next_offset"] == 4
    assert await printed("--from", "999", "--json") == ""


async def test_kr_5_the_log_command_follows_until_ctrl_c(world: World, tmp_path: Path) -> None:
    async with world.log("followed") as log:
        await log.claim()
        await log.commit([b"1"])
        shown = LoggedProcess(tmp_path / "shown.log")
        program = "from kafka_reassign_rpc.cli.main import main; raise SystemExit(main())"
        shown.launch(
            [
                *(sys.executable, "-c", program, "log", "--bootstrap-server", world.bootstrap, "--topic", "followed"),
                *("--from", "end", "--follow", "--json"),
            ]
        )

        async def commits() -> None:
            while True:
                await log.commit([b"2"])
                await asyncio.sleep(0.2)

        committing = asyncio.create_task(commits())
        await shown.wait_for_line(re.compile(rb'"payloads":\[2\]'))
        committing.cancel()
        shown.send(signal.SIGINT)
        assert await shown.ended() == 0
        assert b'"payloads":[1]' not in shown.printed()
        assert b"Traceback" not in shown.printed()
