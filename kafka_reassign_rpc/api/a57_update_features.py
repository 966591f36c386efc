"""UpdateFeatures (KIP-584), which `kafka-features.sh` sends. In ZooKeeper mode no broker supports a feature and none is
finalized, so each update is refused with the text of Kafka's controller (KafkaController.validateFeatureUpdate).
"""

from kafka_reassign_rpc.api.api_definition import Acl, AclOperation, AclResource, Answer, RequestContext, served
from kafka_reassign_rpc.api.large_requests import answer_with
from kafka_reassign_rpc.api.ports import Node, required_controller
from kafka_reassign_rpc.core.kafka_errors import InvalidRequest
from kafka_reassign_rpc.protocol.messages import UpdateFeaturesRequest, UpdateFeaturesResponse

UPGRADE = 1
SAFE_DOWNGRADE = 2
UNSAFE_DOWNGRADE = 3

_Update = UpdateFeaturesRequest.FeatureUpdateKey
_Result = UpdateFeaturesResponse.UpdatableFeatureResult


async def handle(node: Node, request: UpdateFeaturesRequest, ctx: RequestContext) -> Answer:
    required_controller(node)
    version = ctx.api_version
    updates = {update.feature: update for update in request.feature_updates}
    answer = UpdateFeaturesResponse(version=version, throttle_time_ms=0, error_code=0, error_message=None)
    results = (_refused(update, version) for update in updates.values())
    return await answer_with(answer, "results", results, len(updates))


def _refused(update: _Update, version: int) -> _Result:
    return _Result(
        version=version,
        feature=update.feature,
        error_code=InvalidRequest.code,
        error_message=_refusal(update, version),
    )


def _refusal(update: _Update, version: int) -> str:
    """The order of checks is Kafka's."""
    kind = update.upgrade_type if version >= 1 else SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
    level = update.max_version_level
    if not update.feature:
        return "Feature name can not be empty."
    if kind not in {UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE}:
        return "Received unknown upgrade type."
    if level < 1 and kind != UPGRADE:
        return "Can not delete non-existing finalized feature."
    if level < 1:
        return (
            f"Can not provide versionLevel: {level} less than 1 without setting the SAFE downgradeType in the request."
        )
    return "Could not apply finalized feature update because the provided feature is not supported."


API = served(
    UpdateFeaturesRequest,
    Acl(AclOperation.ALTER, AclResource.CLUSTER, names_request=False),
    handle=handle,
    to_controller=True,
)
