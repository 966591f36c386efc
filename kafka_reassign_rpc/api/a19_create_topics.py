"""CreateTopics, with counts or with an assignment.

The order of checks is that of ZkAdminManager.createTopics, then come the controller's, then configs and policies. The
brokers' counts and policies may be unknown a moment after the start of a server: then the request waits for its
timeout, at most 5 s, before a topic with counts of -1 fails with REQUEST_TIMED_OUT, and any topic if brokers refuse to
answer. A topic that is created but not in time also gets REQUEST_TIMED_OUT (see `ControllerPort.create_topics`).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import msgspec

from kafka_reassign_rpc.api.access import Access
from kafka_reassign_rpc.api.answer_fields import ZERO_UUID, is_visible, message_of
from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Answer, RequestContext, served
from kafka_reassign_rpc.api.config_entries import ConfigEntry, topic_entries
from kafka_reassign_rpc.api.large_requests import answer_with, replicas
from kafka_reassign_rpc.api.left_to_brokers import check_create_topic, check_known
from kafka_reassign_rpc.api.ports import CreatedTopic, NewTopic, Node, mutation_quota, required_controller
from kafka_reassign_rpc.core.configs.config_definitions import ConfigValueError
from kafka_reassign_rpc.core.configs.config_layers import TIERED_STORAGE, ConfigLayers, LiveBrokers
from kafka_reassign_rpc.core.configs.config_rules import validate_topic_configs
from kafka_reassign_rpc.core.kafka_errors import (
    InvalidConfig,
    InvalidRequest,
    KafkaError,
    TopicAlreadyExists,
    TopicAuthorizationFailed,
)
from kafka_reassign_rpc.core.settings.broker_settings import CREATE_TOPIC_POLICY
from kafka_reassign_rpc.core.state.partition import Topic
from kafka_reassign_rpc.core.topics.topic_changes import BROKER_DEFAULT
from kafka_reassign_rpc.protocol.messages import CreateTopicsRequest, CreateTopicsResponse
from kafka_reassign_rpc.support.slices import emptied
from kafka_reassign_rpc.support.turns import in_turns, rest

_Result = CreateTopicsResponse.CreatableTopicResult
_Config = _Result.CreatableTopicConfigs
_FIRST_WITH_CONFIGS = 5
_DUPLICATE = "Found multiple entries for this topic."
ELEMENTS = 20_000
"""Topics, configs and assigned partitions of a request. Stock Kafka in KRaft mode creates at most 10,000 partitions for
one."""
_CONFIGS = 30
"""About how many configs a topic has."""

Outcome = KafkaError | CreatedTopic


async def handle(node: Node, request: CreateTopicsRequest, ctx: RequestContext) -> Answer:
    controller = required_controller(node)
    needed = await _needed(request)
    unknown = await node.unknown_settings(needed, request.timeout_ms)
    controller = required_controller(node)  # since it has waited
    counts = Counter(topic.name for topic in request.topics)
    known = node.topics_now()
    if known is None:
        known = await node.topics(list(counts))
    outcomes: dict[str, Outcome] = {}
    brokers = await node.live_brokers(answered=TIERED_STORAGE in needed)
    accepted = await _accepted(node, request, counts, known, outcomes, ctx.access, unknown, brokers)
    # Before anything is created: after that nothing may fail.
    layers = await node.topic_layers() if ctx.api_version >= _FIRST_WITH_CONFIGS else ConfigLayers()
    validate_only = ctx.api_version >= 1 and request.validate_only
    controller = required_controller(node)  # since it has waited
    quota = mutation_quota(node, ctx, 6)
    if accepted:
        created = await controller.create_topics(
            list(accepted.values()),
            validate_only=validate_only,
            quota=quota,
            timeout_ms=request.timeout_ms,
            ctx=ctx,
        )
        outcomes.update(created)
    same: list[list[_Config]] = []

    def configs(name: str) -> list[_Config] | None:
        if ctx.api_version < _FIRST_WITH_CONFIGS or not may_show(name):
            return None
        set_here = accepted[name].configs
        if set_here or not same:
            found = _configs(ctx.api_version, topic_entries(set_here, layers))
            if set_here:
                return found
            same.append(found)  # of all topics that set none
        return same[0]

    def may_show(name: str) -> bool:
        return ctx.access.may(AclOperation.DESCRIBE_CONFIGS, AclResource.TOPIC, name, log_if_denied=False)

    answer = await _message(
        ctx.api_version,
        ((topic.name, outcomes[topic.name]) for topic in request.topics),
        len(request.topics),
        configs,
        may_show,
        throttle_ms=quota.throttle_time_ms(),
    )
    await in_turns(emptied(accepted, outcomes))
    return answer


async def _accepted(
    node: Node,
    request: CreateTopicsRequest,
    counts: Mapping[str, int],
    known: Mapping[str, Topic],
    outcomes: dict[str, Outcome],
    access: Access,
    unknown: Collection[str],
    brokers: LiveBrokers,
) -> dict[str, NewTopic]:
    """The topics that the controller is asked to create. The errors of the others go into `outcomes`."""
    accepted: dict[str, NewTopic] = {}
    may_all = access.may_on_cluster(AclOperation.CREATE, log_if_denied=False)
    for topic in request.topics:
        await rest()
        if counts[topic.name] > 1:
            outcomes[topic.name] = InvalidRequest(_DUPLICATE)
            continue
        if not may_all and not access.may(AclOperation.CREATE, AclResource.TOPIC, topic.name):
            outcomes[topic.name] = TopicAuthorizationFailed("Authorization failed.")
            continue
        try:
            if is_visible(known.get(topic.name)):
                raise TopicAlreadyExists(f"Topic '{topic.name}' already exists.")
            new = _new_topic(topic)
            check_known([name for name in _settings_of(topic) if name in unknown])
            accepted[topic.name] = _checked(node, new, brokers)
        except KafkaError as error:
            outcomes[topic.name] = error.as_answer()
    return accepted


async def _needed(request: CreateTopicsRequest) -> list[str]:
    needed: dict[str, None] = {}
    for topic in request.topics:
        needed.update(dict.fromkeys(_settings_of(topic)))
        if topic.configs:
            needed[TIERED_STORAGE] = None
        await rest()
    return list(needed)


def _settings_of(topic: CreateTopicsRequest.CreatableTopic) -> Iterator[str]:
    yield CREATE_TOPIC_POLICY
    if topic.num_partitions == BROKER_DEFAULT and not topic.assignments:
        yield "num.partitions"
    if topic.replication_factor == BROKER_DEFAULT and not topic.assignments:
        yield "default.replication.factor"


async def _message(
    version: int,
    outcomes: Iterable[tuple[str, Outcome]],
    size: int,
    configs: Callable[[str], list[_Config] | None],
    may_show: Callable[[str], bool] = lambda _name: True,
    *,
    throttle_ms: int = 0,
) -> Answer:
    topics = (_result(version, name, outcome, configs, may_show) for name, outcome in outcomes)
    answer = CreateTopicsResponse(version=version, throttle_time_ms=throttle_ms)
    items = size * (_CONFIGS if version >= _FIRST_WITH_CONFIGS else 1)
    return await answer_with(answer, "topics", topics, size, items)


def _new_topic(topic: CreateTopicsRequest.CreatableTopic) -> NewTopic:
    """Makes the checks that need no cluster; raises KafkaError."""
    null = [config.name for config in topic.configs if config.value is None]
    if null:
        raise InvalidConfig(f"Null value not supported for topic configs: {','.join(null)}")
    if topic.assignments and (topic.num_partitions != -1 or topic.replication_factor != -1):
        raise InvalidRequest(
            "Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used at the same"
            " time."
        )
    configs = {config.name: config.value for config in topic.configs if config.value is not None}
    return NewTopic(
        name=topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments={a.partition_index: replicas(a.broker_ids) for a in topic.assignments},
        configs=configs,
    )


def _checked(node: Node, topic: NewTopic, brokers: LiveBrokers) -> NewTopic:
    """With its configs as they are stored, or with a `refusal` (wrong configs, or a policy that only brokers can apply)
    that the controller reports if nothing else is wrong with the topic.
    """
    try:
        configs = validate_topic_configs(topic.configs, brokers)
        check_create_topic(node)
    except ConfigValueError as error:
        return msgspec.structs.replace(topic, refusal=InvalidConfig(str(error)))
    except KafkaError as error:
        return msgspec.structs.replace(topic, refusal=error.as_answer())
    return msgspec.structs.replace(topic, configs=configs)


def _result(
    version: int,
    name: str,
    outcome: Outcome,
    configs: Callable[[str], list[_Config] | None],
    may_show: Callable[[str], bool],
) -> _Result:
    """A caller without DESCRIBE_CONFIGS learns neither configs nor counts nor the id of the topic."""
    if isinstance(outcome, KafkaError):
        failed = _failed_topic(version, name, outcome)
        refused_first = isinstance(outcome, TopicAuthorizationFailed) or outcome.message == _DUPLICATE
        if refused_first and not may_show(name):
            failed.topic_config_error_code = TopicAuthorizationFailed.code
        return failed
    if not may_show(name):
        return _Result(
            version=version,
            name=name,
            topic_id=ZERO_UUID,
            error_code=0,
            error_message=None,
            topic_config_error_code=TopicAuthorizationFailed.code,
            num_partitions=-1,
            replication_factor=-1,
            configs=[],
        )
    return _Result(
        version=version,
        name=name,
        topic_id=outcome.id,
        error_code=0,
        error_message=None,
        num_partitions=outcome.num_partitions,
        replication_factor=outcome.replication_factor,
        configs=configs(name),
    )


def _configs(version: int, entries: Iterable[ConfigEntry]) -> list[_Config]:
    return [
        _Config(
            version=version,
            name=e.name,
            value=e.value,
            read_only=e.read_only,
            config_source=e.source,
            is_sensitive=e.sensitive,
        )
        for e in entries
    ]


def _failed_topic(version: int, name: str, error: KafkaError) -> _Result:
    return _Result(
        version=version,
        name=name,
        topic_id=ZERO_UUID,
        error_code=error.code,
        error_message=message_of(error),
        num_partitions=-1,
        replication_factor=-1,
        configs=[],
    )


async def fail(request: CreateTopicsRequest, version: int, error: KafkaError) -> Answer:
    results = ((topic.name, error) for topic in request.topics)
    return await _message(version, results, len(request.topics), lambda _name: None)


API = served(
    CreateTopicsRequest,
    Acl(AclOperation.CREATE, AclResource.CLUSTER, "topics without CREATE on the topic"),
    Acl(AclOperation.CREATE, AclResource.TOPIC, "topics, without CREATE on the cluster"),
    Acl(AclOperation.DESCRIBE_CONFIGS, AclResource.TOPIC, "the configs in the answer"),
    handle=handle,
    fail=fail,
    max_elements=ELEMENTS,
    to_controller=True,
    by_brokers=True,
)
