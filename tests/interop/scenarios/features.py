"""Q01: features, which clusters in ZooKeeper mode do not have."""

from ..session import Session
from .registry import scenario

UPGRADE, SAFE_DOWNGRADE, UNKNOWN = 1, 2, 9


@scenario
async def q01_updates_of_features_are_refused(s: Session) -> None:
    await s.update_features("one that no broker supports", ("metadata.version", 17, UPGRADE))
    await s.update_features("none", ("", 1, UPGRADE))
    await s.update_features("an unknown type of update", ("f", 1, UNKNOWN))
    await s.update_features("a deletion", ("f", 0, SAFE_DOWNGRADE))
    await s.update_features("a deletion without a downgrade", ("f", 0, UPGRADE))
    await s.update_features("two at once", ("f", 1, UPGRADE), ("g", -1, SAFE_DOWNGRADE))
    await s.update_features("the older version of the request", ("f", 1, UPGRADE), version=0)
    await s.update_features("at a broker that is not the controller", ("f", 1, UPGRADE), node=2)
