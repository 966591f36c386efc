"""The outcomes of a call to ZooKeeper. From the class the caller knows whether the call took effect.

NotSent             the same call may be made again
SessionOver         not sent: the session that the call was bound to is not the current one
TooBig              not sent: larger than ZooKeeper takes in one packet
Answered            ZooKeeper refused; nothing was changed
TransactionFailed   ZooKeeper refused a multi as a whole; `index` and `error` name the operation at fault
Fenced              ZooKeeper refused a transaction because there is a newer controller epoch
BatchesFailed       a sequence of transactions failed; has those that were done, not done, and perhaps done
Unknown             the connection was lost before the answer: it may have been done. Read before going on
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from kafka_reassign_rpc.zookeeper.operations import Result


class ZkError(Exception): ...


class NotSent(ZkError): ...


class Unknown(ZkError): ...


class SessionOver(ZkError):
    """Its ephemeral znodes are gone or about to go."""


class TooBig(ZkError):
    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"the request has {size} bytes, ZooKeeper takes {limit}")
        self.size = size
        self.limit = limit


class Answered(ZkError):
    """`code` is ZooKeeper's (KeeperException.Code)."""

    code: int = -1
    meaning: ClassVar[str] = "error"

    def __init_subclass__(cls, code: int, meaning: str) -> None:
        cls.code, cls.meaning = code, meaning

    def __init__(self, path: str = "", code: int | None = None) -> None:
        if code is not None:
            self.code = code
        super().__init__(f"{path or 'ZooKeeper'}: {self.meaning} ({self.code})")
        self.path = path


class NoNode(Answered, code=-101, meaning="no such znode"): ...


class NoAuth(Answered, code=-102, meaning="not permitted by the znode's ACL"): ...


class BadVersion(Answered, code=-103, meaning="the znode has another version than expected"): ...


class NoChildrenForEphemerals(Answered, code=-108, meaning="an ephemeral znode cannot have children"): ...


class NodeExists(Answered, code=-110, meaning="the znode exists already"): ...


class NotEmpty(Answered, code=-111, meaning="the znode has children"): ...


class InvalidAcl(Answered, code=-114, meaning="the ACL is not valid (or this session has not authenticated)"): ...


class AuthFailed(Answered, code=-115, meaning="authentication failed"): ...


class Unimplemented(Answered, code=-6, meaning="this ZooKeeper is too old for the request"):
    """The server closes the connection behind it."""


class BadArguments(Answered, code=-8, meaning="the path or another argument is not valid"): ...


_ALL = (
    NoNode,
    NoAuth,
    BadVersion,
    NoChildrenForEphemerals,
    NodeExists,
    NotEmpty,
    InvalidAcl,
    AuthFailed,
    BadArguments,
    Unimplemented,
)
BY_CODE: Mapping[int, type[Answered]] = {kind.code: kind for kind in _ALL}


class AnswerLost(Answered, code=-1, meaning="refused; the reason was lost with the connection"): ...


SESSION_EXPIRED = -112
SESSION_MOVED = -118


def from_code(code: int, path: str = "") -> ZkError:
    """Nothing was changed."""
    if code == SESSION_EXPIRED:
        return SessionOver("ZooKeeper has ended the session")
    if code == SESSION_MOVED:
        return NotSent("the session has moved to another server")
    kind = BY_CODE.get(code)
    return Answered(path, code) if kind is None else kind(path)


class TransactionFailed(ZkError):
    def __init__(self, index: int, error: ZkError) -> None:
        super().__init__(f"operation {index}: {error}")
        self.index = index
        self.error = error


class Fenced(ZkError): ...


class BatchesFailed(ZkError):
    """By their index. `refused`: TransactionFailed, Fenced, or too big. `unknown`: the first ones of them may have been
    applied.
    """

    def __init__(
        self,
        done: Mapping[int, list[Result]],
        refused: Mapping[int, ZkError],
        unknown: Sequence[int],
        unsent: Sequence[int],
        first: ZkError,
    ) -> None:
        super().__init__(
            f"{first} ({len(done)} batches applied, {len(refused)} refused,"
            f" {len(unknown)} unknown, {len(unsent)} not sent)"
        )
        self.done = dict(done)
        self.refused = dict(refused)
        self.unknown = list(unknown)
        self.unsent = list(unsent)
        self.first = first
