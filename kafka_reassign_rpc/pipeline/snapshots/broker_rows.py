"""Brokers, their log dirs and throttles in a snapshot, as planner and verifier read them; and whether what an operator
says of brokers fits them. What contradicts itself is not known, what no cluster can show is refused. Does not import
PySpark.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from kafka_reassign_rpc.core.throttling.replication_throttles import rate_in_force
from kafka_reassign_rpc.core.throttling.standing_rates import SIDES, StandingRates, limit_texts
from kafka_reassign_rpc.pipeline.job_errors import BadInput
from kafka_reassign_rpc.pipeline.snapshots import snapshot_files
from kafka_reassign_rpc.pipeline.snapshots.snapshot_schema import OF_ALL_BROKERS, OF_BROKER
from kafka_reassign_rpc.pipeline.store_paths import StorePath
from kafka_reassign_rpc.support.counted import first_of, those

_NAMED = 20
_SIZES = ("volume_bytes", "free_bytes")
Row = dict[str, Any]


def read_broker_rows(path: StorePath) -> list[Row]:
    """Without the sizes that `disk_notes` names. Raises BadInput for a broker that occurs twice or has no id."""
    rows: list[Row] = snapshot_files.read(path, "brokers").to_pylist()
    seen = set[int]()
    for row in rows:
        broker, table = row["broker"], snapshot_files.table_path(path, "brokers")
        if broker is None or broker < 0:
            raise BadInput(f"{table}: there is no broker {broker}")
        if broker in seen:
            raise BadInput(f"{table}: broker {broker} occurs twice")
        seen.add(broker)
    unknown = dict.fromkeys(("capacity_bytes", "free_bytes"))
    return [row | unknown if _oddity(row) else row for row in rows]


def disk_notes(path: StorePath) -> list[str]:
    """Names brokers whose sizes contradict each other: their disks count as unknown."""
    return [
        f"broker {row['broker']} tells {why}: the plan takes the size of its disks as not known"
        for row in snapshot_files.read(path, "brokers").to_pylist()
        if (why := _oddity(row))
    ]


def _oddity(row: Row) -> str:
    size, free = row["capacity_bytes"], row["free_bytes"]
    if size is None and free is not None:
        return f"{free} bytes free, and not of how many"
    return _more_free_than_there_is(row, "capacity_bytes")


def _more_free_than_there_is(row: Row, size_of: str) -> str:
    """Or less than nothing; "" where neither."""
    size, free = row[size_of], row["free_bytes"]
    if min(size or 0, free or 0) < 0 or (size is not None and free is not None and free > size):
        return f"{free} bytes free of {size}"
    return ""


def require_brokers(flag: str, brokers: Collection[int], named: Collection[int]) -> None:
    """Raises BadInput."""
    missing = set(named) - set(brokers)
    if missing:
        raise BadInput(f"{flag}: the snapshot has no {those(missing)}: it has {first_of(sorted(brokers), _NAMED)}")


def require_weights(brokers: Mapping[int, bool], weights: Collection[int]) -> None:
    """Raises BadInput unless there are no weights, or some of every live broker. `brokers`: whether each is live."""
    require_brokers("broker-weights", brokers, weights)
    unnamed = {broker for broker, live in brokers.items() if live} - set(weights)
    if unnamed and weights:
        raise BadInput(f"broker-weights: the file has no weight of {those(unnamed)}")


def read_log_dirs(path: StorePath) -> list[Row]:
    """Without the sizes that `size_notes` names. Raises BadInput for a log dir that occurs twice, or is of a broker
    that the snapshot does not list.
    """
    rows: list[Row] = snapshot_files.read(path, "log_dirs").to_pylist()
    brokers = set(snapshot_files.read(path, "brokers")["broker"].to_pylist())
    if wrong := [f"{_name(row)} {fault}" for row, fault in _faults(rows, brokers)]:
        table = snapshot_files.table_path(path, "log_dirs")
        raise BadInput(f"{table}: {first_of(sorted(wrong), _NAMED, between='; ')}")
    unknown = dict.fromkeys((*_SIZES, "volume"))
    odd = {id(row) for row, _ in _contradictions(rows)}
    return [row | unknown if id(row) in odd else row for row in rows]


def size_notes(path: StorePath) -> list[str]:
    found = [f"{_name(row)} {why}" for row, why in _contradictions(snapshot_files.read(path, "log_dirs").to_pylist())]
    return [f"the sizes of log dirs contradict each other, and count as not known: {first_of(found, 5)}"] * bool(found)


def _faults(rows: Iterable[Row], brokers: set[int]) -> Iterator[tuple[Row, str]]:
    seen = set[tuple[int, str]]()
    for row in rows:
        name = row["broker"], row["log_dir"]
        if row["broker"] not in brokers:
            yield row, "is of a broker that the snapshot does not list"
        elif name in seen:
            yield row, "occurs twice"
        seen.add(name)


def _contradictions(rows: Iterable[Row]) -> Iterator[tuple[Row, str]]:
    """All log dirs of a volume are odd where one of them is: nobody knows which is right."""
    volumes: dict[tuple[object, object], list[Row]] = {}
    for row in rows:
        number = row["log_dir"] if row["volume"] is None else row["volume"]
        volumes.setdefault((row["broker"], number), []).append(row)
    for of_volume in volumes.values():
        sizes = sorted({row["volume_bytes"] for row in of_volume} - {None})
        odd = [_more_free_than_there_is(row, "volume_bytes") for row in of_volume]
        for row, why in zip(of_volume, odd, strict=True):
            if why:
                yield row, f"tells {why}"
            elif len(sizes) > 1:
                yield row, f"lies on a volume of {sizes[0]} and of {sizes[-1]} bytes"
            elif any(odd):
                yield row, "shares its volume with one of them"


def _name(row: Row) -> str:
    return f"{row['log_dir']} of broker {row['broker']}"


def standing_rates(path: StorePath, brokers: Collection[int]) -> StandingRates:
    """The throttles that stood on brokers. Only dynamic configs hold (BrokerConfigHandler), so a rate of unknown
    source says nothing.
    """
    own: dict[str, dict[str, str]] = {}
    default: dict[str, str] = {}
    for row in snapshot_files.rows(path, "configs"):
        if row["resource_type"] != "broker" or row["name"] not in SIDES or row["value"] is None:
            continue
        if row["resource"] and row["source"] == OF_BROKER:
            own.setdefault(row["resource"], {})[row["name"]] = row["value"]
        elif not row["resource"] and row["source"] == OF_ALL_BROKERS:
            default[row["name"]] = row["value"]
    return StandingRates(
        {
            broker: {name: rate_in_force(name, own.get(str(broker), {}), default, None) for name in SIDES}
            for broker in brokers
        },
        {},
    )


def stricter_rate_notes(path: StorePath, throttle: int | None, brokers: Collection[int]) -> list[str]:
    """Notes on rates that a lease of `throttle` bytes/s (None: none) does not relax."""
    if throttle is None:
        return []
    return [
        f"a stricter rate than --throttle stood when the snapshot was made, and goes on: {text}. The duration does not"
        " count with it (--broker-bandwidth does); `submit --lift-stricter` lifts it while the plan is carried out"
        for text in limit_texts(standing_rates(path, brokers).stricter(throttle))
    ]
