"""What a scenario can do to a cluster, and what it records.

The session replaces everything that may differ between two runs before it records: topics get the scenario's own
names, sets are sorted, and of topic ids and epochs it only checks the promises (an id stays, an epoch never goes
down). It records answers as they came, and states once the cluster has come to rest.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
    UpdateFeaturesRequest,
)

from tests.waiting import eventually, pause_s

from .clusters import THROTTLED_REPLICAS, TOPIC, ComparedCluster

REST_SECONDS = 12
"""How long a cluster may take to come to rest; after that the session records the state as it is."""
LOG_SECONDS = 4
"""How long other logs may take to go, where stock Kafka never deletes one."""

Target = Sequence[int] | None
Key = tuple[str, int]

_COLLECTION = re.compile(r"(?:\w+)\(((?:-?\d+(?:, )?)*)\)")


class Session:
    """One run of one scenario on one cluster."""

    def __init__(self, cluster: ComparedCluster, scenario: str) -> None:
        self.cluster = cluster
        self.transcript: list[tuple[str, Any]] = []
        self.name = scenario.replace("_", "-").lower() + cluster.suffix
        self._topics: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._epochs: dict[Key, int] = {}

    def note(self, label: str, value: Any) -> None:
        self.transcript.append((label, value))

    def real(self, alias: str) -> str:
        """The topic's name in the cluster: the scenario's own name for it, made unique."""
        return self._topics.get(alias, alias)

    def alias(self, text: str) -> str:
        for alias, real in self._topics.items():
            text = text.replace(real, alias)
        return text

    # ------------------------------------------------------------------------------------------------ actions

    async def create(
        self, alias: str, assignment: Mapping[int, Sequence[int]], *, held: bool = False, name: str | None = None
    ) -> None:
        """Create a topic with these replicas; with `held`, its moves stay in flight until `release`."""
        self._topics[alias] = name or f"{alias}-{self.name}"
        self._ids.pop(alias, None)
        self._epochs = {key: epoch for key, epoch in self._epochs.items() if key[0] != alias}
        await self.cluster.create_topic(self.real(alias), assignment, held=held)

    async def release(self, *aliases: str) -> None:
        for alias in aliases:
            await self.cluster.release(self.real(alias))

    async def let_only_wait(self, alias: str, *replicas: int) -> None:
        """Of a held topic's partition 0, throttle only these replicas; the others copy at full speed."""
        held = ",".join(f"0:{replica}" for replica in replicas)
        await self.cluster.configure(TOPIC, self.real(alias), {THROTTLED_REPLICAS: held})

    async def alter(
        self,
        label: str,
        targets: Mapping[Key, Target] | Iterable[tuple[str, int, Target]],
        *,
        version: int = 0,
        allow: bool = True,
        node: int | None = None,
    ) -> None:
        """AlterPartitionReassignments; records the answer. A list of triples keeps duplicates apart, as asked."""
        if isinstance(targets, Mapping):
            targets = [(topic, index, target) for (topic, index), target in targets.items()]
        topics: list[tuple[str, list[tuple[int, list[int] | None]]]] = []
        for topic, index, target in targets:
            if not topics or topics[-1][0] != self.real(topic):
                topics.append((self.real(topic), []))
            topics[-1][1].append((index, None if target is None else list(target)))
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=30_000, allow_replication_factor_change=allow, topics=topics
        )
        answer = await self.cluster.ask(request, version, node)
        results = [
            (self.alias(topic["name"]), p["partition_index"], p["error_code"], self.text(p["error_message"]))
            for topic in answer["responses"]
            for p in topic["partitions"]
        ]
        top = {"error": answer["error_code"], "message": self.text(answer["error_message"])}
        self.note(label, {**top, "answers": sorted(results, key=repr)})

    async def cancel(self, label: str, *keys: Key) -> None:
        await self.alter(label, dict.fromkeys(keys))

    async def listing(
        self, label: str, wanted: Mapping[str, Sequence[int]] | None = None, *, node: int | None = None
    ) -> None:
        """ListPartitionReassignments; records what is shown of this scenario's topics."""
        answer = await self._listed(wanted, node)
        top = {"error": answer["error_code"], "message": self.text(answer["error_message"])}
        self.note(label, {**top, "moving": _by_partition(self, answer)})

    async def elect(self, label: str, *keys: Key, unclean: bool = False) -> None:
        """ElectLeaders for these partitions; records the answer."""
        topics: dict[str, list[int]] = {}
        for topic, index in keys:
            topics.setdefault(self.real(topic), []).append(index)
        request = ElectLeadersRequest(
            election_type=int(unclean), topic_partitions=list(topics.items()), timeout_ms=15_000
        )
        answer = await self.cluster.ask(request, 2)
        results = [
            (self.alias(topic["topic"]), p["partition_id"], p["error_code"], self.text(p["error_message"]))
            for topic in answer["replica_election_results"]
            for p in topic["partition_result"]
        ]
        self.note(label, {"error": answer["error_code"], "answers": sorted(results, key=repr)})

    async def update_features(
        self, label: str, *updates: tuple[str, int, int], version: int = 1, node: int | None = None
    ) -> None:
        """UpdateFeatures with (feature, level, type of update) each; records the answer."""
        update = UpdateFeaturesRequest.FeatureUpdateKey
        request = UpdateFeaturesRequest(
            timeout_ms=15_000,
            feature_updates=[
                update(feature=feature, max_version_level=level, allow_downgrade=False, upgrade_type=kind)
                for feature, level, kind in updates
            ],
            validate_only=False,
        )
        answer = await self.cluster.ask(request, version, node)
        results = [(r["feature"], r["error_code"], r["error_message"]) for r in answer["results"]]
        self.note(label, {"error": answer["error_code"], "answers": sorted(results)})

    async def grow(self, label: str, alias: str, count: int, assignments: Sequence[Sequence[int]]) -> None:
        """CreatePartitions; records the answer."""
        topic = (self.real(alias), count, [(list(replicas),) for replicas in assignments])
        answer = await self.cluster.ask(CreatePartitionsRequest(topics=[topic], timeout_ms=15_000), 3)
        results = [(self.alias(r["name"]), r["error_code"], self.text(r["error_message"])) for r in answer["results"]]
        self.note(label, results)

    async def configure(
        self, label: str, kind: int, name: str, changes: Sequence[tuple[str, int, str | None]], *, node: int = 2
    ) -> None:
        """IncrementalAlterConfigs of one resource; records the answer, and for a topic what is stored then."""
        answer = await self.cluster.ask(
            IncrementalAlterConfigsRequest(resources=[(kind, name, list(changes))]), 1, node
        )
        answers = [[r["error_code"], self.text(r["error_message"])] for r in answer["responses"]]
        alias = self.alias(name)
        self.note(label, [*answers, await self.stored_configs(alias)] if alias in self._topics else answers)

    async def delete(self, label: str, alias: str) -> None:
        """DeleteTopics; records the answer. It waits for at most a second."""
        request = DeleteTopicsRequest(topics=[(self.real(alias), None)], timeout_ms=1_000)
        answer = await self.cluster.ask(request, 6)
        self.note(label, [(self.alias(r["name"]), r["error_code"]) for r in answer["responses"]])

    # ------------------------------------------------------------------------------------------------ observations

    async def settled(self, *aliases: str, timeout: float = 30) -> None:
        """Wait until nothing moves in these topics (all of the scenario's if none is named)."""
        names = [self.real(alias) for alias in aliases or self._topics]

        async def are_settled() -> bool:
            return all(topic["name"] not in names for topic in (await self._listed(None, None))["topics"])

        await eventually(are_settled, within=timeout)

    async def in_sync(self, alias: str, index: int, *replicas: int, timeout: float = 20) -> None:
        """Wait until the partition's ISR is exactly these replicas. Raises AssertionError where it stays another."""

        async def is_so() -> bool:
            found = await self.cluster.stored_state(self.real(alias), index)
            return sorted(found.get("isr", [])) == sorted(replicas)

        await eventually(is_so, within=timeout)

    async def until_gone(self, alias: str, timeout: float = 30) -> None:
        """Wait until a deleted topic is gone."""

        async def is_gone() -> bool:
            return not await self.cluster.stored_topic(self.real(alias))

        await eventually(is_gone, within=timeout)

    async def state(self, label: str, *, log_stays: bool = False) -> None:
        """Record what ZooKeeper, Metadata, List and the log dirs say of every topic, once they agree.

        `log_stays`: stock Kafka keeps a log that is no longer needed.
        """
        clock = asyncio.get_running_loop().time
        began = since = clock()
        last: dict[str, dict[int, dict[str, Any]]] = {}
        while True:
            states = {alias: await self._topic_state(alias) for alias in self._topics}
            if states != last:
                last, since = states, clock()
            if all(map(_at_rest, states.values())) or clock() > began + REST_SECONDS:
                break
            is_kept = log_stays and self.cluster.keeps_logs and all(map(_but_for_logs, states.values()))
            if is_kept and clock() > since + LOG_SECONDS:
                break
            await asyncio.sleep(2 * pause_s(clock() - began))
        self.note(label, states)

    async def stored_configs(self, alias: str) -> dict[str, str]:
        return await self.cluster.stored_configs(self.real(alias))

    async def assignments(self, alias: str) -> dict[str, Any]:
        """The topic's replica sets once its znode shows no move (removed replicas are in it until they are gone)."""

        async def at_rest() -> dict[str, Any] | None:
            znode = await self.cluster.stored_topic(self.real(alias))
            return None if znode.get("adding_replicas") or znode.get("removing_replicas") else znode

        znode: dict[str, Any] = await eventually(at_rest, within=REST_SECONDS)
        partitions: dict[str, Any] = znode.get("partitions", {})
        return partitions

    async def _listed(self, wanted: Mapping[str, Sequence[int]] | None, node: int | None) -> dict[str, Any]:
        topics = None if wanted is None else [(self.real(topic), list(indexes)) for topic, indexes in wanted.items()]
        return await self.cluster.ask(ListPartitionReassignmentsRequest(timeout_ms=30_000, topics=topics), 0, node)

    async def _topic_state(self, alias: str) -> dict[int, dict[str, Any]]:
        real = self.real(alias)
        znode = await self.cluster.stored_topic(real)
        (shown,) = (await self.cluster.metadata([real]))["topics"]
        indexes = [int(text) for text in znode.get("partitions", {})]
        moving = _by_partition(self, await self._listed({alias: indexes}, None))
        dirs = await self.cluster.log_dirs(real, indexes)
        self._keep_id(alias, znode.get("topic_id"))
        states: dict[int, dict[str, Any]] = {}
        for text, replicas in sorted(znode.get("partitions", {}).items()):
            state = await self.cluster.stored_state(real, int(text))
            states[int(text)] = {
                "znode": {
                    "replicas": replicas,
                    "adding": znode.get("adding_replicas", {}).get(text, []),
                    "removing": znode.get("removing_replicas", {}).get(text, []),
                    "leader": state.get("leader"),
                    "isr": sorted(state.get("isr", [])),
                },
                "logs": dirs.get(int(text), []),
                "listed": moving.get(f"{alias}-{text}"),
            }
        for p in shown["partitions"]:
            self._keep_epoch((alias, p["partition_index"]), p["leader_epoch"])
            states.setdefault(p["partition_index"], {})["metadata"] = {
                "replicas": p["replica_nodes"],
                "leader": p["leader_id"],
                "isr": sorted(p["isr_nodes"]),
                "offline": sorted(p["offline_replicas"]),
            }
        return {index: _plain(state, self.cluster.live) for index, state in states.items()}

    def text(self, message: str | None) -> str | None:
        """A message without its varying parts: real topic names, and the order and type of a printed collection."""
        if message is None:
            return None
        return _COLLECTION.sub(lambda found: f"({', '.join(sorted(found[1].split(', ')))})", self.alias(message))

    def _keep_id(self, alias: str, topic_id: str | None) -> None:
        if topic_id is not None and self._ids.setdefault(alias, topic_id) != topic_id:
            raise AssertionError(f"{self.cluster.name}: the id of {alias} changed")

    def _keep_epoch(self, key: Key, epoch: int) -> None:
        if epoch < self._epochs.get(key, -1):
            raise AssertionError(f"{self.cluster.name}: the leader epoch of {key} fell to {epoch}")
        self._epochs[key] = epoch


