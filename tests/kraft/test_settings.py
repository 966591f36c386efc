"""Settings of all servers in front of KRaft: records of the state log, changed by clients of the front."""

from collections.abc import Mapping, Sequence

import pytest

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.controller.lifecycle.moves_service import MovesService
from kafka_reassign_rpc.core.config_values import BROKERS
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.kafka_errors import InvalidConfig, NotController, PolicyViolation
from kafka_reassign_rpc.core.settings.healing_settings import PAUSED
from kafka_reassign_rpc.core.settings.reassignment_settings import CORDONED_BROKERS, ENABLED, InFlightCaps
from kafka_reassign_rpc.core.settings.windows import WINDOWS
from kafka_reassign_rpc.core.state.requesters import CONTROLLER, client
from kafka_reassign_rpc.kraft import kraft_store, round_records
from kafka_reassign_rpc.kraft.front.answer_patches import MOST_BYTES, is_about_settings
from kafka_reassign_rpc.kraft.kraft_commands import ChangeSettings
from kafka_reassign_rpc.kraft.kraft_node import APIS, MOVES_APIS, ServedSettings
from kafka_reassign_rpc.kraft.round_records import RoundRecord, Setting
from kafka_reassign_rpc.protocol.frame_codec import encode_request
from kafka_reassign_rpc.protocol.messages import (
    ApiMessage,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    MetadataRequest,
)
from tests.kraft.memory_term import NAME, OTHER, THIRD, Here
from tests.tables import for_each
from tests.waiting import eventually

ALICE = client("User:alice", "ops", "10.0.0.7")
CAP = "partition.reassignments.max.per.cluster"


async def change(here: Here, values: Mapping[str, str | None]) -> None:
    def changed(current: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in {**current, **values}.items() if value is not None}

    await here.loop.submit(ChangeSettings(changed, ALICE))


async def test_kr_7_a_cap_of_0_is_logged_with_what_follows(caplog: pytest.LogCaptureFixture) -> None:
    here = Here()
    async with here.term():
        await change(here, {CAP: "0"})
    async with here.term():
        pass
    said = f"{CAP}=0: no move that copies anything starts, no repair either"
    assert caplog.text.count(said) == 1, "a server says it once, not in each of its terms"


async def test_kr_7_a_setting_holds_at_once_outlives_its_server_and_a_snapshot_and_says_who_has_set_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kraft_store, "SNAPSHOT_S", 0.01)
    here = Here()
    async with here.term() as loop:
        await change(here, {PAUSED: "true", CORDONED_BROKERS: "4"})
        assert loop.cluster.soft.in_force.healing.paused
        assert loop.cluster.set_by(PAUSED) == ALICE
        await change(here, {CORDONED_BROKERS: None})
        await change(here, {})
        here.writer.snapshot_is_due = True
        await eventually(lambda: not here.writer.snapshot_is_due)
    async with here.term() as loop:
        assert loop.cluster.settings == {PAUSED: "true"}
        assert loop.cluster.soft.in_force.healing.paused
        assert loop.cluster.set_by(CORDONED_BROKERS) == ALICE, "who has deleted it, too"
        await change(here, {PAUSED: None})
        assert not here.loop.cluster.soft.in_force.healing.paused
    changed = [one for one in here.events if one.event == catalogue.CONFIG_CHANGED]
    assert [one.reason for one in changed] == [
        f"settings of all servers: {CORDONED_BROKERS} unset -> 4, {PAUSED} unset -> true",
        f"settings of all servers: {CORDONED_BROKERS} 4 -> unset",
        f"settings of all servers: {PAUSED} true -> unset",
    ]
    assert {one.principal for one in changed} == {"User:alice"}
    assert [one.event for one in here.events if one.event.startswith("heal.")] == [
        catalogue.HEAL_PAUSED,
        catalogue.HEAL_PAUSED,
        catalogue.HEAL_RESUMED,
    ], "the second is that of the next server"


