"""The door of a server without an authorizer: open if the brokers have none either (`api.dispatch.Door`)."""

from kafka_reassign_rpc.controller.duties.broker_survey import BrokerSurvey
from kafka_reassign_rpc.core.settings.broker_settings import AUTHORIZER

_CURE = "give it theirs, or allow everything to every client here by --broker-authorizer ignore"


class BrokersDoor:
    """`acls_exist`: whether ZooKeeper has a place for ACLs, which AclAuthorizer makes as it starts. It decides if no
    broker answers in time: brokers that are away may have an authorizer."""

    def __init__(self, survey: BrokerSurvey) -> None:
        self._survey = survey
        self.acls_exist = False

    @property
    def is_open(self) -> bool:
        """A broker has said that it has no authorizer, and none that it has one; or no broker says anything."""
        said = self._survey.lets_all_in
        return not self.acls_exist and self._survey.had_time_to_say if said is None else said

    @property
    def may_control(self) -> bool:
        return self._survey.lets_all_in is not False

    @property
    def why_closed(self) -> str:
        if not self.may_control:
            name = self._survey.last_authorizer
            return f"The brokers have {AUTHORIZER}={name}, and this server has no authorizer: {_CURE}"
        return f"No broker has said that it has no authorizer ({self._survey.silent}): try again, {_CURE}"

    async def known(self) -> None:
        await self._survey.authorizer_known()
