"""Asks every live broker whether it accepts cluster-wide configs, before they are written.

The registered brokers are read for each question, and again after all have answered: one that has registered in between
is asked as well. See docs/decisions/0007-brokers-judge-their-defaults.md.

A broker is asked by IncrementalAlterConfigs with validateOnly. It judges all configs
together, as after the change, with its start-up settings, own configs, threads and class path. What it accepts and yet
cannot live with shows in its answers to DescribeConfigs (`core.restarts.ending_values.later_trouble`).
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kafka_reassign_rpc.api.config_ports import DefaultsChange
from kafka_reassign_rpc.controller.loading.load_cluster import read_brokers
from kafka_reassign_rpc.core.kafka_errors import (
    BrokerNotAvailable,
    ClusterAuthorizationFailed,
    InvalidRequest,
    KafkaError,
    RequestTimedOut,
    of_code,
)
from kafka_reassign_rpc.core.restarts.ending_values import COUNT_LATER, later_trouble
from kafka_reassign_rpc.core.state.broker import Broker
from kafka_reassign_rpc.protocol.frame_errors import ProtocolError
from kafka_reassign_rpc.protocol.messages import IncrementalAlterConfigsRequest
from kafka_reassign_rpc.support.counted import those
from kafka_reassign_rpc.transport.broker_answers import ConfigEntry, broker_configs
from kafka_reassign_rpc.transport.broker_links import BrokerLinks
from kafka_reassign_rpc.transport.rpc_client import RpcClient
from kafka_reassign_rpc.zookeeper import znode_paths
from kafka_reassign_rpc.zookeeper.zookeeper_client import ZooKeeper
from kafka_reassign_rpc.zookeeper.zookeeper_errors import ZkError

_BROKER, _SET, _DELETE = 4, 0, 1
_OWN, _STATIC, _BUILT_IN = 2, 4, 5
"""Kafka's DescribeConfigsResponse.ConfigSource: a broker's dynamic configs, its static ones, the defaults."""
MOST_TRIED = 30
"""How many configs are tried one by one at most, to find the one that a broker cannot apply."""


class NoAnswer(ConnectionError): ...


class Refusal(NamedTuple):
    """standing   the broker also refuses the configs that are set already
    culprits   configs without which it takes the rest, as far as they are known
    """

    error: KafkaError
    standing: bool = False
    culprits: Collection[str] = ()


async def judge(client: RpcClient, broker: int, change: DefaultsChange) -> Refusal | None:
    """None if the broker accepts the change and would start with it. Raises ConfigsRefused, NoAnswer, and what
    `RpcClient.call` raises.
    """
    error = await _validated(client, change.steps)
    if error is None:
        return await _later(client, broker, change) if change.steps.keys() & COUNT_LATER.keys() else None
    if isinstance(error, ClusterAuthorizationFailed):
        return Refusal(
            ClusterAuthorizationFailed(
                f"Broker {broker} does not say to this server whether it accepts the change: give the principal of this"
                " server's login ALTER_CONFIGS on the cluster there (kafka-acls.sh --cluster --operation AlterConfigs),"
                " or name it in super.users. Your own rights suffice."
            )
        )
    if not change.steps or await _validated(client, {}) is None:
        return Refusal(error)
    return Refusal(error, standing=True, culprits=await _culprits(client, change.before))


async def judge_standing(client: RpcClient, broker: int, standing: Mapping[str, str]) -> Refusal | None:
    error = await _validated(client, {})
    if error is None:
        return await _later(client, broker, DefaultsChange({}, standing), tried=standing)  # its own configs count too
    if isinstance(error, ClusterAuthorizationFailed):
        raise NoAnswer("it gives this principal no ALTER_CONFIGS on the cluster")
    return Refusal(error, standing=True, culprits=await _culprits(client, standing))


async def _culprits(client: RpcClient, standing: Mapping[str, str]) -> list[str]:
    return [name for name in sorted(standing)[:MOST_TRIED] if await _validated(client, {name: None}) is None]


async def _validated(client: RpcClient, steps: Mapping[str, str | None]) -> KafkaError | None:
    version = await client.version(IncrementalAlterConfigsRequest)
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    configs = [
        resource.AlterableConfig(
            version=version, name=name, config_operation=_DELETE if value is None else _SET, value=value
        )
        for name, value in steps.items()
    ]
    asked = resource(version=version, resource_type=_BROKER, resource_name="", configs=configs)
    request = IncrementalAlterConfigsRequest(version=version, resources=[asked], validate_only=True)
    results = (await client.call(IncrementalAlterConfigsRequest, request, version)).responses
    if len(results) != 1:
        raise NoAnswer(f"{len(results)} results for one resource")
    code = results[0].error_code
    return None if code == 0 else of_code(code, results[0].error_message)


async def _later(
    client: RpcClient, broker: int, change: DefaultsChange, tried: Mapping[str, str] | None = None
) -> Refusal | None:
    entries = await broker_configs(client, broker, COUNT_LATER)
    current = {entry.name: entry.value for entry in entries if entry.value is not None} | dict(tried or {})
    unlisted = {name: value for name, value in change.after.items() if name in COUNT_LATER}
    new = unlisted | {entry.name: value for entry in entries if (value := _value(entry, change.after)) is not None}
    trouble = later_trouble(current, new)
    if trouble is None:
        return None
    culprits = [name for name in trouble.names if name in change.after]
    return Refusal(InvalidRequest(f"Broker {broker} would accept this, but {trouble}."), culprits=culprits)


def _value(entry: ConfigEntry, defaults: Mapping[str, str]) -> str | None:
    found = {synonym.source: synonym.value for synonym in entry.synonyms or () if synonym.name == entry.name}
    if _OWN in found:
        return found[_OWN]
    return defaults.get(entry.name, found.get(_STATIC, found.get(_BUILT_IN)))


AT_ONCE = 50
"""How many brokers are asked at the same time."""
ANSWER_S = 10.0
"""How long a broker may take."""
WHOLE_S = 25.0
"""How long all may take together, with those of the questions before: less than Kafka's request.timeout.ms."""
LOOKS = 5
SHOWN = 5