async def test_236_6_disabled_reassignments_refuse_targets_let_cancels_through_and_stay_so_after_a_take_over() -> None:
    here = Here()
    async with here.term():
        await here.ask(NAME, (3, 2))
        await change(here, {ENABLED: "false"})
        assert isinstance((await here.answers([OTHER], (3, 1)))[OTHER], PolicyViolation)
        assert await here.asked_by_api(THIRD, (4, 2), queue=True) is None
        await eventually(lambda: catalogue.ENTRY_WAITING in {one.event for one in here.events})
        await here.ask(NAME, None)
    async with here.term():
        assert isinstance((await here.answers([OTHER], (3, 1)))[OTHER], PolicyViolation)
        await change(here, {ENABLED: None})
        await here.ask(OTHER, (3, 1))
    switched = [one for one in here.events if one.event == catalogue.REASSIGNMENTS_ENABLED]
    assert [one.principal for one in switched] == ["User:alice"]


async def test_kr_7_a_cap_that_is_raised_and_a_window_that_opens_start_what_waits() -> None:
    here = Here()
    async with here.term(InFlightCaps(per_cluster=1)) as loop:
        await here.ask(NAME, (3, 2))
        await here.ask(THIRD, (4, 2))
        assert here.named(catalogue.MOVE_WAITING) == [THIRD]
        await change(here, {CAP: "9"})
        await eventually(lambda: here.cluster.partitions[THIRD].at.is_moving)
        await change(here, {WINDOWS: "fri 00:00-00:01 UTC"})
        await eventually(lambda: loop.cluster.soft.window is not None)
        await here.ask(OTHER, (3, 1))
        assert here.named(catalogue.MOVE_WAITING) == [THIRD, OTHER]
        await change(here, {WINDOWS: "tue 00:00-24:00 UTC"})
        await eventually(lambda: here.cluster.partitions[OTHER].at.is_moving)


async def test_kr_7_a_change_that_is_refused_changes_nothing_and_other_commands_of_its_round_go_on() -> None:
    here = Here()

    def refused(_: Mapping[str, str]) -> Mapping[str, str]:
        raise InvalidConfig("no")

    async with here.term() as loop:
        before = len(here.log.records)
        with pytest.raises(InvalidConfig):
            await loop.submit(ChangeSettings(refused, ALICE))
        assert len(here.log.records) == before
        assert loop.cluster.settings == {}


async def test_kr_7_a_setting_of_a_later_version_stays_and_is_not_shown() -> None:
    here = Here()
    async with here.term() as loop:
        await here.writer.commit([round_records.encode(RoundRecord(at=1, settings=[Setting("later.one", "5")]))])
    async with here.term() as loop:
        await change(here, {PAUSED: "true"})
        assert loop.cluster.settings == {"later.one": "5", PAUSED: "true"}
    assert here.log.replayed().set_now == {"later.one": "5", PAUSED: "true"}


class Node:
    """As far as requests about settings need it."""

    node_id = 1_000
    static_configs: Mapping[str, str] = {CAP: "7"}

    def __init__(self, service: MovesService) -> None:
        self.configs = self.settings = ServedSettings(self.node_id, service)

    async def unknown_settings(self, _names: Sequence[str], _timeout_ms: int = 0) -> Sequence[str]:
        return ()


def served(here: Here) -> Node:
    service = MovesService()
    service.begin(here.begun, lambda: 1.0)
    return Node(service)


def context(key: int) -> RequestContext:
    return RequestContext(key, MOVES_APIS[key].max_version, 1, "ops", principal="User:alice", client_host="10.0.0.7")


