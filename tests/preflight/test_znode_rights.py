"""The check knows a right for every znode of `znode_paths`."""

from kafka_reassign_rpc.preflight.znode_rights import NEEDED, needed_if_present
from kafka_reassign_rpc.zookeeper import znode_paths

READ_ONLY = {znode_paths.MIGRATION, znode_paths.REASSIGN_CANCEL}
"""Before a server writes anything, `check` itself reads them: it fails where it may not."""
DELETED = {znode_paths.CANCEL_IN_PROGRESS}
"""By the right on /admin."""
PARENTS = {znode_paths.BROKERS, znode_paths.CONFIG, znode_paths.ACLS, znode_paths.PREFIXED_ACLS}


def test_sv_4_every_znode_has_its_rights_or_is_below_one_that_has() -> None:
    known = {**NEEDED, **needed_if_present([], {}, acls=True)}
    every = {value for name, value in vars(znode_paths).items() if name.isupper() and isinstance(value, str)}
    prefixes = {path for path in every if path.endswith("_")}

    assert every - prefixes - known.keys() <= READ_ONLY | DELETED | PARENTS
    assert {path.rpartition("/")[0] for path in prefixes} <= known.keys()
    assert {*znode_paths.PERSISTENT, *znode_paths.OWN} <= known.keys()