class Verdict(NamedTuple):
    """`silence` says why there is no answer; empty if there is one."""

    broker: int
    refusal: Refusal | None = None
    silence: str = ""


class DefaultsJudge:
    def __init__(self, zk: ZooKeeper, links: BrokerLinks, client_id: str) -> None:
        self._zk = zk
        self._links = links
        self._client_id = client_id
        self._turn = asyncio.Lock()

    async def accept(self, change: DefaultsChange) -> None:
        try:
            async with asyncio.timeout(WHOLE_S), self._turn:
                await self._accept(change)
        except TimeoutError:
            raise RequestTimedOut(
                f"Nothing is changed: the brokers have not all answered within {WHOLE_S:g} s. Try again."
            ) from None
        except ZkError as error:
            raise BrokerNotAvailable(f"ZooKeeper cannot be asked: {error}") from error

    async def _accept(self, change: DefaultsChange) -> None:
        asked: dict[int, Broker] = {}
        for _ in range(LOOKS):
            live = await self._zk.reading(self._live)
            if not live:
                raise RequestTimedOut(
                    "Nothing is changed: no broker is live, and only brokers know whether they can work with these"
                    " configs. Try again when one is."
                )
            new = [broker for id_, broker in live.items() if asked.get(id_) != broker]
            if not new:
                return
            decide(await self._ask_all(new, change))
            asked.update({broker.id: broker for broker in new})
        raise RequestTimedOut("Nothing is changed: brokers come and go all the time. Try again.")

    async def _live(self) -> Mapping[int, Broker]:
        """Raises RequestTimedOut if a registered broker cannot be decoded."""
        brokers = await read_brokers(self._zk)
        registered = await self._zk.children(znode_paths.BROKER_IDS)
        unknown = [name for name in registered if name not in {str(id_) for id_ in brokers}]
        if unknown:
            raise RequestTimedOut(
                f"Nothing is changed: {those(unknown, verb='have', most=SHOWN)} only just registered, or"
                f" {'its' if len(unknown) == 1 else 'their'} registration in {znode_paths.BROKER_IDS} makes no sense,"
                f" so that {'it' if len(unknown) == 1 else 'they'} cannot be asked. Try again."
            )
        return brokers

    async def _ask_all(self, brokers: Sequence[Broker], change: DefaultsChange) -> list[Verdict]:
        room = asyncio.Semaphore(AT_ONCE)

        async def limited(broker: Broker) -> Verdict:
            async with room:
                return await self._ask(broker, change)

        return list(await asyncio.gather(*(limited(broker) for broker in sorted(brokers, key=lambda one: one.id))))

    async def _ask(self, broker: Broker, change: DefaultsChange) -> Verdict:
        client: RpcClient | None = None
        try:
            async with asyncio.timeout(ANSWER_S):
                client = await self._links.open(broker, self._client_id, ANSWER_S)
                return Verdict(broker.id, await judge(client, broker.id, change))
        except TimeoutError:
            return Verdict(broker.id, silence=f"no answer within {ANSWER_S:g} s")
        except (OSError, EOFError, ProtocolError) as error:
            return Verdict(broker.id, silence=str(error) or type(error).__name__)
        finally:
            if client is not None:
                client.close()


def decide(verdicts: Sequence[Verdict]) -> None:
    """Raises the error of the first broker that refuses, else RequestTimedOut if one has not answered. Pure."""
    refusing = [(one.broker, one.refusal) for one in verdicts if one.refusal is not None]
    if refusing:
        raise _answer(*refusing[0], alone=len(refusing) < len(verdicts))
    silent = [f"broker {one.broker} ({one.silence})" for one in verdicts if one.silence]
    if silent:
        raise RequestTimedOut(
            "Nothing is changed: it is not known whether every live broker accepts it. No answer came from"
            f" {', '.join(silent[:SHOWN])}. Try again when they answer, or when they are gone."
        )


def _answer(broker: int, refusal: Refusal, *, alone: bool) -> KafkaError:
    """The broker's own code and message, with what is already in the way."""
    text = f"Broker {broker}: {refusal.error}" if alone else str(refusal.error)
    if refusal.standing:
        named = ", ".join(list(refusal.culprits)[:SHOWN])
        blamed = f"delete or correct {named}" if named else "delete or correct what does not fit together there"
        text = (
            f"{text}. Broker {broker} refuses every change of the cluster-wide configs, since it cannot apply what is"
            f" set already: {blamed} first (kafka-configs --entity-type brokers --entity-default)"
        )
    return of_code(refusal.error.code, text)
