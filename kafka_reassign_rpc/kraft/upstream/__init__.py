"""The cluster behind this service, through its own API.

upstream   asks it (look) and tells it (alter, configs), over the project's client; PARTITIONS_A_REQUEST;
           what one look has found, and what two looks together say
outcomes   what is known of a change that the cluster was told: which errors are a refusal, which leave it open, which
           say that it may be taken later

The last decides without I/O.
"""

from kafka_reassign_rpc.kraft.upstream.outcomes import Outcome, Told, outcome_of
from kafka_reassign_rpc.kraft.upstream.upstream import NOT_ASKED, Seen, Upstream, Wanted

__all__ = ["NOT_ASKED", "Outcome", "Seen", "Told", "Upstream", "Wanted", "outcome_of"]
