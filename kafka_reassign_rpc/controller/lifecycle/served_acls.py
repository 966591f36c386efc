"""ACLs as clients find, create and delete them here (AclAuthorizer.acls, createAcls, deleteAcls)."""

import logging
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.api.config_ports import DeletedAcl
from kafka_reassign_rpc.controller.duties.acl_keeper import MOST_ACLS, AclKeeper
from kafka_reassign_rpc.core.acls.acl_binding import AccessControlEntry, AclBinding, ResourcePattern, is_principal
from kafka_reassign_rpc.core.acls.acl_cache import Entries
from kafka_reassign_rpc.core.acls.acl_filters import AclBindingFilter
from kafka_reassign_rpc.core.events import catalogue
from kafka_reassign_rpc.core.events.decided_events import Event
from kafka_reassign_rpc.core.kafka_errors import BrokerNotAvailable, KafkaError, PolicyViolation, UnknownServerError
from kafka_reassign_rpc.support.counted import first_of
from kafka_reassign_rpc.support.turns import Pace, in_turns
from kafka_reassign_rpc.zookeeper.acl_znodes import TooManyAcls
from kafka_reassign_rpc.zookeeper.znode_decoder import BadZnode
from kafka_reassign_rpc.zookeeper.zookeeper_errors import NotSent, SessionOver, Unknown, ZkError

log = logging.getLogger(__name__)


Matching = dict[ResourcePattern, list[AccessControlEntry]]


class ServedAcls:
    """The `AclPort` of the server process. `record` takes the events of changes."""

    def __init__(self, keeper: AclKeeper, record: Callable[[Iterable[Event]], None]) -> None:
        self._keeper = keeper
        self._record = record
        self._cache = keeper.authorizer.cache

    async def find(self, wanted: AclBindingFilter) -> Mapping[ResourcePattern, Sequence[AccessControlEntry]]:
        self._check_loaded()
        return await in_turns(self._matching([wanted]))

    async def create(self, acls: Sequence[AclBinding], ctx: RequestContext) -> Sequence[KafkaError | None]:
        """All ACLs of a pattern together, as AclAuthorizer does."""
        self._check_loaded()
        wanted: dict[ResourcePattern, set[AccessControlEntry]] = {}
        for pattern, entry in acls:
            wanted.setdefault(pattern, set()).add(entry)
        outcomes = {pattern: await self._add(pattern, entries, ctx) for pattern, entries in wanted.items()}
        return [outcomes[acl.pattern] for acl in acls]

    async def _add(
        self, pattern: ResourcePattern, entries: set[AccessControlEntry], ctx: RequestContext
    ) -> KafkaError | None:
        wrong = next((one.principal for one in entries if not is_principal(one.principal)), None)
        if wrong is not None:
            return UnknownServerError(f"expected a string in format principalType:principalName but got {wrong}")
        if self._cache.size + len(entries) > MOST_ACLS:
            return PolicyViolation(f"This server keeps at most {MOST_ACLS} ACLs.")
        return await self._change(pattern, lambda current: current | entries, ctx)

    async def delete(self, filters: Sequence[AclBindingFilter], ctx: RequestContext) -> Sequence[Sequence[DeletedAcl]]:
        self._check_loaded()
        patterns = dict.fromkeys(await in_turns(self._matching(filters)))
        for wanted in filters:
            patterns.update(dict.fromkeys(one for one in wanted.patterns() if one.name and "/" not in one.name))
        deleted: list[list[DeletedAcl]] = [[] for _ in filters]
        pace = Pace()
        for pattern in patterns:
            about = [(index, one) for index, one in enumerate(filters) if one.matches_pattern(pattern)]
            chosen: dict[AccessControlEntry, int] = {}

            def without(
                current: Entries,
                about: Sequence[tuple[int, AclBindingFilter]] = about,
                chosen: dict[AccessControlEntry, int] = chosen,
            ) -> Entries:
                for entry in current:
                    index = next((index for index, one in about if one.matches_entry(entry)), None)
                    if index is not None:
                        chosen[entry] = index
                return current - chosen.keys()

            error = await self._change(pattern, without, ctx)
            for entry, index in chosen.items():
                deleted[index].append((AclBinding(pattern, entry), error))
            await pace.rest()
        return deleted

    def _matching(self, filters: Sequence[AclBindingFilter]) -> Generator[None, None, Matching]:
        found: Matching = {}
        patterns = self._cache.patterns()
        yield
        for pattern in patterns:
            about = [one for one in filters if one.matches_pattern(pattern)]
            yield
            for entry in self._cache.entries(pattern) if about else ():
                if any(one.matches_entry(entry) for one in about):
                    found.setdefault(pattern, []).append(entry)
                yield
        return found

    async def _change(
        self, pattern: ResourcePattern, change: Callable[[Entries], Entries], ctx: RequestContext
    ) -> KafkaError | None:
        try:
            before, after = await self._keeper.change(pattern, change)
        except TooManyAcls as error:
            return PolicyViolation(f"{error}: use a prefixed pattern, or a principal for several users.")
        except BadZnode as error:
            return UnknownServerError(f"The ACLs of {pattern} cannot be read: {error.reason}")
        except (NotSent, SessionOver, Unknown) as error:
            return BrokerNotAvailable(f"ZooKeeper cannot be asked: {error}")
        except ZkError as error:
            log.warning(
                "the ACLs of %s stay as they were, and their client gets UNKNOWN_SERVER_ERROR: %s", pattern, error
            )
            return UnknownServerError(f"The ACLs of {pattern} cannot be changed: {error}")
        self._record(
            Event(event, reason=_shown(pattern, changed), count=len(changed)).asked_by(ctx.requester)
            for event, changed in ((catalogue.ACL_CREATED, after - before), (catalogue.ACL_DELETED, before - after))
            if changed
        )
        return None

    def _check_loaded(self) -> None:
        if not self._keeper.authorizer.loaded:
            raise BrokerNotAvailable("The ACLs are not loaded yet. Try again.")


SHOWN = 3


def _shown(pattern: ResourcePattern, entries: Entries) -> str:
    some = [
        f"{one.permission_type.name} {one.operation.name} to {one.principal} from {one.host}"
        for one in sorted(entries)[:SHOWN]
    ]
    return f"{pattern}: {first_of(some, SHOWN, of=len(entries))}"
