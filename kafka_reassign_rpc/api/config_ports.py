"""The ports of configs, settings, quotas and ACLs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from kafka_reassign_rpc.api.api_definition import RequestContext
from kafka_reassign_rpc.core.acls.acl_binding import AccessControlEntry, AclBinding, AclBindingFilter, ResourcePattern
from kafka_reassign_rpc.core.kafka_errors import KafkaError
from kafka_reassign_rpc.core.quotas.client_quotas import QuotaEntity
from kafka_reassign_rpc.core.settings.server_settings import MovedSettings
from kafka_reassign_rpc.core.state.requesters import Requester

DeletedAcl = tuple[AclBinding, KafkaError | None]
"""An ACL that DeleteAcls deletes, or the error because of which it is still there."""


ConfigChange = Callable[[Mapping[str, str]], Mapping[str, str]]
"""(current configs) -> (wanted configs). Pure: after a lost race it is called again."""


class DefaultsChange(msgspec.Struct, frozen=True):
    """The cluster-wide broker configs (BROKER "") without what brokers leave out of them."""

    before: Mapping[str, str]
    after: Mapping[str, str]

    @property
    def steps(self) -> Mapping[str, str | None]:
        """The new values, None for a deleted config."""
        gone = dict.fromkeys(name for name in self.before if name not in self.after)
        return gone | {name: value for name, value in self.after.items() if self.before.get(name) != value}


class ConfigPort(Protocol):
    """Dynamic configs of topics and brokers, as `/config/<entity type>/<name>` holds them (names:
    `core.config_values`).
    """

    async def get(self, entity_type: str, name: str) -> Mapping[str, str]:
        """Those that hold. Raises InvalidConfig if those of a topic cannot be read. A broker without readable configs
        has none.
        """

    async def read(self, entity_type: str, name: str) -> Mapping[str, str]:
        """The same, to judge a change of them. Raises InvalidConfig if they cannot be read."""

    async def alter(self, entity_type: str, name: str, change: ConfigChange, by: Requester) -> None:
        """Writes with compare-and-set, and announces the change. Passes on what `change` raises. Raises InvalidConfig
        if the configs cannot be read: they are not overwritten.
        """


class SettingsPort(Protocol):
    """The settings that the servers of this product share. `ConfigPort` has them among the configs of the own node."""

    async def move(self, by: Requester) -> MovedSettings:
        """From the brokers' defaults. Raises InvalidConfig if either cannot be read, BrokerNotAvailable while ZooKeeper
        does not answer.
        """


class QuotaPort(Protocol):
    """Configs of users, clients and IPs: quotas and SCRAM credentials. `alter` is as in `ConfigPort`."""

    async def get(self, entity: QuotaEntity) -> Mapping[str, str]: ...

    async def get_all(
        self, shape: tuple[str, ...], exact: Mapping[str, str | None]
    ) -> Mapping[QuotaEntity, Mapping[str, str]]:
        """Of the entities with these types, and with the names that `exact` gives for some of the types."""

    async def alter(self, entity: QuotaEntity, change: ConfigChange, by: Requester) -> None: ...


class AclPort(Protocol):
    """The methods raise BrokerNotAvailable while ZooKeeper does not answer, or before all ACLs are loaded."""

    async def find(self, wanted: AclBindingFilter) -> Mapping[ResourcePattern, Sequence[AccessControlEntry]]:
        """By pattern."""

    async def create(self, acls: Sequence[AclBinding], ctx: RequestContext) -> Sequence[KafkaError | None]:
        """Returns the outcome of each."""

    async def delete(self, filters: Sequence[AclBindingFilter], ctx: RequestContext) -> Sequence[Sequence[DeletedAcl]]:
        """Each ACL under the first filter that it matches. With an error it is still there."""
