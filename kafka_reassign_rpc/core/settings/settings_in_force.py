"""Which settings hold. They are derived when something that they come from is read, and held as data
(`SoftState.in_force`): decisions, duties and the status only read fields.

A setting has the value of all servers, else that among the brokers' defaults, else the server's own. Up to version 0.1
`/config/brokers/<default>` held the settings. Brokers take unknown names there for secrets, so that stock tools refuse
to change any default beside them. This version still reads them, and warns.

Time passes outside of decisions, so a duty reports what the windows of now are (`core.queue.window_now`). Until it has
judged a new text, no waiting move starts, since a window keeps moves away.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from kafka_reassign_rpc.core.config_values import INT64, flag, number
from kafka_reassign_rpc.core.settings.healing_settings import HealingSettings, settings_of
from kafka_reassign_rpc.core.settings.reassignment_settings import (
    DEFAULT_SETTINGS,
    ENABLED,
    HOLD_AFTER_ABSENCE,
    REPLICATION_FACTOR_CHANGE_ALLOWED,
    InFlightCaps,
    ReassignmentSettings,
    cap_settings,
)
from kafka_reassign_rpc.core.windows.grammar import WINDOWS, Terms
from kafka_reassign_rpc.support.bounded_text import shortened
from kafka_reassign_rpc.support.typed_commands import command

T = TypeVar("T")

SETTINGS_ZNODE = "/admin/reassignment_settings"
DISABLING_ZNODE = "/admin/reassign_cancel"
IN_DEFAULTS = "the brokers' default configs"
MOVE_SETTINGS = f"move them with `{command('kafka-reassign settings', '--move')}`"
CLOSED = Terms(starts=False)
NOT_JUDGED = "the windows have not been judged yet: no waiting move starts but repairs"

Layers = Sequence[Mapping[str, str]]
"""What holds settings of all servers, the strongest first."""


class WindowNow(msgspec.Struct, frozen=True):
    """What `reassignment.windows` means at present.

    text    the setting from which it was judged
    told    what holds, in words for people
    until   when that changes, ms since 1970; None if not within a week
    """

    text: str
    told: str
    terms: Terms
    until: int | None


class SettingsInForce(msgspec.Struct, frozen=True):
    """caps                of the window that holds, else of the settings; `core.healing.brake` may take `repairs` away
    healing             of self-healing
    healing_problems    what is wrong with these
    disabled_by         why no reassignment may start; None: they are enabled
    replication_factor_change_allowed
                        whether a target may change it (KIP-860)
    hold_after_absence_ms
                        the longest control by others that holds no waiting move; -1: any
    windows             the text of the setting; empty: there are none
    window              what that means now; None without windows
    """

    caps: InFlightCaps
    healing: HealingSettings
    healing_problems: tuple[str, ...]
    disabled_by: str | None
    replication_factor_change_allowed: bool
    hold_after_absence_ms: int
    windows: str
    window: WindowNow | None


def in_force(layers: Layers, name: str, parse: Callable[[str], T | None], default: T) -> T:
    """The value of the strongest layer with a valid one. Only a layer without the name has no value; an empty text is
    one.
    """
    for layer in layers:
        found = parse(layer[name]) if name in layer else None
        if found is not None:
            return found
    return default


def derived(
    layers: Layers,
    started_with: ReassignmentSettings = DEFAULT_SETTINGS,
    *,
    problem: str = "",
    disabled_by_znode: bool = False,
    window: WindowNow | None = None,
    migrating: bool = False,
) -> SettingsInForce:
    """started_with   the server's own settings
    problem        why the settings of all servers cannot be read; empty: they can
    window         as it was judged last
    migrating      brokers were restarted for the migration to KRaft
    """
    rate = None if window is None else window.terms.rate
    healing, problems = settings_of(
        layers, started_with.healing, unreadable=problem, window_rate=rate, migrating=migrating
    )
    windows = in_force(layers, WINDOWS, str.strip, "")
    now = _window_now(windows, window)
    return SettingsInForce(
        caps=_caps(layers, started_with.caps, None if now is None else now.terms, healing.chunk),
        healing=healing,
        healing_problems=tuple(problems),
        disabled_by=_disabled_by(layers, problem, disabled_by_znode=disabled_by_znode),
        replication_factor_change_allowed=in_force(
            layers, REPLICATION_FACTOR_CHANGE_ALLOWED, flag, started_with.replication_factor_change_allowed
        ),
        hold_after_absence_ms=in_force(
            layers, HOLD_AFTER_ABSENCE, _number_or_none_at_all, started_with.hold_after_absence_ms
        ),
        windows=windows,
        window=now,
    )


def _caps(layers: Layers, own: InFlightCaps, terms: Terms | None, repairs: int) -> InFlightCaps:
    per_broker, per_cluster, in_flight = (
        in_force(layers, name, _number_or_none_at_all, value) for name, value in cap_settings(own).items()
    )
    if terms is None:
        return InFlightCaps(per_broker, per_cluster, in_flight, repairs)
    per_broker = per_broker if terms.per_broker is None else terms.per_broker
    per_cluster = per_cluster if terms.per_cluster is None else terms.per_cluster
    return InFlightCaps(per_broker, per_cluster, in_flight, repairs, closed=not terms.starts)


def _number_or_none_at_all(text: str) -> int | None:
    """-1 stands for no limit."""
    return number(text, -1, INT64)


def _disabled_by(layers: Layers, problem: str, *, disabled_by_znode: bool) -> str | None:
    if disabled_by_znode:
        return f"{DISABLING_ZNODE} exists"
    if problem:
        return problem
    return None if in_force(layers, ENABLED, flag, True) else f"{ENABLED}=false is set for the cluster"


def _window_now(text: str, known: WindowNow | None) -> WindowNow | None:
    if not text:
        return None
    return known if known is not None and known.text == text else WindowNow(text, NOT_JUDGED, CLOSED, None)


NOTHING_SET = derived(())


def notices(settings: Mapping[str, str], own_in_defaults: Mapping[str, str]) -> Iterator[str]:
    """What an operator must know about settings of servers among the brokers' defaults (`own_in_defaults`)."""
    for name, value in sorted(own_in_defaults.items()):
        old, new = shortened(value), settings.get(name)
        if new is None:
            yield f"{name}={old} holds, but stands in {IN_DEFAULTS}, which a later version does not read"
        elif new == value:
            yield f"{name}={old} of {IN_DEFAULTS} is superfluous: it stands in {SETTINGS_ZNODE}, too"
        else:
            yield f"{name}={shortened(new)} of {SETTINGS_ZNODE} holds; {old} of {IN_DEFAULTS} has no effect"
