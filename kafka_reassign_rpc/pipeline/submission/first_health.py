"""The cluster's health before a plan began, with which later runs compare."""

import msgspec

from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.store_paths import NO_JSON, StorePath, write_file
from kafka_reassign_rpc.pipeline.submission.stop_conditions import ClusterHealth


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