def _by_partition(session: Session, listed: dict[str, Any]) -> dict[str, list[list[int]]]:
    """List's entries for the session's own topics: by partition its replicas, adding and removing replicas."""
    own = set(session._topics.values())
    return {
        f"{session.alias(topic['name'])}-{p['partition_index']}": [
            p["replicas"],
            p["adding_replicas"],
            p["removing_replicas"],
        ]
        for topic in sorted(listed["topics"], key=lambda topic: topic["name"])
        if topic["name"] in own
        for p in sorted(topic["partitions"], key=lambda p: p["partition_index"])
    }


def _at_rest(topic: dict[int, dict[str, Any]]) -> bool:
    """Whether ZooKeeper, Metadata, List and the log dirs agree about the topic."""
    return all(state.keys() <= _SHOWN for state in topic.values())


def _but_for_logs(topic: dict[int, dict[str, Any]]) -> bool:
    """Whether they agree, except for logs of brokers that no longer have a replica."""
    return all(
        state.keys() <= _SHOWN | {"logs"} and {*state["replicas"]} <= {*state.get("logs", state["replicas"])}
        for state in topic.values()
    )


_SHOWN = {"replicas", "adding", "removing", "leader", "isr"}


def _plain(state: dict[str, Any], live: set[int]) -> dict[str, Any]:
    """A partition as Metadata and List show it; and what ZooKeeper and the log dirs say where they disagree."""
    if "znode" not in state or "metadata" not in state:
        return state
    metadata = state["metadata"]
    replicas, adding, removing = state["listed"] or (metadata["replicas"], [], [])
    shown = {"replicas": replicas, "adding": adding, "removing": removing}
    shown |= {"leader": metadata["leader"], "isr": metadata["isr"]}
    agreed = {
        "znode": shown,
        "metadata": {key: shown[key] for key in ("replicas", "leader", "isr")}
        | {"offline": sorted(set(replicas) - live)},
        "logs": sorted(set(replicas) & live),
        "listed": state["listed"],
    }
    apart = {key: value for key, value in state.items() if value != agreed[key]}
    return {key: value for key, value in shown.items() if value != []} | apart