async def test_kr_7_clients_change_and_read_settings_at_whatever_node_they_take_for_the_controller() -> None:
    here = Here()
    async with here.term() as loop:
        node = served(here)
        altered = await APIS[44].handle(node, alter("2", {CORDONED_BROKERS: "4"}, operation=2), context(44))  # type: ignore[misc]
        assert [(one.error_code, one.resource_name) for one in altered.responses] == [(0, "2")]
        await APIS[44].handle(node, alter("2", {CORDONED_BROKERS: "5"}, operation=2), context(44))  # type: ignore[misc]
        assert loop.cluster.settings == {CORDONED_BROKERS: "4,5"}
        assert loop.cluster.set_by(CORDONED_BROKERS) == ALICE._replace(listener="PLAINTEXT")
        bad = await APIS[44].handle(node, alter("2", {PAUSED: "maybe"}), context(44))  # type: ignore[misc]
        assert [one.error_code for one in bad.responses] == [42]
        described = await APIS[32].handle(node, describe("3", [CORDONED_BROKERS, CAP, PAUSED]), context(32))  # type: ignore[misc]
        [found] = described.results
        assert (found.error_code, found.resource_name) == (0, "3")
        assert {one.name: one.value for one in found.configs} == {CORDONED_BROKERS: "4,5", CAP: "7", PAUSED: "false"}
        assert not (await node.settings.move(ALICE)).moved
    with pytest.raises(NotController):
        await node.configs.get(BROKERS, "1000")
    with pytest.raises(NotController):
        await node.configs.alter(BROKERS, "1000", lambda current: current, CONTROLLER)


async def test_kr_7_a_server_in_front_of_kraft_has_no_configs_but_settings() -> None:
    here = Here()
    async with here.term() as loop:
        node = served(here)
        with pytest.raises(InvalidConfig, match=r"num\.io\.threads"):
            await node.configs.alter(BROKERS, "1000", lambda _: {"num.io.threads": "8", PAUSED: "true"}, ALICE)
        assert loop.cluster.settings == {}


def alter(broker: str, values: Mapping[str, str], operation: int = 0, kind: int = 4) -> IncrementalAlterConfigsRequest:
    one = IncrementalAlterConfigsRequest.AlterConfigsResource
    configs = [
        one.AlterableConfig(name=name, config_operation=operation, value=value) for name, value in values.items()
    ]
    return IncrementalAlterConfigsRequest(
        resources=[one(resource_type=kind, resource_name=broker, configs=configs)], validate_only=False
    )


def describe(broker: str, names: Sequence[str] | None, kind: int = 4, times: int = 1) -> DescribeConfigsRequest:
    one = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        resources=[one(resource_type=kind, resource_name=broker, configuration_keys=names)] * times,
        include_synonyms=True,
        include_documentation=False,
    )


SERVED = {key: (api.min_version, api.max_version) for key, api in MOVES_APIS.items()}


@for_each(
    "request_, version, ours",
    [
        (alter("2", {PAUSED: "true"}), 1, True),
        (alter("2", {PAUSED: "true"}), 0, True),
        (alter("2", {PAUSED: "true", "log.retention.ms": "5"}), 1, False),
        (alter("2", {}), 1, False),
        (alter("t", {PAUSED: "true"}, kind=2), 1, False),
        (alter("2", {WINDOWS: "x" * MOST_BYTES}), 1, False),
        (describe("2", [PAUSED, CAP]), 4, True),
        (describe("2", [PAUSED, CAP]), 1, True),
        (describe("2", None), 4, False),
        (describe("2", []), 4, False),
        (describe("2", [PAUSED, "log.dirs"]), 4, False),
        (describe("2", [PAUSED], times=2), 4, False),
        (describe("t", [PAUSED], kind=2), 4, False),
        (MetadataRequest(topics=None, allow_auto_topic_creation=False), 12, False),
    ],
)
def test_kr_9_requests_about_settings_of_servers_alone_are_answered_here(
    request_: ApiMessage, version: int, ours: bool
) -> None:
    frame = encode_request(request_, version=version, correlation_id=1, client_id="ops")[4:]
    assert is_about_settings(frame, SERVED) is ours
    assert not is_about_settings(frame, {}), "a handler that knows none has none"
    assert not is_about_settings(frame[:-3], SERVED), "a broker says what is wrong with it"
