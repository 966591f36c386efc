"""Whether a simulated broker accepts new cluster-wide configs, as DynamicBrokerConfig.validate: what it can apply, and
how far numbers of threads may change at a time. Stock brokers are asked.
"""

from kafka_reassign_rpc.core.configs.config_definitions import ConfigValueError, validate_broker_configs
from kafka_reassign_rpc.core.configs.config_layers import ConfigLayers
from kafka_reassign_rpc.core.configs.config_rules import (
    CLEANER_THREADS,
    CLEANS,
    Props,
    judge_parts,
    judge_standing,
    of_listener,
    part,
    require_kafka_config,
    text_in,
    whole_in,
)

NETWORK_THREADS = "num.network.threads"
_THREADS = ("num.io.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads")


def judge_reconfiguration(
    static: Props, standing: Props, own: Props, wanted: Props, listener: str, *, may_shrink: bool = False
) -> None:
    """Checks `wanted` in place of the cluster-wide configs `standing`. Raises ConfigValueError.

    static, own   what the broker was started with, and its own dynamic configs
    listener      name of its listener, in lower case
    may_shrink    thread counts may fall at will: a simulated broker has no threads
    """
    if may_shrink:
        standing = {name: value for name, value in standing.items() if name not in (*_THREADS, NETWORK_THREADS)}
    validate_broker_configs(wanted, per_broker=False)
    new = ConfigLayers(own, wanted, static).effective()
    require_kafka_config(new)
    current = ConfigLayers(own, standing, static).effective()
    try:
        judge_standing(static, standing, own, listener)
    except ConfigValueError:  # the broker has not been able to apply the present configs
        current = ConfigLayers(own, {}, static).effective()
    judge_parts(current, new, listener)
    prefix = f"listener.name.{listener}."
    now, then = (of_listener(props, prefix, NETWORK_THREADS) for props in (current, new))
    _may_become(NETWORK_THREADS, now, then, may_shrink=may_shrink)
    for name in _THREADS:
        _may_become(name, whole_in(current, name), whole_in(new, name), may_shrink=may_shrink)
    if text_in(new, CLEANS).lower() == "true":
        now, then = whole_in(current, CLEANER_THREADS), whole_in(new, CLEANER_THREADS)
        cannot = "Log cleaner threads cannot be"
        part(then >= now // 2, f"{cannot} reduced to less than half the current value {now}")
        part(then <= now * 2, f"{cannot} increased to more than double the current value {now}")


def _may_become(name: str, now: int, wanted: int, *, may_shrink: bool) -> None:
    """DynamicThreadPool."""
    if wanted == now:
        return
    failed = f"Dynamic thread count update validation failed for {name}={wanted}, value should"
    part(wanted > 0, f"{failed} be at least 1")
    part(may_shrink or wanted >= now // 2, f"{failed} be at least half the current value {now}")
    part(wanted <= now * 2, f"{failed} not be greater than double the current value {now}")
