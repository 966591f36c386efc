"""The cluster's health while a plan is carried out, compared with that before it began."""

import time
from collections.abc import Set
from dataclasses import dataclass

import msgspec

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.store_paths import NO_JSON, StorePath, write_file
from kafka_reassign_rpc.pipeline.submission.patient_cluster import PatientCluster
from kafka_reassign_rpc.pipeline.submission.stop_conditions import ClusterHealth, StopConditions, SubmitStopped

SHARE_OF_TIME = 0.1
"""Checks of a large cluster take long: they get at most this share."""


@dataclass
class HealthWatch:
    """Checks every `PollIntervals.health` seconds, or less often if that takes long. `live`: at the last check."""

    cluster: PatientCluster
    conditions: StopConditions
    live: frozenset[int]
    _due: float = 0.0

    def wait_until_healthy(self, targets: Set[int]) -> None:
        """While a condition to stop is suspected. `targets` get replicas by moves that run or come next. Raises
        SubmitStopped.
        """
        while not self.check(targets):
            self.cluster.output.status("the cluster seems to be unhealthy, checking again")
            time.sleep(self.cluster.intervals.health)

    def is_healthy(self, targets: Set[int]) -> bool:
        """By the last check, or a new one if it is due. Raises SubmitStopped."""
        return self.check(targets) if time.monotonic() >= self._due else not self.conditions.suspected

    def check(self, targets: Set[int]) -> bool:
        """False while a condition to stop is suspected. Raises SubmitStopped for one that is certain."""
        began = time.monotonic()
        moving = self.cluster.moves()
        _, health = self.cluster.health()
        ended = time.monotonic()
        self._due = ended + max(self.cluster.intervals.health, (ended - began) / SHARE_OF_TIME)
        self.live = health.live
        self.conditions.check(health, moving, targets)
        if self.conditions.reason_to_stop is not None:
            raise SubmitStopped(
                f"{self.conditions.reason_to_stop}. Moves in flight continue, submit begins no more. Run the same "
                "command again when the cluster is healthy, or with --accept-health to go on as it is"
            )
        return not self.conditions.suspected


class Journal(msgspec.Struct, frozen=True):
    """submit.json, or undo.json of an undo, in the plan's directory."""

    cluster_id: str
    health: ClusterHealth


def first_health(file: StorePath, cluster_id: str, now: ClusterHealth, *, accept_health: bool) -> ClusterHealth:
    """From the file; else, or with `accept_health`, the health now, which the file then keeps. Raises BadInput."""
    if not accept_health:
        try:
            return msgspec.json.decode(file.read_bytes(), type=Journal).health
        except FileNotFoundError:
            pass
        except (OSError, *NO_JSON) as error:
            raise BadInput(f"{file}: {error}; remove it to take the cluster as it is now") from None
    write_file(file, msgspec.json.encode(Journal(cluster_id, now)))
    return now
